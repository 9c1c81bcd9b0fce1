"""Read and write the archived timeline of layout 2: Parquet files, and manifests that list the valid files.

A file contains instants by time; its name has their range and its level: ``<first>_<last>_<level>.parquet``.  Manifest
N lists all valid files.  The file ``_version_`` contains the newest N; if it is missing or not a number, the highest N
of the existing manifests is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.codec.avro.container import decode_avro_file
from hudiformat.codec.log.content.parquet_data import encode_parquet, read_row_count, read_small_file
from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.naming.checks import check_path_in_table
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import side_by_side
from hudiformat.timeline.archive.archived import ArchivedInstant, InstantFiles, parse_archived_instant
from hudiformat.timeline.cleans import CleanerPlan
from hudiformat.timeline.contents import Metadata, Plan, decode_content, encode_content
from hudiformat.timeline.plans import RequestedReplaceMetadata, decode_compaction_plan
from hudiformat.timeline.records import decode_record_file, from_record, schema_text
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, State, instant_path

VERSION_FILE = "_version_"
_MANIFEST = re.compile(r"manifest_([0-9]+)")
MANIFESTS_KEPT = 3  # hoodie.timeline.manifest.retained.versions
_TIMES = ("instantTime", "completionTime", "action")
_CONTENTS = ("metadata", "plan")
_RECORD = "HoodieLSMTimelineInstant"
_RECORD_VERSION = 1
_LONGEST_NUMBER = 18
_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in _TIMES),
        pa.field("metadata", pa.binary()),
        pa.field("plan", pa.binary()),
        pa.field("version", pa.int32(), nullable=False),
    ]
)


def read_history(storage: Storage, config: TableConfig, *, contents: bool = True) -> list[ArchivedInstant]:
    """Return the archived instants of a table of timeline layout 2, in no particular order.

    Raises:
        CorruptTableError: the manifest or a file is damaged, or a file is missing.

    Source: ArchivedTimelineLoaderV2, LSMTimeline, Hudi 1.2.0.
    """
    return list(chain.from_iterable(history_files(storage, config, contents=contents)))


def history_files(
    storage: Storage, config: TableConfig, *, contents: bool = True, around: str | None = None
) -> Iterator[list[ArchivedInstant]]:
    """Yield the archived instants of each file, as :func:`read_history`.

    With *around*, only files are read whose range of times contains this instant.

    Raises:
        CorruptTableError: as for :func:`read_history`.
    """
    _, files = latest_manifest(storage, config.history_folder)
    for name in files:
        first, last = file_range(name)
        if around is None or first <= around <= last:
            yield read_history_file(storage, f"{config.history_folder}/{name}", contents=contents)


def file_range(name: str) -> tuple[str, str]:
    """Return the times of the first and the last instant of a file, which are in its name."""
    first, _, rest = name.partition("_")
    return first, rest.partition("_")[0]


def read_history_file(storage: Storage, path: str, *, contents: bool = True) -> list[ArchivedInstant]:
    """Return the archived instants of one file of layout 2.

    Raises:
        CorruptTableError: the file is damaged, or missing.
    """
    rows = read_history_rows(storage, path, [*_TIMES, *(_CONTENTS if contents else ())]).to_pylist()
    return [_parse_row(row, path=f"{storage.root}/{path}") for row in rows]


def write_history(storage: Storage, config: TableConfig, instants: Sequence[InstantFiles]) -> None:
    """Add a file of *instants*, which are sorted by time, to the archived timeline of layout 2.

    The file is valid once a manifest lists it.  If a file of the same name is valid already, it was written before a
    crash and is kept.

    Source: LSMTimelineWriter.write and updateManifest, MetadataConversionUtils.createLSMTimelineInstant, Hudi 1.2.0.
    """
    _add_file(storage, config, list(side_by_side(storage, partial(_make_row, storage, config), instants)))


def add_history(storage: Storage, config: TableConfig, archived: Sequence[ArchivedInstant]) -> None:
    """Add a file of instants of another archive, which are sorted by time, to the archived timeline of layout 2."""
    rows = [
        {
            "instantTime": one.instant.time,
            "completionTime": one.instant.completion_time or one.instant.time,
            "action": one.instant.action.value,
            "metadata": None if one.metadata is None else encode_content(one.metadata, config),
            "plan": None if one.plan is None else encode_content(one.plan, config),
            "version": _RECORD_VERSION,
        }
        for one in archived
    ]
    _add_file(storage, config, rows)


def _add_file(storage: Storage, config: TableConfig, rows: Sequence[dict[str, Any]]) -> None:
    folder = config.history_folder
    version, files = latest_manifest(storage, folder)
    name = f"{rows[0]['instantTime']}_{rows[-1]['instantTime']}_0.parquet"
    if name in files:
        return
    data = encode_parquet(pa.Table.from_pylist(list(rows), schema=_SCHEMA), schema_text(_RECORD)).to_pybytes()
    storage.create(f"{folder}/{name}", data, overwrite=True)  # a file that is not valid is from a writer that crashed
    files[name] = len(data)
    write_manifest(storage, folder, version + 1, files)
    for old in manifest_versions(storage, folder):
        if old <= version + 1 - MANIFESTS_KEPT:
            storage.delete(f"{folder}/manifest_{old}")


def write_manifest(storage: Storage, folder: str, version: int, files: Mapping[str, int]) -> None:
    """Write manifest number *version*, which makes *files*, with their sizes in bytes, the valid files."""
    manifest = json.dumps({"files": [{"fileName": file, "fileLen": size} for file, size in files.items()]}, indent=2)
    storage.create(f"{folder}/manifest_{version}", manifest.encode(), overwrite=True)
    storage.create(f"{folder}/{VERSION_FILE}", str(version).encode(), overwrite=True)


def manifest_versions(storage: Storage, folder: str) -> list[int]:
    """Return the numbers of the existing manifests, the oldest first."""
    matches = (_MANIFEST.fullmatch(info.name) for info in storage.list(folder))
    return sorted(int(match[1]) for match in matches if match)


def latest_manifest(storage: Storage, folder: str, version: int | None = None) -> tuple[int, dict[str, int]]:
    """Return the number of the newest manifest, 0 for none, and the sizes in bytes of the files that it lists.

    With *version*, the manifest of that number.

    Raises:
        CorruptTableError: the manifest is damaged, or missing.
    """
    if version is None:
        version = _latest_version(storage, folder)
    if version == 0:
        return 0, {}
    path = f"{folder}/manifest_{version}"
    try:
        manifest = json.loads(storage.read(path))
        return version, {check_path_in_table(str(one["fileName"])): int(one["fileLen"]) for one in manifest["files"]}
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError, StorageError) as error:
        _raise_if_there(storage, path, error)
        named = f"{storage.root}/{path}"
        raise CorruptTableError(f"{named}: expected the archived timeline's manifest: {error}", path=named) from error


def _latest_version(storage: Storage, folder: str) -> int:
    try:
        text = storage.read(f"{folder}/{VERSION_FILE}").decode("ascii", "replace").strip()
        versions = [int(text)] if text.isdigit() and len(text) <= _LONGEST_NUMBER else []
    except StorageError:  # a writer is replacing it, or there is no archive
        versions = []
    return max(versions or manifest_versions(storage, folder), default=0)


def read_history_rows(storage: Storage, path: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the rows of one file of layout 2, with *columns* or all columns of such files.

    Raises:
        CorruptTableError: the file is damaged, or missing.
    """
    try:
        data = storage.read(path)
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            read_row_count(file.metadata, len(data))
            names = [name for name in file.schema_arrow.names if columns is None or name in columns]
            rows: pa.Table = read_small_file(file, names, len(data))
            return rows if columns is not None else rows.select(_SCHEMA.names).cast(_SCHEMA)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        _raise_if_there(storage, path, error)
        named = f"{storage.root}/{path}"
        raise CorruptTableError(f"{named}: cannot read the archived timeline: {error}", path=named) from error


