"""The internal schemas of a table: found in the newest commit and in ``.hoodie/.schema``, and kept there.

Source: FileBasedInternalSchemaStorageManager, TableSchemaResolver.getTableInternalSchemaFromCommitMetadata, Hudi 1.2.0.
"""

from __future__ import annotations

from dataclasses import replace

from hudiformat.errors import CorruptTableError
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
    """The internal schemas of a table as of *instant* or now; None for a table that has none.

    Raises:
        CorruptTableError: they cannot be read.
    """
    metadata = state.commit_with_schema(instant)
    text = None if metadata is None else metadata.extra_metadata.get(LATEST_SCHEMA)
    if not text:
        return None
    query = InternalSchema.parse(text)
    return SchemaHistory(query, _versions(state, query))


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
    """What a commit at *instant* has to say of the table's internal schema; nothing for a table that has none.

    *schema* is what the table has from then on, *changed* its columns by ids where the commit changes them by itself.
    A new version is kept in a file before the commit; until the instant is completed, readers pass that file over.

    Raises:
        CorruptTableError, StorageError: the versions so far cannot be read, or the new one cannot be kept.
    """
    history = schema_history(state)
    if changed is not None:
        new = replace(changed, version=int(instant))
        versions = _so_far(state) if history is None else history.versions
    elif history is not None:
        new = history.query.followed_by(schema.avro_with_meta, int(instant))
        versions = history.versions
    else:
        return {}
    if history is None or new is not history.query:
        versions = (new, *versions)
    time = f"{instant}_{state.next_instant}" if state.config.version >= VERSION_WITH_COMPLETION_TIMES else instant
    path = f"{SCHEMA_FOLDER}/{time}.{SCHEMA_ACTION}"
    state.storage.create(path, format_versions(versions).encode(), overwrite=True)
    return {LATEST_SCHEMA: new.text}


def _so_far(state: TableState) -> tuple[InternalSchema, ...]:
    """The one version of a table that had no internal schema: that of all its files."""
    return (InternalSchema.first(state.schema.avro_with_meta),)
