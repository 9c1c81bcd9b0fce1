"""Record keys of the COMPLEX key generator with one field, which releases of Hudi before 9 make in two forms."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import Table, create_table, open_table
from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.table.key_form import refuse_other_keys

OPTION = "hoodie.write.complex.keygen.new.encoding"
SCHEMA = pa.schema([("k", pa.string()), ("o", pa.int64()), ("p", pa.string()), ("q", pa.string())])


def rows(*keys: str, order: int = 1) -> pa.Table:
    count = len(keys)
    return pa.table({"k": keys, "o": [order] * count, "p": ["x"] * count, "q": ["y"] * count}, schema=SCHEMA)


def new_table(path: Path, plain: str, *, version: int = 8, table_type: str = "COPY_ON_WRITE") -> Table:
    return create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key="k",
        ordering="o",
        partition_by=["p", "q"],
        version=version,
        table_type=table_type,
        options={OPTION: plain},
    )


def keys(table: Table) -> list[str]:
    return sorted(table.snapshot(columns=["_hoodie_record_key"])["_hoodie_record_key"].to_pylist())


@pytest.mark.parametrize("version", [6, 8])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(("plain", "prefix"), [("true", ""), ("false", "k:")])
def test_keys_have_the_form_of_the_option(
    plain: str, prefix: str, table_type: str, version: int, tmp_path: Path
) -> None:
    table = new_table(tmp_path / "t", plain, version=version, table_type=table_type)
    table.insert(rows("a", "k:b"))
    table = open_table(tmp_path / "t", options={OPTION: plain})
    table.upsert(rows("k:b", "c", order=2))
    table.delete(rows("a").select(["k", "p", "q"]))
    assert keys(table) == [f"{prefix}c", f"{prefix}k:b"]
    assert table.snapshot(filter="k = 'c'", columns=["k"])["k"].to_pylist() == ["c"]
    assert table.verify() == []


def test_without_the_option_the_table_is_read_and_not_written(tmp_path: Path) -> None:
    new_table(tmp_path / "t", "true").insert(rows("a"))
    table = open_table(tmp_path / "t")
    assert table.count() == 1
    with pytest.raises(UnsupportedFeatureError, match=f"set {OPTION}=true if the record keys are those of"):
        table.upsert(rows("a", order=2))


@pytest.mark.parametrize(("written", "key"), [("true", "k:a"), ("false", "k:k:a")])
def test_an_option_that_contradicts_the_rows_is_an_error(written: str, key: str, tmp_path: Path) -> None:
    """The value begins with the name of the field, so the row has to be asked, not its key alone."""
    new_table(tmp_path / "t", written).insert(rows("k:a"))
    other = {"true": "false", "false": "true"}[written]
    table = open_table(tmp_path / "t", options={OPTION: other})
    with pytest.raises(OptionError, match=f"expected {OPTION}={written}, because .* has the record key '{key}'"):
        table.upsert(rows("k:a", order=2))
    assert len(table.timeline.completed_writes) == 1


def test_a_table_with_keys_of_both_forms_is_not_written(tmp_path: Path) -> None:
    """Hudi 0.14.0 wrote the first commit, 0.15 the second."""
    new_table(tmp_path / "t", "false").insert(rows("a"))
    plain = new_table(tmp_path / "u", "true")
    plain.insert(rows("a"))
    plain.upsert(rows("b"))
    for name in ("t", "u"):
        (tmp_path / name).rename(tmp_path / f"{name}s")
    first = next((tmp_path / "ts/x/y").glob("*.parquet"))
    oldest = min((tmp_path / "us/x/y").glob("*.parquet"), key=lambda one: one.name.rpartition("_")[2])
    oldest.write_bytes(first.read_bytes())
    for value in ("true", "false"):
        with pytest.raises(OptionError, match=OPTION):
            open_table(tmp_path / "us", options={OPTION: value}).upsert(rows("c"))


@pytest.mark.parametrize("written", ["true", "false"])
def test_rows_that_are_in_log_files_alone_are_asked_too(written: str, tmp_path: Path) -> None:
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    create_table(
        tmp_path / "t",
        name="t",
        schema=SCHEMA,
        record_key="k",
        partition_by=["p", "q"],
        version=6,
        options={OPTION: written, **buckets},
    ).upsert(rows("a"))
    assert not list((tmp_path / "t/x/y").glob("*.parquet"))
    other = {"true": "false", "false": "true"}[written]
    with pytest.raises(OptionError, match=f"expected {OPTION}={written}"):
        open_table(tmp_path / "t", options={OPTION: other}).upsert(rows("b"))


def test_files_that_were_cleaned_or_lost_say_nothing(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", "true")
    table.insert(rows("a"))
    state = open_table(tmp_path / "t", options={OPTION: "false"})._context.state_with_schema()
    with pytest.raises(OptionError):
        refuse_other_keys(state)
    for path in (tmp_path / "t/x/y").glob("*.parquet"):
        path.unlink()
    refuse_other_keys(state)


def test_from_version_9_on_the_option_changes_nothing(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", "true", version=9)
    table.insert(rows("a"))
    assert keys(table) == ["k:a"]
