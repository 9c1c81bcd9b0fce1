"""The ranges in column statistics, and the statistics that give none."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.errors import CorruptBlockError
from hudiformat.metadata_table.column_stats import (
    ColumnRange,
    ColumnStats,
    _partition_range,
    column_stats,
    decode_column_stats,
    decode_partition_stats,
    partition_ranges,
)
from hudiformat.metadata_table.index_keys import column_id, file_id, partition_id
from hudiformat.metadata_table.partition import Deletes, HFileRecords, open_partition
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.timeline import load_timeline
from tests.metadata_table.statistics import TYPED, UNTYPED, numbers, part
from tests.tables import unpack

BASE, LOG = "f-0_0-1-1_001.parquet", ".f-0_001.log.1_0-1-1"
NAME = "org.apache.hudi.avro.model."
ALL_NULL, UNKNOWN = ColumnRange(all_null=True), ColumnRange()


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> LocalStorage:
    return LocalStorage(unpack("v9-mor-metadata-table-h120", tmp_path_factory.mktemp("golden")).table)


@pytest.fixture(scope="module")
def schema(golden: LocalStorage) -> str:
    """The Avro schema of records that Hudi wrote."""
    config = load_table_config(golden)
    parts = open_partition(golden, config, load_timeline(golden, config), "column_stats")
    return next(part.schema for part in parts if isinstance(part, HFileRecords))


def decoded(schema: str, **changes: Any) -> ColumnRange | None:
    stats = {"fileName": BASE, "columnName": "c", "valueCount": 9, "nullCount": 0, "totalSize": 0, **changes}
    stats |= {"totalUncompressedSize": 0, "isTightBound": False, "isDeleted": changes.get("isDeleted", False)}
    record = {"key": "", "type": 3, "ColumnStatsMetadata": stats}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), record)
    name, found = decode_column_stats(out.getvalue(), schema)
    assert name == stats["fileName"]
    return found


def between(wrapper: str, low: Any, high: Any, ordinal: int | None) -> dict[str, Any]:
    kind = None if ordinal is None else {"typeOrdinal": ordinal, "additionalInfo": None}
    low, high = ((f"{NAME}{wrapper}Wrapper", {"value": value}) for value in (low, high))
    return {"minValue": low, "maxValue": high, "valueType": kind}


def test_the_ranges_of_a_table_of_hudis(golden: LocalStorage) -> None:
    config = load_table_config(golden)
    found = column_stats(golden, config, load_timeline(golden, config)).ranges("north", ["k", "v", "nothing"])
    base = "3d19e35a-710b-4d81-82f8-67c4e16e93a0-0_2-4702-8347_20261121062436847.parquet"
    assert found[base, "k"] == ColumnRange(pa.string(), "key-0000", "key-0027", may_be_null=False)
    assert found[base, "v"] == ColumnRange(pa.int64(), -(2**63), 810908352219, may_be_null=True)
    deletes = ".3d19e35a-710b-4d81-82f8-67c4e16e93a0-0_20261121062446522.log.1_1-4790-8545"
    assert found[deletes, "k"] == ALL_NULL
    assert {column for _, column in found} == {"k", "v"}


@pytest.mark.parametrize(
    ("wrapper", "ordinal", "kind"),
    [
        ("Int", 3, pa.int32()),
        ("Int", 12, pa.date32()),
        ("Long", 16, pa.timestamp("us", "UTC")),
        ("Long", 18, pa.timestamp("ms")),
        ("Long", None, pa.int64()),
        ("Double", 0, pa.float64()),
        ("Float", 5, pa.float32()),
    ],
)
def test_the_type_of_values(schema: str, wrapper: str, ordinal: int | None, kind: pa.DataType) -> None:
    assert decoded(schema, **between(wrapper, 1, 2, ordinal)) == ColumnRange(kind, 1, 2, may_be_null=False)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (between("Bytes", b"a", b"b", 8), "a type that is not understood"),
        (between("Bytes", b"a", b"b", None), "the same, by its wrapper"),
        (between("Double", 1.0, float("nan"), 6), "a bound that is no number"),
        ({**between("String", "a", "b", 7), "nullCount": 1}, "row groups of texts that are too long count as null"),
        (between("Double", 0.0, 1.0, 6), "row groups with a NaN count as 0"),
        ({**between("Int", 0, 0, 3), "nullCount": 9}, "a file without statistics"),
        ({"minValue": None, "nullCount": 9, "valueType": {"typeOrdinal": 7}}, "the same"),
        ({"fileName": LOG, "minValue": None, "nullCount": 9}, "of version 8 and below, where nothing says the type"),
        ({"fileName": LOG, "minValue": None, "nullCount": 3, "valueType": {"typeOrdinal": 3}}, "no bounds"),
    ],
)
def test_ranges_that_are_unknown(schema: str, changes: dict[str, Any], reason: str) -> None:
    assert decoded(schema, **changes) == UNKNOWN, reason


def test_a_log_file_without_values(schema: str) -> None:
    nothing = {"fileName": LOG, "minValue": None, "valueType": {"typeOrdinal": 1, "additionalInfo": None}}
    assert decoded(schema, **nothing, valueCount=3, nullCount=3) == ALL_NULL
    assert decoded(schema, **nothing, valueCount=0) == ALL_NULL


def test_a_log_file_counts_its_nulls(schema: str) -> None:
    found = decoded(schema, fileName=LOG, **between("String", "a", "b", 7) | {"nullCount": 1})
    assert found == ColumnRange(pa.string(), "a", "b", may_be_null=True)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("a", "日本語", ("a", "日本語")),
        ("a\U0001f642", "b", (None, "b")),  # "a\uff21" is above it in Java, and below it by bytes
        ("a", "b\uff21", ("a", None)),
        ("\uff21", "\U0001f642", ("\uff21", "\U0001f642")),
    ],
)
def test_bounds_of_javas_order_that_are_bounds_by_bytes(
    schema: str, low: str, high: str, expected: tuple[str | None, str | None]
) -> None:
    found = decoded(schema, **between("String", low, high, 7))
    assert found is not None
    assert (found.lower, found.upper) == expected


def test_a_deleted_file_has_no_range(schema: str) -> None:
    assert decoded(schema, **between("Int", 1, 2, 3), isDeleted=True) is None


def test_other_bytes_are_not_a_statistics_record(schema: str) -> None:
    with pytest.raises(CorruptBlockError, match="expected column statistics"):
        decode_column_stats(b"\x07", schema)


def test_statistics_that_come_twice_or_of_another_file_are_not_used(golden: LocalStorage, schema: str) -> None:
    config = load_table_config(golden)
    parts = open_partition(golden, config, load_timeline(golden, config), "column_stats")
    base = "3d19e35a-710b-4d81-82f8-67c4e16e93a0-0_2-4702-8347_20261121062436847.parquet"
    key = f"{column_id('k')}{partition_id('north')}{file_id(base)}"
    [value] = [found for part in parts if isinstance(part, HFileRecords) and (found := part.file.get(key))]
    other = key[:-4] + "zzz="
    again = HFileRecords(
        HFileReader(encode_hfile(pa.array([key, other], pa.binary()), pa.array([value, value], pa.binary()))), schema
    )
    assert ColumnStats([again]).ranges("north", ["k"])[base, "k"].lower == "key-0000"
    assert ColumnStats([*parts, again]).ranges("north", ["k"])[base, "k"] == UNKNOWN
    assert (base, "k") not in ColumnStats([*parts, Deletes(frozenset([key]))]).ranges("north", ["k"])


def test_the_ranges_of_partitions_of_hudis(golden: LocalStorage) -> None:
    """Those of all their files together."""
    config = load_table_config(golden)
    timeline = load_timeline(golden, config)
    of_files = column_stats(golden, config, timeline).ranges("north", ["ts"]).values()
    found = partition_ranges(golden, config, timeline, ["north", "nowhere"], ["ts", "other"])
    assert found["nowhere"] == {}
    assert list(found["north"]) == ["ts"]
    north = found["north"]["ts"]
    known = [one for one in of_files if one.kind is not None]
    assert (north.lower, north.upper) == (min(one.lower for one in known), max(one.upper for one in known))


def test_of_records_of_a_partition_the_newest_counts_if_it_replaces_others() -> None:
    first, second = ({"key": TYPED.of_partition("p", "c", numbers(low, 9))} for low in (1, 2))
    loose = {"key": UNTYPED.of_file("p", "c", numbers(5, 9))}
    ranged = ColumnRange(pa.int32(), 2, 9, may_be_null=False)
    assert _partition_range([part(first), part(second)], "key") == ranged
    assert _partition_range([part(second), part(loose)], "key") is None
    assert _partition_range([part(loose), part(second)], "key") == ranged
    alone = _partition_range([part(loose)], "key")
    assert alone is not None
    assert alone.lower == 5
    assert _partition_range([part(second), Deletes(frozenset(["key"]))], "key") is None
    assert _partition_range([part(second), Deletes(frozenset(["other"]))], "key") == ranged
    assert _partition_range([], "key") is None


def test_other_bytes_are_no_statistics_of_a_partition(schema: str) -> None:
    with pytest.raises(CorruptBlockError, match="expected column statistics"):
        decode_partition_stats(b"nothing", schema)
