"""Tables whose partition paths have dates with slashes, ``2024/02/29``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.table.options.timed_paths import SLASHES
from tests.foreign.foreign_tables import names, unpack
from tests.tables import edit, tree

SCHEMA = pa.schema([("k", pa.string()), ("o", pa.int64()), ("p", pa.string())])


def rows(*values: tuple[str, int, str | None]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, one, strict=True)) for one in values], SCHEMA)


def create(path: Path, *, options: dict[str, str] | None = None, **more: Any) -> hf.Table:
    given: dict[str, Any] = {"name": "t", "schema": SCHEMA, "record_key": "k", "ordering": "o", "partition_by": "p"}
    return hf.create_table(path, **{**given, **more}, options={SLASHES: "true", **(options or {})})


@pytest.mark.parametrize("hive", ["false", "true"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_paths_of_new_tables_have_slashes(version: int, hive: str, tmp_path: Path) -> None:
    options = {"hoodie.datasource.write.hive_style_partitioning": hive}
    create(tmp_path / "t", version=version, options=options)
    table = hf.open_table(tmp_path / "t")
    table.insert(rows(("a", 1, "2024-02-29"), ("b", 1, None)))
    table.upsert(rows(("a", 2, "2024-02-29"), ("c", 1, "2024-03-01")))
    start = "p=" if hive == "true" else ""
    assert table.partitions() == [f"{start}{one}" for one in ("2024/02/29", "2024/03/01", "__HIVE_DEFAULT_PARTITION__")]
    assert table.snapshot().sort_by("k")["o"].to_pylist() == [2, 1, 1]
    assert table.snapshot(filter="p = '2024-02-29'")["k"].to_pylist() == ["a"]
    table.delete(where="p = '2024-03-01'")
    assert table.count() == 2
    assert table.verify() == []


@pytest.mark.parametrize("name", [one for one in names("partition-") if "slashes" in one and "timed" not in one])
def test_rows_of_hudis_tables_are_not_doubled(name: str, tmp_path: Path) -> None:
    """Hudi keeps the option in no property; in version 9 it keeps a class that it infers from it."""
    path = unpack(name, tmp_path).path
    is_told = "hive" not in name and "SlashEncodedDay" in (path / ".hoodie" / "hoodie.properties").read_text()
    table = hf.open_table(path, options={} if is_told else {SLASHES: "true"})
    before, found = table.partitions(), table.snapshot()
    table.upsert(found)
    assert table.partitions() == before
    assert table.count() == found.num_rows
    assert table.verify() == []


def test_the_option_has_to_agree_with_the_property(tmp_path: Path) -> None:
    create(tmp_path / "t")
    with pytest.raises(
        hf.OptionError, match=f"{SLASHES}: expected 'true', as in the table's properties, found 'false'"
    ):
        hf.open_table(tmp_path / "t", options={SLASHES: "false"})


@pytest.mark.parametrize("partition_by", [[], ["p", "o"], ["p:SIMPLE"]])
def test_other_partition_columns_are_refused(partition_by: list[str], tmp_path: Path) -> None:
    with pytest.raises(hf.OptionError, match=f"{SLASHES}: expected one partition column of texts such as .*, found"):
        create(tmp_path / "t", partition_by=partition_by)
    dates = SCHEMA.set(2, pa.field("p", pa.date32()))
    with pytest.raises(hf.OptionError, match="found p of type date32"):
        create(tmp_path / "t", schema=dates)
    assert not tree(tmp_path / "t")
    create(tmp_path / "u")
    edit(tmp_path / "u", "hoodie.table.partition.fields", "p,o")
    with pytest.raises(hf.UnsupportedFeatureError, match="slash-separated dates in paths of several columns"):
        hf.open_table(tmp_path / "u").insert(rows(("a", 1, "2024-02-29")))
