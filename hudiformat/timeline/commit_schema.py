"""The Avro schema of commit metadata, in exactly the text that Hudi puts into its files.

Readers take the schema from the file, so the text need not be the same; it is, so that a file of ours differs from
Hudi's in nothing but its values.  ``avro.java.string`` is Java's note to itself about the class of its strings.

Source: HoodieCommitMetadata.avsc, HoodieReplaceCommitMetadata.avsc, as Hudi 1.0.2 to 1.2.0 write them.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import fastavro

Type: TypeAlias = "str | list[Type] | dict[str, Any]"

_STRING: Type = {"type": "string", "avro.java.string": "String"}


def _optional(name: str, kind: Type) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


def _map_of(values: Type, **more: object) -> dict[str, Any]:
    return {"type": "map", "values": values, "avro.java.string": "String", **more}


def _strings(*names: str) -> list[dict[str, Any]]:
    return [_optional(name, _STRING) for name in names]


def _longs(*names: str) -> list[dict[str, Any]]:
    return [_optional(name, "long") for name in names]


_RUNTIME_STATS: Type = {
    "type": "record",
    "name": "HoodieRuntimeStats",
    "fields": _longs("totalScanTime", "totalCreateTime", "totalUpsertTime"),
}

_WRITE_STAT: Type = {
    "type": "record",
    "name": "HoodieWriteStat",
    "fields": [
        *_strings("fileId", "path", "prevCommit"),
        *_longs("numWrites", "numDeletes", "numUpdateWrites", "totalWriteBytes", "totalWriteErrors"),
        *_strings("partitionPath"),
        *_longs("totalLogRecords", "totalLogFiles", "totalUpdatedRecordsCompacted", "numInserts", "totalLogBlocks"),
        *_longs("totalCorruptLogBlock", "totalRollbackBlocks", "fileSizeInBytes"),
        _optional("logVersion", "int"),
        *_longs("logOffset"),
        *_strings("baseFile"),
        _optional("logFiles", {"type": "array", "items": _STRING, "default": None}),
        _optional("cdcStats", _map_of("long", default=None)),
        *_strings("prevBaseFile"),
        *_longs("minEventTime", "maxEventTime"),
        _optional("runtimeStats", _RUNTIME_STATS),
        *_longs("totalLogFilesCompacted", "totalLogReadTimeMs", "totalLogSizeCompacted"),
        *_strings("tempPath"),
        *_longs("numUpdates"),
    ],
}


def _schema_text(name: str, extra_metadata: Type, *more: dict[str, Any]) -> str:
    fields = [
        _optional("partitionToWriteStats", _map_of({"type": "array", "items": _WRITE_STAT})),
        _optional("compacted", "boolean"),
        _optional("extraMetadata", extra_metadata),
        {"name": "version", "type": ["int", "null"], "default": 1},
        *_strings("operationType"),
        *more,
    ]
    schema = {"type": "record", "name": name, "namespace": "org.apache.hudi.avro.model", "fields": fields}
    return json.dumps(schema, separators=(",", ":"))


COMMIT_SCHEMA_TEXT = _schema_text("HoodieCommitMetadata", _map_of(_STRING, default=None))
REPLACE_COMMIT_SCHEMA_TEXT = _schema_text(
    "HoodieReplaceCommitMetadata",
    _map_of(_STRING),
    _optional("partitionToReplaceFileIds", _map_of({"type": "array", "items": _STRING})),
)

COMMIT_SCHEMA = fastavro.parse_schema(json.loads(COMMIT_SCHEMA_TEXT))
REPLACE_COMMIT_SCHEMA = fastavro.parse_schema(json.loads(REPLACE_COMMIT_SCHEMA_TEXT))
