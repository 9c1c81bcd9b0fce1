"""Read and write the internal schemas of a table, which are in the newest commit and in ``.hoodie/.schema``.

Source: FileBasedInternalSchemaStorageManager, TableSchemaResolver.getTableInternalSchemaFromCommitMetadata, Hudi 1.2.0.
"""

from __future__ import annotations

from dataclasses import replace

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.errors import CorruptTableError
from hudiformat.file_group.finer_times import FinerTimes, has_finer_times
from hudiformat.schema.internal_schema import (
    LATEST_SCHEMA,
    SCHEMA_ACTION,
    SCHEMA_FOLDER,
    InternalSchema,
    SchemaHistory,
    format_versions,
    parse_versions,
)
from hudiformat.schema.table_schema import TableSchema
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES


def schema_history(state: TableState, instant: str | None = None) -> SchemaHistory | None:
    """Read the internal schemas of a table as of *instant* or now; return None if the table has none now.

    Raises:
        CorruptTableError: a schema cannot be read.
    """
    query = _query_schema(state, instant)
    if query is not None:
        return SchemaHistory(query, _versions(state, query))
    newest = None if instant is None else _query_schema(state, None)
    if newest is None or instant is None or not instant.isdecimal():
        return None
    # The table has got ids since: a file of before may have been written after that, by a compaction.
    versions = _versions(state, newest)
    by_then = [one for one in versions if one.version <= int(instant)]
    return SchemaHistory(max(by_then, key=lambda one: one.version), versions) if by_then else None


def finer_times(state: TableState, schema: TableSchema, instant: str) -> FinerTimes | None:
    """Return which commits up to *instant* wrote finer times than *schema*, that of the instant; None if none did.

    Commits are read only if a column of *schema* is finer now.
    """
    query = schema.arrow_with_meta
    if not has_finer_times(query, state.schema.arrow_with_meta):
        return None
    by_then = [done for done in state.timeline.completed_writes if done.time <= instant]
    schemas = {done.time: avro_to_arrow(avro) for done in by_then if (avro := state.metadata(done).schema)}
    return FinerTimes({time: written for time, written in schemas.items() if has_finer_times(query, written)})


def _query_schema(state: TableState, instant: str | None) -> InternalSchema | None:
    metadata = state.commit_with_schema(instant)
    text = None if metadata is None else metadata.extra_metadata.get(LATEST_SCHEMA)
    return InternalSchema.parse(text) if text else None


def _versions(state: TableState, query: InternalSchema) -> tuple[InternalSchema, ...]:
    done = {one.time for one in state.timeline.completed_writes}
    first = state.timeline.first_active or ""
    names = [one.name for one in state.storage.list(SCHEMA_FOLDER) if one.name.endswith(f".{SCHEMA_ACTION}")]
    known = [name for name in names if _instant(name) in done or _instant(name) < first]
    if not known:
        return (query,)
    path = f"{SCHEMA_FOLDER}/{max(known, key=_instant)}"
    try:
        return parse_versions(state.storage.read(path).decode())
    except (UnicodeDecodeError, CorruptTableError) as error:
        raise CorruptTableError(f"{state.storage.root}/{path}: {error}", path=path) from error


def _instant(name: str) -> str:
    return name.partition(".")[0].partition("_")[0]


def internal_schema_of(
    state: TableState, schema: TableSchema, instant: str, *, changed: InternalSchema | None = None
) -> dict[str, str]:
    """Return the extra metadata about the internal schema for a commit at *instant*; empty if the table has none.

    *schema* is the table's schema after the commit.  *changed* is its internal schema if the commit itself changes
    columns.  A new version is stored in a file before the commit; readers ignore the file until the instant is
    completed.

    Raises:
        CorruptTableError, StorageError: the earlier versions cannot be read, or the new one cannot be stored.
    """
    history = schema_history(state)
    if changed is not None:
        new = replace(changed, version=int(instant))
        versions = _initial_versions(state) if history is None else history.versions
    elif history is not None:
        new = history.query.evolve(schema.avro_with_meta, int(instant))
        versions = history.versions
    else:
        return {}
    if history is None or new is not history.query:
        versions = (new, *versions)
    time = f"{instant}_{state.next_instant}" if state.config.version >= VERSION_WITH_COMPLETION_TIMES else instant
    path = f"{SCHEMA_FOLDER}/{time}.{SCHEMA_ACTION}"
    state.storage.create(path, format_versions(versions).encode(), overwrite=True)
    return {LATEST_SCHEMA: new.text}


def _initial_versions(state: TableState) -> tuple[InternalSchema, ...]:
    """Return the versions of a table that had no internal schema: the one that describes all of its files."""
    return (InternalSchema.first(state.schema.avro_with_meta),)
