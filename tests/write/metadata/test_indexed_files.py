"""What the indexes keep of files that exist is what a write collects of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import Table, open_table
from hudiformat.file_group.base_file.file_indexes import Indexes
from hudiformat.timeline.commit_metadata import IndexedFile
from hudiformat.write.commit import publishing
from hudiformat.write.metadata.indexed_files import FileReader
from hudiformat.write.metadata.metadata_table import MetadataTable
from tests.metadata_tables import indexed_table
from tests.tables import SCHEMA, new_table, rows

WIDE = SCHEMA.append(pa.field("d", pa.float64())).append(pa.field("n", pa.struct([("x", pa.int64())])))
COLUMNS = "k,ts,p,v,d,n.x"
ALL = {
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.index.column.stats.column.list": COLUMNS,
}


def wide(*found: tuple[str, int, float | None, int | None]) -> pa.Table:
    keys, times, numbers, nested = zip(*found, strict=True)
    columns = {
        "k": keys,
        "ts": times,
        "p": ["x"] * len(keys),
        "v": [None] * len(keys),
        "d": numbers,
        "n": [None if one is None else {"x": one} for one in nested],
    }
    return pa.table(columns, schema=WIDE)


@pytest.mark.parametrize("log_format", ["avro", "parquet"])
def test_files_that_are_read_are_as_those_that_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_format: str
) -> None:
    written: dict[str, IndexedFile] = {}

    class Watching(MetadataTable):
        def record(self, instant: Any, metadata: Any) -> str | None:
            written.update(
                {stat.path: stat.indexed for stat in metadata.write_stats if stat.indexed and not stat.num_deletes}
            )
            return super().record(instant, metadata)

    monkeypatch.setattr(publishing, "MetadataTable", Watching)
    options = {**ALL, "hoodie.index.type": "INMEMORY", "hoodie.logfile.data.block.format": log_format}
    table = indexed_table(tmp_path / "t", schema=WIDE, options=options)
    table.bulk_insert(wide(("a", 1, 1.5, 7), ("b", 1, math.nan, None), ("c", 1, None, 3)))
    table.upsert(wide(("a", 2, -0.5, 8), ("d", 2, None, None)))
    assert len(written) >= 2
    reader = reader_of(table, *COLUMNS.split(","), filters=True)
    for path, expected in written.items():
        folder, _, name = path.rpartition("/")
        read = reader.log_file if name.startswith(".") else reader.base_file
        found = read(table._context.storage, folder, name)
        assert found.bloom_filter == expected.bloom_filter
        assert repr(found.columns) == repr({name: expected.columns[name] for name in COLUMNS.split(",")}), path


def reader_of(table: Table, *columns: str, filters: bool = False) -> FileReader:
    return FileReader.of(table._context.state(), Indexes(columns, filters=filters))


def test_keys_of_a_slice_are_those_of_its_rows(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("c", 2, "x", 2)))
    table.delete(rows(("b", 9, "x")))
    reader = reader_of(table)
    slices = table.file_slices()
    keys = [key for one in slices for batch in reader.keys(table._context.storage, one) for key in batch.to_pylist()]
    assert sorted(keys) == ["a", "c"]
    assert sum(reader.estimated_rows(table._context.storage, one) for one in slices) >= 2


def test_files_of_former_names_are_read_by_those(tmp_path: Path) -> None:
    new_table(tmp_path / "t").upsert(rows(("a", 1, "x", 5)))
    table = open_table(tmp_path / "t", options={"hoodie.schema.on.read.enable": "true"})
    table.evolve(rename={"v": "w"}, add={"v": pa.int32()})
    [one] = table.file_slices()
    storage, name = table._context.storage, str(one.base_file and one.base_file.name)
    found = reader_of(table, "v", "w").base_file(storage, "x", name).columns
    assert (found["w"].lower, found["w"].upper) == (5, 5)
    assert (found["v"].values, found["v"].nulls) == (1, 1)


def test_columns_that_a_partial_update_lacks_may_have_any_value(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    kinds = {"k": "string", "ts": "long", "p": "string"}
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in kinds.items()]
    partial = json.dumps({"type": "record", "name": "t", "fields": fields})
    options = {"hoodie.index.type": "INMEMORY", "hoodie.write.partial.update.schema": partial}
    opened = open_table(tmp_path / "t", options=options, clock=table._context.clock)
    opened.upsert(pa.table({"k": ["a"], "ts": [2], "p": ["x"]}))
    [one] = opened.file_slices()
    found = reader_of(opened, "ts", "v").log_file(opened._context.storage, "x", str(one.log_files[0].name)).columns
    assert (found["ts"].lower, found["ts"].upper) == (2, 2)
    assert (found["v"].lower, found["v"].upper) == (-(2**31), 2**31 - 1)
