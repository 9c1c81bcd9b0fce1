"""Tables whose partition paths are made of times: those that Hudi made are written on, and new ones are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.naming.timed_partitions import INPUT, INPUT_ZONE, OUTPUT, TYPE, ZONE
from tests.foreign.foreign_tables import names, unpack
from tests.tables import tree

FIELD, CLASS = "hoodie.datasource.write.partitionpath.field", "hoodie.datasource.write.keygenerator.class"
TIMED = [*names("partition-timed"), *names("partition-custom")]
MILLIS = {TYPE: "EPOCHMILLISECONDS", OUTPUT: "yyyyMMdd", ZONE: "UTC"}
SCHEMA = pa.schema([("k", pa.string()), ("o", pa.int64()), ("r", pa.string()), ("p", pa.int64())])
NOON = 1_704_110_400_000


def missing(name: str, path: Path) -> dict[str, str]:
    """The options that a writer of the table has to give, as Hudi's properties lack them."""
    if "custom" in name:
        one = "p:SIMPLE" if "simple" in name else "p:TIMESTAMP"
        times = {TYPE: "DATE_STRING", INPUT: "yyyy-MM-dd", OUTPUT: "yyyy/MM"} if "text" in name else MILLIS
        return {**times, FIELD: one if "-one-" in name else f"r:SIMPLE,{one}"}
    has_type = TYPE in (path / ".hoodie" / "hoodie.properties").read_text()
    return {} if has_type else {TYPE: "UNIX_TIMESTAMP" if "double" in name else "EPOCHMILLISECONDS"}


def folders(path: Path) -> list[str]:
    found = path.rglob(".hoodie_partition_metadata")
    return sorted(str(one.parent.relative_to(path)) for one in found if ".hoodie" not in one.relative_to(path).parts)


@pytest.mark.parametrize("name", [one for one in TIMED if one != "partition-custom-simple-cow9-h120"])
def test_rows_go_where_hudi_puts_them(name: str, tmp_path: Path) -> None:
    path = unpack(name, tmp_path).path
    if "custom-simple" in name:  # times that are no texts
        with pytest.raises(hf.SchemaError, match="column p of type timestamp"):
            hf.open_table(path, options=missing(name, path)).upsert(hf.open_table(path).snapshot())
        return
    before, table = folders(path), hf.open_table(path, options=missing(name, path))
    rows = table.snapshot()
    newer = rows.set_column(rows.schema.get_field_index("o"), "o", pa.array([9] * 3, rows.schema.field("o").type))
    table.upsert(newer)
    assert folders(path) == before
    assert table.snapshot()["o"].to_pylist() == [9, 9, 9]
    assert table.verify() == []
    table.delete(where="k = 'a'")
    assert sorted(table.snapshot()["k"].to_pylist()) == ["b", "c"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "partition-timed-millis-cow6-h0150",
            f"{TYPE}: expected a value, for the times in the table's partition paths",
        ),
        ("partition-custom-mor6-h120", f"{FIELD}: expected the type of each partition column, simple or timestamp"),
        ("partition-custom-mor9-h120", f"{TYPE}: expected a value"),
    ],
)
def test_what_properties_do_not_tell_is_asked_for_by_name(name: str, message: str, tmp_path: Path) -> None:
    path = unpack(name, tmp_path).path
    before = tree(path)
    table = hf.open_table(path)
    rows = table.snapshot()
    for write in (table.insert, table.upsert, table.delete):
        with pytest.raises(hf.OptionError, match=message):
            write(rows)
    assert tree(path) == before


def rows(*values: tuple[str, int, int | None]) -> pa.Table:
    return pa.table({"k": [key for key, _, _ in values], "o": [o for _, o, _ in values], "r": ["x"] * len(values),
                     "p": [p for _, _, p in values]}, SCHEMA)  # fmt: skip


def create(path: Path, partition_by: list[str], options: dict[str, str], **more: Any) -> hf.Table:
    return hf.create_table(
        path, name="t", schema=SCHEMA, record_key="k", ordering="o", partition_by=partition_by, options=options, **more
    )


