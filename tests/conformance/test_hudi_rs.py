"""hudi-rs, the package ``hudi`` from PyPI, reads tables of ours, and blocks of ours that no table writer makes.

It needs no Java.  What it cannot read is asserted too: when a newer one can, these tests say so.
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import hudi as hudi_rs
import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.schema.meta_fields import add_meta_columns
from tests.conformance.test_both_ways import ROW, block_types, create, things
from tests.rows import assert_same_rows
from tests.tables import Row, content, new_table, rows

pytestmark = pytest.mark.unmeasured

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
BLOCK_FORMAT = "hoodie.logfile.data.block.format"
READ_OPTIMIZED = {"hoodie.read.use.read_optimized.mode": "true"}


def read(table: hf.Table, options: hudi_rs.HudiReadOptions | None = None) -> pa.Table:
    """The rows that hudi-rs sees."""
    return pa.Table.from_batches(hudi_rs.HudiTable(table.path).read(options))


@pytest.mark.parametrize("index", ["BUCKET", "SIMPLE"])
def test_avro_and_parquet_blocks_in_turn_give_the_same_rows(tmp_path: Path, index: str) -> None:
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2", "hoodie.logfile.max.size": "4096"}
    create(tmp_path / "t", options).insert(things(range(40), ts=5))
    for number, block_format in enumerate(["avro", "parquet"] * 2):
        table = hf.open_table(tmp_path / "t", options={**options, BLOCK_FORMAT: block_format})
        table.upsert(things(range(10 * number, 10 * number + 30), ts=7 - number % 3))
        table.delete(things(range(number, 60, 7), ts=0).select(["p", "id"]))
    assert_same_rows(read(table), table.snapshot(), key=ROW)
    assert block_types(table) == {hf.BlockType.AVRO_DATA, hf.BlockType.PARQUET_DATA, hf.BlockType.DELETE}
    if index == "SIMPLE":  # buckets have log files only
        optimized = read(table, hudi_rs.HudiReadOptions(hudi_options=READ_OPTIMIZED))
        assert_same_rows(optimized, table.read_optimized(), key=ROW)
    for instant in table.timeline.completed_writes:
        then = read(table, hudi_rs.HudiReadOptions().with_as_of_timestamp(instant.time))
        assert_same_rows(then, table.snapshot(as_of=instant.time), key=ROW)


class Slice:
    """A table with one file slice, of log files only, to whose last log file blocks can be added by hand."""

    def __init__(self, path: Path) -> None:
        self.table = new_table(path, options=BUCKETS)
        self.table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
        self.instant = self.table.upsert(rows(("b", 2, "x", 2), ("c", 2, "x", 2))).instant
        self.schema = self.table._context.state().schema.avro_with_meta

    def rows(self, *values: Row) -> pa.RecordBatch:
        """Rows as they stand in log files."""
        (batch,) = rows(*values).to_batches()
        return add_meta_columns(
            batch,
            batch["k"],
            instant=self.instant,
            partition_path="x",
            file_name="f",
            task_partition=0,
            counters=1,
        )

    def add(self, block: hf.LogBlock) -> list[Row]:
        """What hudi-rs reads when *block* stands at the end."""
        (item,) = self.table.file_slices()
        path = Path(self.table.path, "x", str(item.log_files[-1].name))
        path.write_bytes(path.read_bytes() + hf.encode_block(block))
        return sorted((row["k"], row["ts"], row["p"], row["v"]) for row in read(self.table).to_pylist())


@pytest.fixture
def one(tmp_path: Path) -> Slice:
    return Slice(tmp_path / "t")


@pytest.mark.parametrize("name", ["avro", "parquet", "hfile"])
@pytest.mark.parametrize("positions", [None, [4, 70_000]])
def test_data_blocks_of_every_format(one: Slice, name: str, positions: list[int] | None) -> None:
    found = one.add(
        hf.data_block(
            one.rows(("c", 5, "x", 9), ("d", 5, "x", 9)),
            instant=one.instant,
            schema=one.schema,
            format=name,
            positions=positions,
            base_instant=None if positions is None else one.instant,  # which has no base file
        )
    )
    assert found == [("a", 1, "x", 1), ("b", 2, "x", 2), ("c", 5, "x", 9), ("d", 5, "x", 9)]
    assert found == content(one.table)


def test_a_delete_block(one: Slice) -> None:
    found = one.add(hf.delete_block(["b", "c"], instant=one.instant, partition_path="x", ordering=pa.array([1, 3])))
    assert found == content(one.table) == [("a", 1, "x", 1), ("b", 2, "x", 2)]


def test_a_delete_block_without_ordering_values(one: Slice) -> None:
    found = one.add(hf.delete_block(["b", "c"], instant=one.instant, partition_path="x"))
    assert found == content(one.table) == [("a", 1, "x", 1)]


def test_a_delete_block_whose_ordering_values_are_not_all_there_is_refused(one: Slice) -> None:
    block = hf.delete_block(["b", "c"], instant=one.instant, partition_path="x", ordering=pa.array([1, None]))
    with pytest.raises(Exception, match="Delete block mixes ordering types"):
        one.add(block)
    assert content(one.table) == [("a", 1, "x", 1), ("b", 2, "x", 2)]


def test_a_rollback_block(one: Slice) -> None:
    found = one.add(hf.rollback_block(instant="99", target=one.instant))
    assert found == content(one.table) == [("a", 1, "x", 1), ("b", 1, "x", 1)]


def test_a_rollback_block_of_another_instant(one: Slice) -> None:
    before = content(one.table)
    assert one.add(hf.rollback_block(instant="99", target="98")) == content(one.table) == before


def test_a_block_of_changes_is_passed_over(one: Slice) -> None:
    before = content(one.table)
    assert one.add(hf.data_block(pa.record_batch({"op": ["i"]}), instant=one.instant, format="cdc")) == before


def test_a_torn_block_is_passed_over(one: Slice) -> None:
    before = content(one.table)
    (item,) = one.table.file_slices()
    path = Path(one.table.path, "x", str(item.log_files[-1].name))
    torn = hf.encode_block(hf.data_block(one.rows(("z", 9, "x", 9)), instant=one.instant, schema=one.schema))[:-9]
    path.write_bytes(path.read_bytes() + torn)
    assert one.add(hf.rollback_block(instant="99", target="98")) == content(one.table) == before


UTC = timezone.utc
ORDERING: dict[str, tuple[pa.DataType, Any, Any]] = {
    "int": (pa.int32(), 1, 2),
    "long": (pa.int64(), -(2**40), 2**40),
    "float": (pa.float32(), -1.5, 2.5),
    "double": (pa.float64(), -1.5, 1e300),
    "string": (pa.string(), "a", "ü"),
    "boolean": (pa.bool_(), False, True),
    "date": (pa.date32(), date(1969, 1, 1), date(2024, 1, 2)),
    "decimal": (pa.decimal128(10, 2), Decimal("-1.50"), Decimal("2.50")),
    "timestamp": (pa.timestamp("us", "UTC"), datetime(1969, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)),
}
REFUSED: dict[str, tuple[pa.DataType, Any, Any, str]] = {
    "bytes": (pa.binary(), b"a", b"b", "unsupported type Binary"),
    "local timestamp": (pa.timestamp("us"), datetime(1969, 1, 1), datetime(2024, 1, 2), "not yet implemented"),
}


def deleted_by_ordering(path: Path, kind: pa.DataType, low: Any, high: Any) -> hf.Table:
    """A table in which some deletes are older than their rows: a, c and d are left."""
    fields = [
        ("k", pa.string()),
        ("ts", kind),
        ("p", pa.string()),
        ("v", pa.int32()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
    schema = pa.schema(fields)
    make = partial(rows, schema=schema)
    table = new_table(path, schema=schema, options=BUCKETS)
    table.upsert(make(*((key, high if key in "ac" else low, "x", 1) for key in "abcd")))
    table.upsert(make(("a", low, "x", 2, True), ("b", high, "x", 2, True)))
    table.delete(pa.table({"k": ["c"], "p": ["x"]}))
    table.upsert(make(("c", low, "x", 3)))
    assert [(key, v) for key, v in content(table, ["k", "v"])] == [("a", 1), ("c", 3), ("d", 1)]
    return table


@pytest.mark.parametrize("what", ORDERING)
def test_deletes_with_ordering_values_of_every_type(tmp_path: Path, what: str) -> None:
    table = deleted_by_ordering(tmp_path / "t", *ORDERING[what])
    assert_same_rows(read(table), table.snapshot(), key=("k",))


def test_several_ordering_fields_are_refused(tmp_path: Path) -> None:
    flagged = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int32())])
    flagged = flagged.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    table = new_table(tmp_path / "t", schema=flagged, ordering=["ts", "v"], options=BUCKETS)
    table.upsert(rows(*((key, 5, "x", 5) for key in "abcd"), schema=flagged))
    table.upsert(rows(("a", 5, "x", 4, True), ("b", 5, "x", 6, True), ("c", 4, "x", 9, True), schema=flagged))
    assert [key for (key,) in content(table, ["k"])] == ["a", "c", "d"]
    with pytest.raises(Exception, match="Multiple ordering fields 'ts,v' are not yet supported"):
        read(table)


@pytest.mark.parametrize("what", REFUSED)
def test_ordering_values_that_it_does_not_take(tmp_path: Path, what: str) -> None:
    *values, message = REFUSED[what]
    table = deleted_by_ordering(tmp_path / "t", *values)
    with pytest.raises(BaseException, match=message):  # a panic of Rust's is no Exception
        read(table)
