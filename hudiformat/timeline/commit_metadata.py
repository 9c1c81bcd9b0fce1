"""Encode and decode the metadata of a commit: a statistic per file, and facts for the next writer, such as the schema.

It is JSON below table version 8, and an Avro file from there on.  Fields that Hudi 1.2.0 does not know are kept in
``extra`` when they are read, and written again to JSON; the Avro schema has no place for them, so they are left out
there, as in Hudi.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from itertools import repeat
from typing import Any, TypeVar

import pyarrow as pa

from hudiformat.codec.avro.container import MAGIC, decode_avro_file, encode_avro_file
from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.errors import CorruptTableError, NameFormatError
from hudiformat.naming.checks import check_partition_path, check_path_in_table
from hudiformat.timeline.records import avro_name, fastavro_schema, schema_text


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What the indexes of the metadata table keep of a file that a write has made.

    - ``columns``: the statistics of its columns.
    - ``bloom_filter``: the text of a base file's filter, as its footer has it; its type is ``bloom_type``.
    - ``keys``: record keys that are in the file group after the write and may not have been in it before.
    - ``dropped``: record keys that are no longer in the file group.
    - ``values``: rows that are in the file group after the write: their record keys and the columns with a secondary
      index.
    - ``lost``: such rows that are no longer in it; a row in both changes nothing.
    - ``touched``: for a log file whose changed rows are not known: the keys of all its records and deletes.
    - ``expressions``: the statistics of expression indexes, by their names.
    """

    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    bloom_filter: str | None = None
    keys: pa.Array | None = None
    dropped: pa.Array | None = None
    values: pa.Table | None = None
    lost: pa.Table | None = None
    touched: pa.Array | None = None
    expressions: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    bloom_type: str = "SIMPLE"


SCHEMA_KEY = "schema"
NO_PREVIOUS_COMMIT = "null"  # the word, not a null: HoodieWriteStat.NULL_COMMIT

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class RuntimeStats:
    """How long a task worked on a file, in milliseconds."""

    total_scan_time: int = 0
    total_create_time: int = 0
    total_upsert_time: int = 0