CUSTOM = {"hoodie.datasource.write.keygenerator.type": "CUSTOM"}
TIMESTAMP = {CLASS: "org.apache.hudi.keygen.TimestampBasedKeyGenerator"}


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize(
    ("partition_by", "options", "paths"),
    [
        (["p"], TIMESTAMP, ["19700101", "20240101"]),
        (["r:SIMPLE", "p:timestamp"], {}, ["x/19700101", "x/20240101"]),
        (["r", "p"], {**CUSTOM, FIELD: "r:simple,p:TIMESTAMP"}, ["x/19700101", "x/20240101"]),
        (["p:timestamp"], CUSTOM, ["19700101", "20240101"]),
    ],
)
def test_new_tables_need_no_options_later(
    partition_by: list[str], options: dict[str, str], paths: list[str], version: int, tmp_path: Path
) -> None:
    create(tmp_path / "t", partition_by, {**MILLIS, **options}, version=version)
    table = hf.open_table(tmp_path / "t")
    table.insert(rows(("a", 1, NOON), ("b", 1, None)))
    table.upsert(rows(("a", 2, NOON + 1), ("c", 2, NOON)))
    assert folders(tmp_path / "t") == paths
    found = table.snapshot().sort_by("k")
    assert found.select(["k", "o", "p"]).to_pydict() == {
        "k": ["a", "b", "c"],
        "o": [2, 1, 2],
        "p": [NOON + 1, None, NOON],
    }
    table.update({"o": 7}, where=f"p = {NOON}")
    table.delete(where="p is null")
    assert sorted(table.snapshot()["o"].to_pylist()) == [2, 7]
    table.insert_overwrite(rows(("d", 1, NOON)))
    table.delete_partitions(paths[:1])
    assert table.snapshot()["k"].to_pylist() == ["d"]
    assert table.verify() == []


def test_another_version_keeps_the_types_of_partition_columns(tmp_path: Path) -> None:
    create(tmp_path / "t", ["r:SIMPLE", "p:TIMESTAMP"], MILLIS, version=6).insert(rows(("a", 1, NOON)))
    for version in (9, 8, 6, 8):
        hf.open_table(tmp_path / "t").change_version(version)
        hf.open_table(tmp_path / "t").upsert(rows(("a", version, NOON), ("b", 1, NOON)))
        assert folders(tmp_path / "t") == ["x/20240101"]
    fields = "hoodie.table.partition.fields=r\\:SIMPLE,p\\:TIMESTAMP\n"
    assert fields in (tmp_path / "t" / ".hoodie" / "hoodie.properties").read_text()


def test_options_have_to_agree_with_the_table(tmp_path: Path) -> None:
    create(tmp_path / "t", ["p"], {**MILLIS, **TIMESTAMP})
    hf.open_table(tmp_path / "t", options={**MILLIS, **TIMESTAMP, FIELD: "p"}).insert(rows(("a", 1, NOON)))
    for other in ({OUTPUT: "yyyymmdd"}, {ZONE: "GMT"}, {FIELD: "r"}):
        with pytest.raises(hf.OptionError, match="as in the table's properties"):
            hf.open_table(tmp_path / "t", options=other)
    create(tmp_path / "c", ["r:SIMPLE", "p:TIMESTAMP"], MILLIS)
    hf.open_table(tmp_path / "c", options={FIELD: "r:simple,p:timestamp"}).insert(rows(("a", 1, NOON)))
    hf.open_table(tmp_path / "c", options={FIELD: "r,p"}).insert(rows(("b", 1, NOON)))
    with pytest.raises(hf.OptionError, match="as in the table's properties"):
        hf.open_table(tmp_path / "c", options={FIELD: "r:timestamp,p:timestamp"})


@pytest.mark.parametrize(
    ("partition_by", "options", "message"),
    [
        ([], TIMESTAMP, "partition_by: expected one column of times for the TIMESTAMP key generator, found none"),
        (["r", "p"], TIMESTAMP, "partition_by: expected one column of times .*, found r, p; name one, or"),
        (["r", "p"], CUSTOM, "partition_by: expected columns with types, .*, found r, p; add the types"),
        (["r:SIMPLE", "p:TIME"], {}, "partition_by: expected columns alone, or each with one of the types"),
        (["r:SIMPLE", "p"], {}, "partition_by: expected columns alone, or each with one of the types"),
        (["p"], {**TIMESTAMP, TYPE: "MONTHS"}, f"{TYPE}: expected one of"),
        (["p"], {**TIMESTAMP, OUTPUT: ""}, f"{OUTPUT}: expected a value"),
        (["p"], {CLASS: "my.Generator"}, "keygenerator.class: expected .*, found 'my.Generator'"),
    ],
)
def test_a_table_that_could_not_be_written_is_not_made(
    partition_by: list[str], options: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(hf.OptionError, match=message):
        create(tmp_path / "t", partition_by, {**MILLIS, **options})
    assert not (tmp_path / "t").exists() or not tree(tmp_path / "t")


def test_texts_that_name_no_moment_are_an_error_before_anything_is_written(tmp_path: Path) -> None:
    texts = {TYPE: "DATE_STRING", INPUT: "yyyy-MM-dd", OUTPUT: "yyyy", INPUT_ZONE: "UTC"}
    schema = SCHEMA.set(3, pa.field("p", pa.string()))
    table = hf.create_table(
        tmp_path / "t", name="t", schema=schema, record_key="k", partition_by="p", options={**texts, **TIMESTAMP}
    )
    before = tree(tmp_path / "t")
    with pytest.raises(hf.DataError, match="partition p: expected texts of the form yyyy-MM-dd, found 'soon'"):
        table.insert(pa.table({"k": ["a"], "o": [1], "r": ["x"], "p": ["soon"]}))
    assert tree(tmp_path / "t") == before
