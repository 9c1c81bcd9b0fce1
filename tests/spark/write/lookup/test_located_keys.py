"""Few keys are looked up once, and tasks place their rows by what was found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.table.options.values import Operation
from tests.effort import LONG, only_long
from tests.spark.write.lookup.test_global_lookup import POLICY, Pair, doubled, rows_of

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write.lookup.located_keys import LocatedKeys
from hudiformat.spark.write.lookup.tagging import GROUP, KEY, NEW, PATH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACES = pa.table({PATH: ["x", "x", "x", "y"], KEY: ["a", "a", "b", "b"], GROUP: ["f1", "f2", None, None]})


def batch(*keys: tuple[str, str]) -> pa.RecordBatch:
    columns = [pa.array(values, pa.string()) for values in zip(*((path, "", key) for path, key in keys), strict=True)]
    return pa.RecordBatch.from_arrays([*columns, pa.array(range(len(keys)))], names=[PATH, GROUP, KEY, "v"])


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Operation.UPSERT, [(0, "", True), (1, "f1", False), (1, "f2", False), (2, "", True)]),
        (Operation.DELETE, [(1, "f1", False), (1, "f2", False)]),
        (Operation.INSERT, [(0, "", True), (2, "", True)]),
    ],
)
def test_rows_come_once_for_each_place(operation: Operation, expected: list[tuple[int, str, bool]]) -> None:
    found = LocatedKeys(PLACES).tag(batch(("y", "b"), ("x", "a"), ("x", "b")), operation)
    rows = list(zip(*(found[name].to_pylist() for name in ("v", GROUP, NEW)), strict=True))
    assert sorted(rows) == expected


def test_a_key_that_nobody_asked_for_is_an_error() -> None:
    with pytest.raises(hf.DataError, match="gave other record keys when its rows were asked for again"):
        LocatedKeys(PLACES).tag(batch(("x", "a"), ("z", "a")), Operation.UPSERT)


@only_long
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", *(["MERGE_ON_READ"] if LONG else [])])
def test_tasks_write_what_one_process_does(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    pair = Pair(spark, tmp_path, table_type, {"hoodie.index.type": "SIMPLE"})
    pair.write("upsert", doubled(rows_of(1)))  # nothing is there to look in
    pair.write("upsert", rows_of(2, deletes=True))
    pair.begin("bulk_insert", rows_of(2)[:5])  # some keys are in two file groups now
    pair.write("upsert", doubled(rows_of(3)[:10]))
    pair.write("delete", rows_of(4)[:15])
    pair.open({"hoodie.index.type": "SIMPLE", POLICY: "drop"})
    pair.write("insert", rows_of(5))
    pair.open({"hoodie.index.type": "SIMPLE", POLICY: "fail"})
    with pytest.raises(hf.DataError, match="is in partition .* already"):
        pair.write("insert", rows_of(5))


def test_deletes_of_a_table_without_rows_write_nothing(spark: SparkSession, tmp_path: Path) -> None:
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", {"hoodie.index.type": "SIMPLE"})
    pair.write("delete", rows_of(1))
    assert pair.tables[0].file_slices() == []