@dataclass(frozen=True, slots=True)
class WriteStat:
    """What one task wrote to one file.  Sizes are in bytes, times in milliseconds.

    ``num_writes`` counts the records that the file holds after the write (base file) or that were appended (log
    file).  The fields ``log_version`` to ``log_files`` are set for a log file, and None for a base file.  ``indexed``
    is for the metadata table, and is not stored with the commit.

    Source: HoodieWriteStat and HoodieDeltaWriteStat, Hudi 1.2.0.
    """

    file_id: str | None = ""
    path: str | None = None
    prev_commit: str | None = NO_PREVIOUS_COMMIT
    num_writes: int = 0
    num_deletes: int = 0
    num_update_writes: int = 0
    total_write_bytes: int = 0
    total_write_errors: int = 0
    partition_path: str | None = None
    total_log_records: int = 0
    total_log_files: int | None = None
    total_updated_records_compacted: int = 0
    num_inserts: int = 0
    total_log_blocks: int = 0
    total_corrupt_log_block: int = 0
    total_rollback_blocks: int = 0
    file_size_in_bytes: int = 0
    log_version: int | None = None
    log_offset: int | None = None
    base_file: str | None = None
    log_files: tuple[str, ...] | None = None
    cdc_stats: Mapping[str, int] | None = field(default=None, hash=False)
    prev_base_file: str | None = None
    min_event_time: int | None = None
    max_event_time: int | None = None
    runtime_stats: RuntimeStats | None = None
    total_log_files_compacted: int = 0
    total_log_read_time_ms: int = 0
    total_log_size_compacted: int = 0
    temp_path: str | None = None
    num_updates: int = 0
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    indexed: IndexedFile | None = field(default=None, hash=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """The metadata of a commit, delta commit or replace commit.

    ``partition_to_replace_file_ids`` is None except for replace commits: they name the file groups that the commit
    removes from the table.

    Source: HoodieCommitMetadata and HoodieReplaceCommitMetadata, Hudi 1.2.0.
    """

    operation_type: str | None = "UNKNOWN"
    partition_to_write_stats: Mapping[str, tuple[WriteStat, ...]] = field(default_factory=dict, hash=False)
    extra_metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    compacted: bool = False
    partition_to_replace_file_ids: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def schema(self) -> str | None:
        """The Avro schema of the table's rows, without meta fields; None if the commit has none."""
        return self.extra_metadata.get(SCHEMA_KEY) or None

    @property
    def write_stats(self) -> tuple[WriteStat, ...]:
        """The statistics of all partitions."""
        return tuple(stat for stats in self.partition_to_write_stats.values() for stat in stats)


_STAT_NAMES = {attribute.name: avro_name(attribute) for attribute in fields(WriteStat)[:-2]}
_STAT_KEYS = frozenset(_STAT_NAMES.values())
_RUNTIME_NAMES = {attribute.name: avro_name(attribute) for attribute in fields(RuntimeStats)}
_LOG_NAMES = {"logVersion", "logOffset", "baseFile", "logFiles"}  # HoodieDeltaWriteStat
_NOT_NULL = {attribute.name for attribute in fields(WriteStat) if attribute.default == 0}
_TEXT_FIELDS = {"file_id", "path", "prev_commit", "partition_path", "base_file", "prev_base_file", "temp_path"}
_STATS, _REPLACED = "partitionToWriteStats", "partitionToReplaceFileIds"
_METADATA_NAMES = {
    _STATS,
    "compacted",
    "extraMetadata",
    "version",
    "operationType",
    _REPLACED,
}


def encode_commit_metadata(metadata: CommitMetadata) -> bytes:
    """Return the content of a completed or inflight commit's file for tables of version 8 and later.

    Raises:
        EncodeError: a number that does not fit its field.

    Source: CommitMetadataSerDeV2, MetadataConversionUtils.convertCommitMetadataToAvro, Hudi 1.2.0.
    """
    name = commit_record_name(metadata)
    record = commit_record(metadata)
    # With the name of its type, fastavro does not look through all statistics to find that they are no null.
    record[_STATS] = "map", record[_STATS]
    return encode_avro_file(schema_text(name), fastavro_schema(name), record)


def commit_record_name(metadata: CommitMetadata) -> str:
    """Return the name of the Avro record for *metadata*: replace commits have a record of their own."""
    is_replace = metadata.partition_to_replace_file_ids is not None
    return "HoodieReplaceCommitMetadata" if is_replace else "HoodieCommitMetadata"


def commit_record(metadata: CommitMetadata) -> dict[str, object]:
    """Return *metadata* as the dict that fastavro encodes."""
    return {"version": None, **_common_fields(metadata, _encode_stat)}


def encode_commit_json(metadata: CommitMetadata) -> bytes:
    """Return the content of a completed or inflight commit's file for tables of version 6, ``extra`` included.

    Source: CommitMetadataSerDeV1, JsonUtils, Hudi 1.2.0.
    """
    return json.dumps({**metadata.extra, **_common_fields(metadata, _json_stat)}, indent=2).encode()


def _common_fields(metadata: CommitMetadata, encode: Callable[[WriteStat], dict[str, object]]) -> dict[str, object]:
    stats: dict[str, list[dict[str, object]]] = {}
    for partition, written in metadata.partition_to_write_stats.items():
        stats[partition] = list(map(encode, written))
    record: dict[str, object] = {
        _STATS: stats,
        "compacted": metadata.compacted,
        "extraMetadata": dict(metadata.extra_metadata),
        "operationType": metadata.operation_type,
    }
    if (replaced := metadata.partition_to_replace_file_ids) is not None:
        record[_REPLACED] = {partition: list(file_ids) for partition, file_ids in replaced.items()}
    return record


def _json_stat(stat: WriteStat) -> dict[str, object]:
    """Return a statistic as Hudi writes it: without log file fields for a base file, and without unset counts."""
    record = _encode_stat(stat)
    left_out = set() if any(record[name] is not None for name in _LOG_NAMES) else _LOG_NAMES
    if stat.total_log_files is None:
        left_out = {*left_out, "totalLogFiles"}
    return {**stat.extra, **{key: value for key, value in record.items() if key not in left_out}}


def _encode_stat(stat: WriteStat) -> dict[str, object]:
    record = {json_name: getattr(stat, name) for name, json_name in _STAT_NAMES.items()}
    if stat.log_files is not None:
        record["logFiles"] = list(stat.log_files)  # a tuple is a typed value to fastavro
    if stat.runtime_stats is not None:
        record["runtimeStats"] = {key: getattr(stat.runtime_stats, name) for name, key in _RUNTIME_NAMES.items()}
    return record


def decode_commit_metadata(data: bytes, *, path: str) -> CommitMetadata:
    """Decode the metadata in a commit's file, Avro or JSON; an empty file gives empty metadata, as in Hudi.

    Raises:
        CorruptTableError: the file has neither form, or values of other types than Hudi's; *path* is named.

    Source: CommitMetadataSerDeV1 and V2.deserialize, Hudi 1.2.0.
    """
    if not data:
        return CommitMetadata()
    record = decode_avro_file(data, path=path) if data.startswith(MAGIC) else _decode_json(data, path)
    return parse_commit_record(record, path=path)


def parse_commit_record(record: object, *, path: str) -> CommitMetadata:
    """Return the metadata in a decoded record of Avro or JSON.

    Raises:
        CorruptTableError: values of other types than Hudi's; *path* is named.
    """
    try:
        return _parse_metadata(_expect(dict, record, "the commit"))
    except (_UnexpectedTypeError, NameFormatError) as error:
        raise CorruptTableError(f"{path}: commit metadata: {error}", path=path) from error


class _UnexpectedTypeError(Exception):
    """A value is not of the type that Hudi writes."""


def _decode_json(data: bytes, path: str) -> dict[str, Any]:
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CorruptTableError(f"{path}: expected commit metadata in JSON: {error}", path=path) from error
    if not isinstance(record, dict):
        raise CorruptTableError(f"{path}: expected a JSON object, found {type(record).__name__}", path=path)
    return record


def _parse_metadata(record: dict[str, Any]) -> CommitMetadata:
    stats, extra_metadata, replaced = {}, {}, None
    for partition, values in _expect_mapping(record.get(_STATS), _STATS).items():
        stats[check_partition_path(partition)] = tuple(
            map(_parse_stat, _expect(list, values, partition), repeat(partition))
        )
    for key, value in _expect_mapping(record.get("extraMetadata"), "extraMetadata").items():
        if value is not None:  # Hudi's map may hold nulls; such an entry has no meaning
            extra_metadata[key] = _expect(str, value, key)
    if record.get(_REPLACED) is not None:
        replaced = {
            check_partition_path(key): _parse_texts(file_ids, key)
            for key, file_ids in _expect_mapping(record[_REPLACED], _REPLACED).items()
        }
    operation = record.get("operationType")
    return CommitMetadata(
        operation_type=None if operation is None else _expect(str, operation, "operationType"),
        partition_to_write_stats=stats,
        extra_metadata=extra_metadata,
        compacted=bool(record.get("compacted")),
        partition_to_replace_file_ids=replaced,
        extra={key: value for key, value in record.items() if key not in _METADATA_NAMES},
    )


def _parse_stat(value: object, what: str) -> WriteStat:
    record = _expect(dict, value, what)
    values: dict[str, Any] = {}
    for name, json_name, plain, parse, null in _STAT_PARSERS:  # a commit may have a hundred thousand statistics
        item = record.get(json_name, _ABSENT)
        if item.__class__ is plain:
            values[name] = item
        elif item is None:
            values[name] = null
        elif item is not _ABSENT:
            values[name] = parse(item, name)
    check_partition_path(values.get("partition_path") or "")
    unknown = record.keys() - _STAT_KEYS
    return WriteStat(**values, extra={key: item for key, item in record.items() if key in unknown} if unknown else {})


def _parse_text(value: object, what: str) -> str:
    return _expect(str, value, what)


def _parse_count(value: object, what: str) -> int:
    if isinstance(value, bool):
        raise _UnexpectedTypeError(f"expected a number for {what}, found {value}")
    if not isinstance(value, int):
        raise _UnexpectedTypeError(f"expected int for {what}, found {type(value).__name__}")
    return value


def _parse_texts(value: object, what: str) -> tuple[str, ...]:
    items = _expect(list, value, what)
    for item in items:
        _expect(str, item, what)
    return tuple(items)


def _parse_cdc_sizes(value: object, what: str) -> dict[str, int]:
    """Return the sizes of the change log files by path; Hudi 0.13 wrote one path without its size."""
    if isinstance(value, str):
        return {check_path_in_table(value): 0}
    sizes = _expect(dict, value, what)
    for path, size in sizes.items():
        _parse_count(size, check_path_in_table(path))
    return sizes


def _parse_runtime_stats(value: object, what: str) -> RuntimeStats:
    times = _expect(dict, value, what)
    return RuntimeStats(*map(_parse_count, [times.get(key) or 0 for key in _RUNTIME_NAMES.values()], _RUNTIME_NAMES))


_PARSERS: Mapping[str, Callable[[object, str], object]] = {
    "log_files": _parse_texts,
    "cdc_stats": _parse_cdc_sizes,
    "runtime_stats": _parse_runtime_stats,
}
"""The functions that parse the fields of a statistic that are neither texts nor numbers."""

_ABSENT = object()
_STAT_PARSERS = tuple(
    (
        name,
        json_name,
        None if name in _PARSERS else str if name in _TEXT_FIELDS else int,
        _PARSERS.get(name, _parse_text if name in _TEXT_FIELDS else _parse_count),
        0 if name in _NOT_NULL else None,
    )
    for name, json_name in _STAT_NAMES.items()
)
"""For each field of a statistic its names, the type that is taken as it is, what parses others, and what null means."""


def _expect_mapping(value: object, what: str) -> dict[str, Any]:
    return {} if value is None else _expect(dict, value, what)


def _expect(kind: type[_Value], value: object, what: str) -> _Value:
    if not isinstance(value, kind):
        raise _UnexpectedTypeError(f"expected {kind.__name__} for {what}, found {type(value).__name__}")
    return value