def _raise_if_there(storage: Storage, path: str, error: Exception) -> None:
    """Raise the *error* of a storage that could not read a file which is there: that file may be sound."""
    if isinstance(error, StorageError) and storage.exists(path):
        raise error


def _parse_row(row: dict[str, Any], *, path: str) -> ArchivedInstant:
    instant = parse_archived_instant(
        row.get("instantTime"), row.get("action"), State.COMPLETED, row.get("completionTime"), path=path
    )
    metadata, plan = row.get("metadata"), row.get("plan")
    return ArchivedInstant(
        instant,
        None if metadata is None else _decode_metadata(metadata, instant, path=path),
        None if plan is None else _decode_plan(plan, instant.action, path=path),
    )


def _decode_metadata(data: bytes, instant: Instant, *, path: str) -> Metadata | None:
    content = decode_content(data, instant, path=path)
    return content if isinstance(content, Metadata) else None


def _decode_plan(data: bytes, action: Action, *, path: str) -> Plan | None:
    if action is Action.CLEAN:
        return decode_record_file(CleanerPlan, data, path=path)
    if action is not Action.REPLACE_COMMIT:
        return decode_compaction_plan(data, path=path)
    record = decode_avro_file(data, path=path)
    # Hudi archives an inflight file that is not empty instead of the plan.
    is_plan = "clusteringPlan" in record
    return from_record(RequestedReplaceMetadata, record, path=path) if is_plan else None


def _make_row(storage: Storage, config: TableConfig, files: InstantFiles) -> dict[str, Any]:
    completed = files.completed
    return {
        "instantTime": completed.time,
        "completionTime": completed.completion_time or completed.time,
        "action": completed.action.value,
        "metadata": storage.read(instant_path(config, completed)) or None,
        "plan": _plan_bytes(storage, config, files),
        "version": _RECORD_VERSION,
    }


_PLAN_STATES = {
    Action.CLEAN: (State.REQUESTED,),
    Action.COMPACTION: (State.REQUESTED,),
    Action.LOG_COMPACTION: (State.REQUESTED,),
    Action.REPLACE_COMMIT: (State.INFLIGHT, State.REQUESTED),
    Action.CLUSTERING: (State.INFLIGHT, State.REQUESTED),
}


def _plan_bytes(storage: Storage, config: TableConfig, files: InstantFiles) -> bytes | None:
    """Return the first file that is not empty among those that Hudi archives as the plan."""
    for instant in sorted(files.pending, key=lambda instant: -instant.state):
        if instant.state in _PLAN_STATES.get(instant.action, ()):
            data = storage.read(instant_path(config, instant))
            if data:
                return data
    return None
