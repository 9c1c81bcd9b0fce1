"""What a commit says it wrote: one statistic per file, and what the next writer has to know, such as the schema.

JSON below table version 8, an Avro file from there on.  Fields that are not Hudi 1.2.0's are kept in ``extra`` when
they are read; they have no place in the Avro schema, so encoding leaves them out, as Hudi does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from hudiformat.errors import CorruptTableError
from hudiformat.timeline.avro_file import AVRO_MAGIC, decode_avro_file, encode_avro_file
from hudiformat.timeline.commit_schema import (
    COMMIT_SCHEMA,
    COMMIT_SCHEMA_TEXT,
    REPLACE_COMMIT_SCHEMA,
    REPLACE_COMMIT_SCHEMA_TEXT,
)

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
    """What one task wrote to one file.  Sizes in bytes, times in milliseconds.

    ``num_writes`` counts the records that the file holds after the write (base file) or that were appended (log
    file).  The four ``log_version`` to ``log_files`` are those of a log file, null for a base file.

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


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """The metadata of a commit, delta commit or replace commit.

    ``partition_to_replace_file_ids`` is null for all but replace commits; there it names the file groups that the
    commit takes out of the table.

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
        """The Avro schema of the table's rows, without meta fields; None when the commit names none."""
        return self.extra_metadata.get(SCHEMA_KEY) or None

    @property
    def write_stats(self) -> tuple[WriteStat, ...]:
        """The statistics of all partitions."""
        return tuple(stat for stats in self.partition_to_write_stats.values() for stat in stats)


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_STAT_NAMES = {attribute.name: _camel_case(attribute.name) for attribute in fields(WriteStat)[:-1]}
_RUNTIME_NAMES = {attribute.name: _camel_case(attribute.name) for attribute in fields(RuntimeStats)}
_NOT_NULL = {attribute.name for attribute in fields(WriteStat) if attribute.default == 0}
_TEXTS = {"file_id", "path", "prev_commit", "partition_path", "base_file", "prev_base_file", "temp_path"}
_METADATA_NAMES = {
    "partitionToWriteStats",
    "compacted",
    "extraMetadata",
    "version",
    "operationType",
    "partitionToReplaceFileIds",
}


def encode_commit_metadata(metadata: CommitMetadata) -> bytes:
    """The content of a completed or inflight commit's file for tables of version 8 and later.

    Raises:
        EncodeError: a number that does not fit its field.

    Source: CommitMetadataSerDeV2, MetadataConversionUtils.convertCommitMetadataToAvro, Hudi 1.2.0.
    """
    record: dict[str, object] = {
        "partitionToWriteStats": {
            partition: [_encode_stat(stat) for stat in stats]
            for partition, stats in metadata.partition_to_write_stats.items()
        },
        "compacted": metadata.compacted,
        "extraMetadata": dict(metadata.extra_metadata),
        "version": None,
        "operationType": metadata.operation_type,
    }
    if metadata.partition_to_replace_file_ids is None:
        return encode_avro_file(COMMIT_SCHEMA_TEXT, COMMIT_SCHEMA, record)
    record["partitionToReplaceFileIds"] = {
        partition: list(file_ids) for partition, file_ids in metadata.partition_to_replace_file_ids.items()
    }
    return encode_avro_file(REPLACE_COMMIT_SCHEMA_TEXT, REPLACE_COMMIT_SCHEMA, record)


def _encode_stat(stat: WriteStat) -> dict[str, object]:
    record = {json_name: getattr(stat, name) for name, json_name in _STAT_NAMES.items()}
    if stat.log_files is not None:
        record["logFiles"] = list(stat.log_files)  # a tuple is a typed value to fastavro
    if stat.runtime_stats is not None:
        record["runtimeStats"] = {key: getattr(stat.runtime_stats, name) for name, key in _RUNTIME_NAMES.items()}
    return record


def decode_commit_metadata(data: bytes, *, path: str) -> CommitMetadata:
    """The metadata in a commit's file, Avro or JSON; an empty file holds none, as in Hudi.

    Raises:
        CorruptTableError: neither form, or values of other types than Hudi's; *path* is named.

    Source: CommitMetadataSerDeV1 and V2.deserialize, Hudi 1.2.0.
    """
    if not data:
        return CommitMetadata()
    record = decode_avro_file(data, path=path) if data.startswith(AVRO_MAGIC) else _decode_json(data, path)
    try:
        return _metadata(record)
    except _UnexpectedTypeError as error:
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


def _metadata(record: dict[str, Any]) -> CommitMetadata:
    replaced = record.get("partitionToReplaceFileIds")
    operation = record.get("operationType")
    return CommitMetadata(
        operation_type=None if operation is None else _expect(str, operation, "operationType"),
        partition_to_write_stats={
            partition: _list_of(_stat, stats, partition)
            for partition, stats in _mapping(record.get("partitionToWriteStats"), "partitionToWriteStats").items()
        },
        # Hudi's map may hold nulls; such an entry says nothing.
        extra_metadata={
            key: _expect(str, value, key)
            for key, value in _mapping(record.get("extraMetadata"), "extraMetadata").items()
            if value is not None
        },
        compacted=bool(record.get("compacted")),
        partition_to_replace_file_ids=None
        if replaced is None
        else {
            partition: _list_of(_text, file_ids, partition)
            for partition, file_ids in _mapping(replaced, "partitionToReplaceFileIds").items()
        },
        extra={key: value for key, value in record.items() if key not in _METADATA_NAMES},
    )


def _stat(value: object, what: str) -> WriteStat:
    record = _mapping(value, what)
    known = set(_STAT_NAMES.values())
    values = {
        name: _stat_value(name, record[json_name]) for name, json_name in _STAT_NAMES.items() if json_name in record
    }
    return WriteStat(**values, extra={key: item for key, item in record.items() if key not in known})


def _stat_value(name: str, value: object) -> Any:
    if value is None:
        return 0 if name in _NOT_NULL else None
    if name in _TEXTS:
        return _text(value, name)
    if name == "log_files":
        return _list_of(_text, value, name)
    if name == "cdc_stats":
        # Hudi 0.13 had the path of one file here; its length was not written down.
        return (
            {value: 0}
            if isinstance(value, str)
            else {key: _count(size, key) for key, size in _mapping(value, name).items()}
        )
    if name == "runtime_stats":
        times = _mapping(value, name)
        return RuntimeStats(
            **{key: _count(times.get(json_name) or 0, key) for key, json_name in _RUNTIME_NAMES.items()}
        )
    return _count(value, name)


def _text(value: object, what: str) -> str:
    return _expect(str, value, what)


def _count(value: object, what: str) -> int:
    if isinstance(value, bool):
        raise _UnexpectedTypeError(f"expected a number for {what}, found {value}")
    return _expect(int, value, what)


def _mapping(value: object, what: str) -> dict[str, Any]:
    return {} if value is None else _expect(dict, value, what)


def _list_of(convert: Callable[[object, str], _Value], value: object, what: str) -> tuple[_Value, ...]:
    return tuple(convert(item, what) for item in _expect(list, value, what))


def _expect(kind: type[_Value], value: object, what: str) -> _Value:
    if not isinstance(value, kind):
        raise _UnexpectedTypeError(f"expected {kind.__name__} for {what}, found {type(value).__name__}")
    return value
