"""Statistics that real Hudi wrote leave no row out: filters give the rows that they give without them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import create_table, open_table
from hudiformat.file_group.slices import FileSlice
from hudiformat.read.skipping import PartitionPruner, drop_skipped
from tests.conformance.hudi import RealHudi
from tests.conformance.layouts import upsert_options
from tests.effort import only_long, sample
from tests.rows import assert_same_rows
from tests.tables import multiset

pytestmark = pytest.mark.hudi

OFF = {"hoodie.enable.data.skipping": "false"}
OPTIONS = {
    "hoodie.table.name": "skipping",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.embed.timeline.server": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
}
FLOATS = pa.table(
    {"id": ["a", "b", "c", "d"], "f": [1.0, math.nan, 2.0, None], "g": pa.array([None, math.nan, math.nan, 1], "float")}
)
LONG = "m" * 5_000
"""Parquet keeps no statistics of a text that is so long."""


def rows(keys: str, ts: int, **columns: Sequence[object] | pa.Array) -> pa.Table:
    return pa.table(
        {"id": list(keys), "p": ["y" if key in "de" else "x" for key in keys], "ts": [ts] * len(keys), **columns}
    )


def check(path: Path, hudi: RealHudi) -> None:
    table = open_table(path)
    everything = table.snapshot()
    assert_same_rows(everything, hudi.read(path), key=("_hoodie_partition_path", "_hoodie_record_key"))
    for condition in sample(conditions(everything.schema), of=3):
        expected = everything.filter(condition)
        assert multiset(table.snapshot(filter=condition)) == multiset(expected), str(condition)


def left(path: Path, condition: pc.Expression) -> list[FileSlice]:
    """The slices that are opened."""
    table = open_table(path)
    reader = table.slice_reader()
    pruner = PartitionPruner(reader.partition_columns, reader.output_schema, condition)
    return drop_skipped(table._context.state(), table.file_slices(), pruner, with_logs=True)


def conditions(schema: pa.Schema) -> list[pc.Expression]:
    id_, key = pc.field("id"), pc.field("_hoodie_record_key")
    found = [id_ == "b", id_.isin(["a", "z"]), id_ > "e", key == "c", key.isin(["d", "z"]), (key >= "b") & (key < "d")]
    for field in schema:
        column = pc.field(field.name)
        found += [column.is_null(), column.is_valid()]
        if pa.types.is_string(field.type):
            found += [column >= text for text in ("k", "n")] + [column < "k", column == LONG]
        elif pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            found += [column > 1, column <= 1, ~(column <= 1), column == 7, column != 7, column == 0.5]
    return found


@only_long
def test_values_that_statistics_do_not_show(hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "t"
    text, x = ["a", LONG, None, LONG, LONG], [0.5, math.nan, None, math.nan, math.nan]
    hudi.write(rows("abcde", 1, text=text, x=x, n=pa.array([1, 2, None, 3, 4], pa.int32())), path, OPTIONS)
    assert left(path, pc.field("id") == "bb") == [], "between a and c, and in no bloom filter"
    assert len(left(path, pc.field("id") == "b")) == 1
    hudi.write(rows("ad", 2, text=["n", None], x=[2.0, math.nan], n=pa.array([7, None], pa.int32())), path, OPTIONS)
    check(path, hudi)
    hudi.write(rows("c", 4, text=["q"], x=[0.0], n=pa.array([9], pa.int64()), more=["new"]), path, OPTIONS)
    hudi.write(rows("ae", 9), path, OPTIONS | {"hoodie.datasource.write.operation": "delete"})
    check(path, hudi)


@only_long
def test_partial_updates_mix_the_values_of_files(hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "t"
    hudi.sql(
        f"create table partly (id string, n int, m int, ts bigint) using hudi location '{path}' tblproperties "
        "(type='mor', primaryKey='id', orderingFields='ts', 'hoodie.metadata.index.column.stats.enable'='true')"
    )
    hudi.sql("insert into partly values ('a', 1, 1, 1), ('b', 2, 2, 1)")
    for column, value, ts in (("n", 7, 2), ("m", 9, 3)):
        hudi.sql(
            f"merge into partly t using (select 'a' id, {value} v, cast({ts} as bigint) ts) s on t.id = s.id "
            f"when matched then update set t.{column} = s.v, t.ts = s.ts"
        )
    plain, table = open_table(path, options=OFF), open_table(path)
    mixed = (pc.field("n") == 7) & (pc.field("m") == 9)
    assert plain.snapshot(filter=mixed)["id"].to_pylist() == ["a"]
    assert table.snapshot(filter=mixed)["id"].to_pylist() == ["a"], "no file has both values"
    check(path, hudi)
    hudi.sql("drop table partly")


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_hudi_finds_rows_with_a_nan_in_our_files(hudi: RealHudi, tmp_path: Path, table_type: str) -> None:
    table = create_table(tmp_path / "t", name="t", schema=FLOATS.schema, record_key="id", table_type=table_type)
    table.insert(FLOATS)
    for condition, ids in [("f > 100", "b"), ("not f <= 100", "b"), ("g > 100", "bc"), ("f = 2", "c"), ("f < 2", "a")]:
        frame = f"spark.read.format('hudi').load({table.path!r}).where({condition!r})"
        found = hudi.eval_(f"result = sorted(row.id for row in {frame}.collect())")
        assert found == list(ids), condition


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_of_a_column_that_we_add_are_found_after_a_write_of_hudis(
    hudi: RealHudi, tmp_path: Path, table_type: str
) -> None:
    """Hudi takes a file without a record of a column that its definition names for one with nulls alone."""
    path, no_small_files = tmp_path / "t", {"hoodie.parquet.small.file.limit": "0"}
    options = {
        **upsert_options(version=9, table_type=table_type),
        "hoodie.datasource.write.operation": "insert",
        **no_small_files,
    }

    def with_keys(*keys: str, **more: list[Any]) -> pa.Table:
        given = {"k": list(keys), "p": ["x"] * len(keys), "o": [1] * len(keys), "v": [ord(key) for key in keys]}
        return pa.table({**given, **more})

    hudi.write(with_keys("a", "b"), path, options)
    open_table(path, options=no_small_files).insert(with_keys("c", n=[7], s=["seven"]))
    hudi.write(with_keys("d", n=[8], s=["eight"]), path, options)
    expected = {"n = 7": "c", "n > 6": "cd", "n is null": "ab", "n = 7 or v = 97": "ac", "s = 'seven'": "c"}
    expected |= {"v = 97 and n is null": "a", "v = 99 or n is null": "abc", "s < 'f' or v = 98": "bd"}
    for condition, keys in expected.items():
        skipping = ".option('hoodie.metadata.enable', 'true').option('hoodie.enable.data.skipping', 'true')"
        found = hudi.eval_(
            f"frame = spark.read.format('hudi'){skipping}.load({str(path)!r}).where({condition!r})\n"
            "result = sorted(row[0] for row in frame.select('k').collect())"
        )
        ours = sorted(open_table(path).snapshot(filter=condition)["k"].to_pylist())
        assert (found, ours) == (list(keys), list(keys)), condition
