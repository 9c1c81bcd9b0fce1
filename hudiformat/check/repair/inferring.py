"""Infer the properties of a table from its files.

The sources of properties are, in order of precedence: the caller; the complete lines of a damaged properties file; the
properties of the metadata table, which repeat some of them; file names, commits and the rows of a base file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import CorruptTableError, HudiFormatError, StorageError
from hudiformat.file_group.base_file.read import open_base_file
from hudiformat.file_group.partitions import list_partitions
from hudiformat.metadata_table.definitions import DEFINITIONS_FILE, DEFINITIONS_KEY
from hudiformat.naming.file_names import BaseFileName, LogFileName, join_path, parse_data_file
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.commit_metadata import CommitMetadata, decode_commit_metadata
from hudiformat.timeline.config_files import META_FOLDER, METADATA_FOLDER, PROPERTIES_FILE, parse_table_config
from hudiformat.timeline.table_config import parse_properties
from hudiformat.timeline.timeline import Action, Instant, list_instants

_KEY, _PATH = "_hoodie_record_key", "_hoodie_partition_path"
_NAME, _VERSION, _TYPE = "hoodie.table.name", "hoodie.table.version", "hoodie.table.type"
RECORD_KEYS, PARTITIONS, ORDERING = (
    "hoodie.table.recordkey.fields",
    "hoodie.table.partition.fields",
    "hoodie.table.ordering.fields",
)
HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
_SHARED = (_VERSION, "hoodie.timeline.layout.version", "hoodie.table.timeline.timezone", "hoodie.database.name")
"""The properties whose values in a metadata table are those of its table."""
_LAYOUT_2 = f"{META_FOLDER}/timeline"
_SAMPLE = 1000  # rows


def whole_lines(storage: Storage, path: str) -> dict[str, str]:
    """Return the properties in a half-written file without its last line, which may be cut; none without a file."""
    try:
        text = storage.read(path)
    except StorageError:
        return {}
    lines = text.decode("iso-8859-1").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith(("\n", "\r")) and "\0" not in line]
    try:
        return parse_properties("".join(whole))
    except ValueError:
        return {}


def of_metadata_table(storage: Storage) -> dict[str, str]:
    """Return the table's properties that its metadata table shows: repeated ones, its partitions and indexes."""
    own = FolderStorage(storage, METADATA_FOLDER)
    try:
        config = parse_table_config(own.read(PROPERTIES_FILE), path=f"{own.root}/{PROPERTIES_FILE}")
    except (StorageError, CorruptTableError):
        return {}
    found = {key: config.properties[key] for key in _SHARED if key in config.properties}
    found[_NAME] = config.name.removesuffix("_metadata")
    folders = [entry.name for entry in own.list("") if entry.is_dir and entry.name != META_FOLDER]
    found["hoodie.table.metadata.partitions"] = ",".join(sorted(folders))
    if storage.exists(DEFINITIONS_FILE):
        found[DEFINITIONS_KEY] = DEFINITIONS_FILE
    return found


def of_files(storage: Storage) -> dict[str, str]:
    """Return the properties that follow from the timeline, file names and rows.

    The table version does not: tables of versions 0 to 6 look alike, and so do those of versions 8 and 9.
    """
    seen = _Seen.of(storage)
    found = {"hoodie.timeline.layout.version": str(seen.layout)}
    if seen.instants or seen.has_logs:
        is_mor = seen.has_logs or any(one.action is Action.DELTA_COMMIT for one in seen.instants)
        found[_TYPE] = "MERGE_ON_READ" if is_mor else "COPY_ON_WRITE"
    if seen.has_change_logs:
        found["hoodie.table.cdc.enabled"] = "true"
    if seen.schema is not None:
        name = TableSchema.of_commit(seen.schema).record_name
        match = re.fullmatch(r"hoodie\.(\w+)\.(\w+)_record", name)
        if match and match[1] == match[2]:
            found[_NAME] = match[1]
    return found | (_of_rows(seen.rows) if seen.rows is not None else {})


