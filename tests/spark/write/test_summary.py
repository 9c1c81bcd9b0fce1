"""What one pass over the keys of a write tells the driver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hudiformat as hf
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.transaction import begin_write
from tests.spark.write.lookup.test_global_lookup import Pair, as_frame

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write import summary
from hudiformat.spark.write.summary import summarize

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [("a", 1, "x", 1, False), ("a", 2, "x", 2, False), ("b", 1, "y", 1, True), ("c", 1, "y", 1, False)]


@pytest.mark.parametrize(("operation", "of_x"), [(Operation.UPSERT, 1), (Operation.INSERT, 2)])
def test_rows_are_counted_and_their_keys_are_taken_where_they_are_few(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: Operation, of_x: int
) -> None:
    table = Pair(spark, tmp_path, "MERGE_ON_READ", {"hoodie.index.type": "SIMPLE"}).tables[0]
    with begin_write(table._context, operation) as write:
        found = summarize(as_frame(spark, ROWS), write.plan, write.plan.schema)
        assert (found.rows, found.paths) == (4, ("x", "y"))
        assert {path: dict(tasks) for path, tasks in found.upserts.items()} == {"x": {0: of_x}, "y": {0: 1}}
        keys = found.few_keys()
        assert keys is not None
        assert {path: sorted(one.to_pylist()) for path, one in keys.items()} == {"x": ["a"], "y": ["b", "c"]}
        monkeypatch.setattr(summary, "MOST", 3)
        assert summarize(as_frame(spark, ROWS), write.plan, write.plan.schema).few_keys() is None
        nothing = summarize(as_frame(spark, []), write.plan, write.plan.schema)
        assert (nothing.rows, nothing.paths, dict(nothing.upserts)) == (0, (), {})


def test_a_null_key_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    import hudiformat.spark as hudi_spark

    pair = Pair(spark, tmp_path, "MERGE_ON_READ", {"hoodie.index.type": "SIMPLE"})
    null: Any = None
    rows = as_frame(spark, [*ROWS, (null, 1, "x", 1, False)])
    with pytest.raises(hf.DataError, match="null"):
        hudi_spark.upsert(rows, pair.tables[0].path, options=pair.options)
    assert not pair.tables[0].timeline.instants
