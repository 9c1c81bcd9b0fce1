"""What the tasks of a write get and send back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pytest

from hudiformat import DataError, SchemaError
from hudiformat.schema.table_schema import TableSchema

datasource = pytest.importorskip("pyspark.sql.datasource")

from hudiformat.spark.source.messages import fit_batches, results_of

SCHEMA = TableSchema.from_arrow(pa.schema([("id", pa.string()), ("n", pa.int64())]), "t")


def batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_rows_have_the_tables_columns_in_its_order_and_no_others() -> None:
    rows = batch(n=pa.array([1, 2], pa.int32()), more=pa.array(["x", "y"]), id=pa.array(["a", "b"]))
    [found] = fit_batches(iter([rows]), SCHEMA, "1", keeps_keys=False)
    assert found.schema == SCHEMA.arrow
    assert found.to_pydict() == {"id": ["a", "b"], "n": [1, 2]}


def test_rows_are_fitted_batch_by_batch_as_they_are_asked_for() -> None:
    rows = [batch(id=pa.array(["a"]), n=pa.array([1])), batch(id=pa.array(["b"]), n=pa.array(["no number"]))]
    found = fit_batches(iter(rows), SCHEMA, "1", keeps_keys=False)
    assert next(found).num_rows == 1
    with pytest.raises(SchemaError, match="column n"):
        next(found)


@pytest.mark.parametrize("keeps", [True, False])
def test_rows_get_keys_where_the_table_has_no_record_key(*, keeps: bool) -> None:
    schema = replace(SCHEMA, with_keys=True)
    read = batch(id=pa.array(["a", "b"]), n=pa.array([1, 2]), _hoodie_record_key=pa.array(["x", None]))
    [found] = fit_batches(iter([read]), schema, "20260101000000000", keeps_keys=keeps)
    assert found.schema == schema.arrow
    first, second = found["_hoodie_record_key"].to_pylist()
    assert (first == "x") is keeps
    assert second.startswith("20260101000000000_")


@dataclass
class Result(datasource.WriterCommitMessage):  # type: ignore[misc,name-defined] # PySpark may be missing
    number: int


def test_the_messages_of_all_tasks_come_back_in_order() -> None:
    assert [one.number for one in results_of([Result(2), Result(1)], Result)] == [2, 1]
    assert results_of([], Result) == []


@pytest.mark.parametrize("missing", [None, datasource.WriterCommitMessage()])
def test_a_task_without_a_result_is_an_error(missing: object) -> None:
    with pytest.raises(DataError, match="1 of 2 tasks wrote nothing"):
        results_of([Result(1), missing], Result)  # type: ignore[list-item]  # null on purpose
