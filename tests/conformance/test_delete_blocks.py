"""Ordering values of every type that Hudi wraps: its HoodieDeleteBlock reads ours, and we read those that it writes."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.wire import int32
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.conformance.java import JavaClass

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}'
UTC = timezone.utc
UTC_MICROS = pa.timestamp("us", "UTC")

ORDERING: dict[str, tuple[pa.DataType, Sequence[Any], Sequence[str]]] = {
    "boolean": (pa.bool_(), [True, False], ["boolean true", "boolean false"]),
    "int": (pa.int32(), [7, -(2**31), 2**31 - 1], ["int 7", "int -2147483648", "int 2147483647"]),
    "long": (pa.int64(), [7, 0, -(2**63)], ["long 7", "long 0", "long -9223372036854775808"]),
    "float": (pa.float32(), [1.5, -0.0, float("inf")], ["float 1.5", "float -0.0", "float Infinity"]),
    "double": (pa.float64(), [0.1, 1e300, -0.0], ["double 0.1", "double 1.0E300", "double -0.0"]),
    "string": (pa.string(), ["seven ü", "", "\U0001f600"], ["string seven ü", "string ", "string \U0001f600"]),
    "bytes": (pa.binary(), [b"\0\xff", b""], ["bytes AP8=", "bytes "]),
    "date": (pa.date32(), [date(2024, 2, 29), date(1969, 12, 31)], ["date 2024-02-29", "date 1969-12-31"]),
    "decimal": (
        pa.decimal128(30, 15),
        [Decimal("-12.345000000000000"), Decimal("123456789012345.678901234567890")],
        ["decimal -12.345000000000000", "decimal 123456789012345.678901234567890"],
    ),
    "timestamp": (
        UTC_MICROS,
        [datetime(2024, 2, 29, 12, 0, 0, 123456, UTC), datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)],
        ["timestamp 2024-02-29T12:00:00.123456Z", "timestamp 1969-12-31T23:59:59.999999Z"],
    ),
    "several fields": (
        pa.struct([("field0", pa.int64()), ("field1", pa.string()), ("field2", pa.date32())]),
        [
            {"field0": 2**40, "field1": "a", "field2": date(2024, 2, 29)},
            {"field0": 0, "field1": "b", "field2": date(1970, 1, 1)},
        ],
        ["long 1099511627776|string a|date 2024-02-29", "long 0|string b|date 1970-01-01"],
    ),
    "several fields of one type": (
        pa.struct([("field0", pa.int32()), ("field1", pa.int32())]),
        [{"field0": 0, "field1": 1}],
        ["int 0|int 1"],
    ),
}


@pytest.fixture(scope="session")
def java(hudi: RealHudi) -> JavaClass:
    return JavaClass(hudi, "LogBlocks", Path(__file__).with_name("log_blocks.java"))


def deletes_of(payload: str, *, version: int | None = None) -> pa.RecordBatch:
    """The deletes of the content that Hudi made; with *version*, of what goes into a content of that version."""
    data = base64.b64decode(payload)
    content = data if version is None else int32(version) + int32(len(data)) + data
    return hf.LogBlock(hf.BlockType.DELETE, hf.BlockHeader(), content).deletes()


def read_by_hudi(java: JavaClass, folder: Path, ordering: pa.Array | None, count: int) -> list[str]:
    """What Hudi's reader says of the ordering values of a delete block of ours."""
    with hf.LogWriter(folder, ".f-0_001.log.1_0-0-0") as writer:
        keys = [f"k{i}" for i in range(count)]
        path = writer.append(hf.delete_block(keys, instant="001", partition_path="p", ordering=ordering)).path
    lines = [line for line in java.call("read", path, SCHEMA).split("\n") if line.startswith("delete ")]
    heads = [f"delete k{i} p " for i in range(count)]
    assert [line[: len(head)] for line, head in zip(lines, heads, strict=True)] == heads
    return [line[len(head) :] for line, head in zip(lines, heads, strict=True)]


@pytest.mark.all_sets
@pytest.mark.parametrize("what", ORDERING)
def test_hudi_reads_the_ordering_values_that_we_write(java: JavaClass, tmp_path: Path, what: str) -> None:
    kind, values, texts = ORDERING[what]
    assert read_by_hudi(java, tmp_path, pa.array(values, kind), len(values)) == texts