@dataclass(frozen=True, slots=True)
class _Seen:
    """The evidence found in a table; ``rows`` are some rows of a base file, or None if there is none."""

    layout: int
    instants: tuple[Instant, ...]
    has_logs: bool
    has_change_logs: bool
    schema: str | None
    rows: pa.Table | None

    @classmethod
    def of(cls, storage: Storage) -> _Seen:
        layout = 2 if storage.list(_LAYOUT_2) else 1
        folder = _LAYOUT_2 if layout == 2 else META_FOLDER  # noqa: PLR2004 - the layout
        instants = tuple(list_instants(storage, folder, layout=layout))
        names = [(path, name) for path, entry in _files(storage) if (name := parse_data_file(entry)) is not None]
        logs = [name for _, name in names if isinstance(name, LogFileName)]
        bases = [join_path(path, str(name)) for path, name in names if isinstance(name, BaseFileName)]
        return cls(
            layout,
            instants,
            has_logs=any(not log.is_cdc for log in logs),
            has_change_logs=any(log.is_cdc for log in logs),
            schema=_newest_schema(storage, folder, instants),
            rows=next(filter(None, (_rows(storage, path) for path in reversed(bases))), None),
        )


def _files(storage: Storage) -> Iterator[tuple[str, str]]:
    for path, entries in list_partitions(storage, incomplete=True):
        yield from ((path, entry.name) for entry in entries)


def _newest_schema(storage: Storage, folder: str, instants: tuple[Instant, ...]) -> str | None:
    for done in reversed(instants):
        if done.is_completed and done.action.is_write:
            path = f"{folder}/{done.file_name}"
            try:
                metadata: CommitMetadata = decode_commit_metadata(storage.read(path), path=path)
            except HudiFormatError:
                continue
            if metadata.schema is not None:
                return metadata.schema
    return None


def _rows(storage: Storage, path: str) -> pa.Table | None:
    """Return some rows of a base file; None if it cannot be read or has no rows."""
    try:
        with open_base_file(storage, path) as file:
            batch = next(file.batches(file.schema.names, batch_rows=_SAMPLE), None)
    except HudiFormatError:
        return None
    return None if batch is None or not batch.num_rows else pa.Table.from_batches([batch])


def _of_rows(rows: pa.Table) -> dict[str, str]:
    """Return the columns of record keys and partition paths, if only one choice fits all rows."""
    if _KEY not in rows.column_names or rows[_KEY].null_count:
        return {"hoodie.populate.meta.fields": "false"}
    columns = [name for name in rows.column_names if not name.startswith("_hoodie_")]
    own = {name: texts for name in columns if (texts := _texts(rows[name])) is not None}
    keys = _key_columns(rows[_KEY].to_pylist(), own)
    return {**({RECORD_KEYS: keys} if keys else {}), **_partition_columns(rows[_PATH].to_pylist(), own)}


def _texts(column: pa.ChunkedArray) -> list[str | None] | None:
    """Return the values in the form in which keys contain them; None if the values of the column make no keys."""
    if pa.types.is_nested(column.type) or pa.types.is_floating(column.type) or pa.types.is_binary(column.type):
        return None
    found: list[str | None] = pc.cast(column, pa.string()).to_pylist()
    return found


def _key_columns(keys: list[str], own: Mapping[str, list[str | None]]) -> str | None:
    named = re.findall(r"(?:^|,)([A-Za-z_]\w*):", keys[0])
    if named and all(name in own for name in named):
        made = [",".join(f"{name}:{own[name][row]}" for name in named) for row in range(len(keys))]
        if made == keys:
            return ",".join(named)
    fitting = [name for name, texts in own.items() if texts == keys]
    return fitting[0] if len(fitting) == 1 else None


def _partition_columns(paths: list[str], own: Mapping[str, list[str | None]]) -> dict[str, str]:
    if not any(paths):
        return {PARTITIONS: ""}
    parts = [path.split("/") for path in paths]
    depth = len(parts[0])
    if any(len(part) != depth for part in parts):
        return {}
    found: dict[str, str] = {}
    if all("=" in one for part in parts for one in part):
        found = {HIVE_STYLE: "true", PARTITIONS: ",".join(one.partition("=")[0] for one in parts[0])}
        missing = [name for name in found[PARTITIONS].split(",") if name not in own]
        return {**found, **({"hoodie.datasource.write.drop.partition.columns": "true"} if missing else {})}
    columns = []
    for level in range(depth):
        plain = [part[level] for part in parts]
        escaped = [unquote(one) for one in plain]
        fitting = [name for name, texts in own.items() if texts in (plain, escaped)]
        if len(fitting) != 1:
            return {}
        if plain != escaped:
            found["hoodie.datasource.write.partitionpath.urlencode"] = "true"
        columns.append(fitting[0])
    return {**found, HIVE_STYLE: "false", PARTITIONS: ",".join(columns)}