@pytest.mark.all_sets
@pytest.mark.parametrize("version", [3, 2])
@pytest.mark.parametrize("what", ORDERING)
def test_we_read_the_ordering_values_that_hudi_writes(java: JavaClass, what: str, version: int) -> None:
    kind, values, texts = ORDERING[what]
    if (what, version) == ("timestamp", 2):  # Kryo drops what is less than a millisecond
        values = [value.replace(microsecond=value.microsecond // 1000 * 1000) for value in values]
    deletes = deletes_of(java.call("deletes", version, "\n".join(texts)))
    assert deletes["record_key"].to_pylist() == [f"k{i}" for i in range(len(values))]
    assert deletes["partition_path"].to_pylist() == ["p"] * len(values)
    # by their texts: -0.0 is no 0.0
    assert list(map(repr, deletes["ordering"].to_pylist())) == list(map(repr, pa.array(values, kind).to_pylist()))
    assert deletes["ordering"].type == kind


CONVERTED: dict[str, tuple[pa.Array, Sequence[str]]] = {
    "shorts": (pa.array([7, -2], pa.int16()), ["int 7", "int -2"]),
    "unsigned ints": (pa.array([2**32 - 1], pa.uint32()), ["long 4294967295"]),
    "decimals of another scale": (pa.array([Decimal("-1.50")]), ["decimal -1.500000000000000"]),
    "milliseconds": (pa.array([1], pa.timestamp("ms", "UTC")), ["timestamp 1970-01-01T00:00:00.001Z"]),
    "moments of another zone": (
        pa.array([1], pa.timestamp("us", "Asia/Tokyo")),
        ["timestamp 1970-01-01T00:00:00.000001Z"],
    ),
    "moments without zone": (pa.array([1], pa.timestamp("us")), ["timestamp 1970-01-01T00:00:00.000001Z"]),
    "nulls, which are Hudi's placeholder": (pa.array([None, 2**40]), ["int 0", "long 1099511627776"]),
    "nulls alone": (pa.nulls(2), ["int 0", "int 0"]),
    "null, and not several fields": (
        pa.array([{"a": 1, "b": "x"}, None], pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ["long 1|string x", "int 0"],
    ),
    "a null among several fields": (
        pa.array([{"a": None, "b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ["int 0|string x"],
    ),
}


@pytest.mark.all_sets
@pytest.mark.parametrize("what", CONVERTED)
def test_hudi_reads_the_ordering_values_that_we_bring_to_a_type_of_its_own(
    java: JavaClass, tmp_path: Path, what: str
) -> None:
    ordering, texts = CONVERTED[what]
    assert read_by_hudi(java, tmp_path, ordering, len(ordering)) == texts


def test_without_ordering_values_hudi_reads_its_placeholder(java: JavaClass, tmp_path: Path) -> None:
    assert read_by_hudi(java, tmp_path, None, 2) == ["int 0", "int 0"]


MIXED: dict[str, tuple[Sequence[str], Sequence[Any], pa.DataType]] = {
    "null": (["null", "null"], [None, None], pa.int32()),
    "null and an int": (["null", "int 0", "int 3"], [None, 0, 3], pa.int32()),
    "null, the placeholder and a long": (["null", "int 0", "long 0"], [None, None, 0], pa.int64()),
    "the placeholder and a string": (["int 0", "string a"], [None, "a"], pa.string()),
    "the placeholder and several fields": (
        ["int 0", "int 0|long 1"],
        [None, {"field0": 0, "field1": 1}],
        pa.struct([("field0", pa.int32()), ("field1", pa.int64())]),
    ),
    "a null among several fields": (
        ["null|long 1", "string a|long 2"],
        [{"field0": None, "field1": 1}, {"field0": "a", "field1": 2}],
        pa.struct([("field0", pa.string()), ("field1", pa.int64())]),
    ),
    "a local date among several fields": (
        ["localdate 2024-02-29|int 1"],
        [{"field0": date(2024, 2, 29), "field1": 1}],
        pa.struct([("field0", pa.date32()), ("field1", pa.int32())]),
    ),
}


@pytest.mark.all_sets
@pytest.mark.parametrize("version", [3, 2])
@pytest.mark.parametrize("what", MIXED)
def test_we_read_ordering_values_that_are_not_all_alike(java: JavaClass, what: str, version: int) -> None:
    texts, values, kind = MIXED[what]
    ordering = deletes_of(java.call("deletes", version, "\n".join(texts)))["ordering"]
    assert ordering.to_pylist() == values
    assert ordering.type == kind


def test_a_local_date_alone_has_no_place_in_version_3(java: JavaClass) -> None:
    with pytest.raises(RealHudiError, match="Not in union"):
        java.call("deletes", 3, "localdate 2024-02-29")
    assert deletes_of(java.call("deletes", 2, "localdate 2024-02-29"))["ordering"].to_pylist() == [date(2024, 2, 29)]


def test_hudi_cannot_read_the_null_that_it_writes_among_several_fields(java: JavaClass, tmp_path: Path) -> None:
    content = base64.b64decode(java.call("deletes", 3, "null|long 1"))
    with hf.LogWriter(tmp_path, ".f-0_001.log.1_0-0-0") as writer:
        header = hf.delete_block(["k"], instant="001").header
        path = writer.append(hf.LogBlock(hf.BlockType.DELETE, header, content)).path
    with pytest.raises(RealHudiError, match="Union is malformed"):
        java.call("read", path, SCHEMA)


def test_we_read_keys_alone_in_version_1(java: JavaClass) -> None:
    deletes = deletes_of(java.call("keys", 3), version=1)
    assert deletes.to_pylist() == [{"record_key": f"k{i}", "partition_path": "p", "ordering": None} for i in range(3)]
