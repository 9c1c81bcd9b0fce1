"""Check, before anything is changed, that the metadata table can be kept up to date; drop it if the options say so.

A partition that hudiformat cannot keep up to date would show readers an old state, so a write is refused unless the
options drop that partition.  A metadata table in an unknown state is dropped as a whole: Hudi's readers list files from
it, so the files of the write would be invisible.

Rules: spec/metadata-table.md.  Source: HoodieTable.deleteMetadataTableIfNecessary,
HoodieTableMetadataUtil.deleteMetadataTable, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hudiformat.errors import (
    CorruptTableError,
    DecodeError,
    HudiFormatError,
    NotATableError,
    SchemaError,
    StorageError,
    UnsupportedFeatureError,
    warn,
)
from hudiformat.file_group.slices import newest_files
from hudiformat.metadata_table.beginning import refuse_lost_beginning
from hudiformat.metadata_table.column_stats import COLUMN_STATS, PARTITION_STATS
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX
from hudiformat.metadata_table.listing import Listing
from hudiformat.naming.file_names import join_path
from hudiformat.table.state import TableState
from hudiformat.timeline.timeline import Action
from hudiformat.write.metadata.dropping import INFLIGHT_KEY, drop_partitions
from hudiformat.write.metadata.indexes import DROP_KEY, is_of_records, unsupported_partitions
from hudiformat.write.metadata.metadata_table import MetadataTable

_BY_OTHERS = "built by a writer that enables it: Hudi's by default, hudiformat's with hoodie.metadata.enable=true"


def prepare_metadata_table(state: TableState, *, refuses: bool = True) -> TableState:
    """Make sure that the metadata table can be kept up to date, or drop it; return the state of the table after that.

    It must be called under the table's lock, before the first change.  A warning reports what is dropped, unless the
    options disable the whole metadata table.  Without *refuses*, the caller is not going to record anything in it.

    Raises:
        UnsupportedFeatureError: it has a partition that cannot be kept up to date, and the options do not drop it.
    """
    config, root = state.config, state.storage.root
    if not config.metadata_partitions:
        return state
    if state.options.metadata_enable is False:
        return drop_partitions(state, config.metadata_partitions)
    reason = _reason_to_drop(state)
    if reason is not None:
        again = "built again after the write" if state.options.metadata_enable else _BY_OTHERS
        _warn(f"{root}: the metadata table {reason}, and is dropped; it is {again}")
        state.context.parsed.dropped_indexes = config.metadata_partitions
        return drop_partitions(state, config.metadata_partitions)
    unwanted = _partitions_to_drop(state)
    if refuses:
        _refuse_others(state, unwanted)
    if not unwanted:
        return state
    refuse_pending_services(state, unwanted)
    _warn(f"{root}: {', '.join(unwanted)} of the metadata table are dropped, as {DROP_KEY} says")
    return drop_partitions(state, unwanted)


def refuse_pending_services(state: TableState, unwanted: Collection[str]) -> None:
    """Refuse to drop some partitions of the metadata table while it is compacted: all of them can be dropped, or none.

    Raises:
        UnsupportedFeatureError: a service of the metadata table is pending.
    """
    if set(unwanted) >= set(state.config.metadata_partitions):
        return
    pending = [one for one in MetadataTable.of(state).own.timeline.pending if one.action is not Action.DELTA_COMMIT]
    if pending:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: expected no service of the metadata table to be pending "
            f"while {', '.join(unwanted)} is dropped, found {pending[0]}; let Hudi finish it, "
            "or set hoodie.metadata.enable=false, which drops the whole metadata table",
            feature="dropping a partition of a metadata table that is being compacted",
        )


def _partitions_to_drop(state: TableState) -> list[str]:
    """Return the partitions that the options drop, and those that depend on them."""
    asked = set(state.options.indexing.drop)
    if COLUMN_STATS in asked:
        asked.add(PARTITION_STATS)
    if RECORD_INDEX in asked:
        asked.update(name for name in state.config.metadata_partitions if is_of_records(name))
    return [name for name in state.config.metadata_partitions if name in asked and name != FILES]


def _refuse_others(state: TableState, unwanted: Iterable[str]) -> None:
    """Raise an UnsupportedFeatureError for a partition that is neither kept up to date nor dropped."""
    others = [name for name in unsupported_partitions(state) if name not in unwanted]
    if others:
        names = ",".join(others)
        raise UnsupportedFeatureError(
            f"{state.storage.root}: expected indexes that hudiformat can keep up to date, "
            f"found {', '.join(others)} in the metadata table; set {DROP_KEY}={names} to drop "
            "it, and Hudi builds it again if it is enabled there",
            feature=f"metadata table with {', '.join(others)}",
        )


_TO_READ = (COLUMN_STATS, PARTITION_STATS)
"""The partitions that a commit reads when it records what it has changed."""


def refuse_unreadable(state: TableState, *, lists: bool = False) -> None:
    """Open what a commit is going to read: its instant would be on the timeline when it found that it cannot.

    A rollback or a restore *lists* files of writes, too.

    What has been opened is opened again only once the metadata table has other base files.

    Raises:
        CorruptTableError: a file of a partition is damaged.
        StorageError: a file of a partition is missing, or the storage cannot read it.
    """
    needed = [name for name in (*_TO_READ, *([FILES] if lists else [])) if name in state.config.metadata_partitions]
    if not needed:
        return
    table, cache = MetadataTable.of(state), state.context.parsed.of_metadata_table.cache
    merged = _merged(table)
    if cache.get(refuse_unreadable, tuple) == (merged, *needed):
        return
    opened = table.open_existing()
    for name in needed:
        try:
            opened.parts(name)
        except HudiFormatError as error:  # noqa: PERF203 - two partitions
            root = state.storage.root
            drop = "hoodie.metadata.enable=false" if name == FILES else f"{DROP_KEY}={name}"
            kind = StorageError if isinstance(error, StorageError) else CorruptTableError
            raise kind(
                f"{root}: expected to read {name} of the metadata table, which a commit adds to: {error}; nothing was "
                f"written; try again, and if this stays so, repair the table, or set {drop} to drop it, and build it "
                "again later",
                path=root,
            ) from error
    cache.put(refuse_unreadable, (merged, *needed), 0)


def _reason_to_drop(state: TableState) -> str | None:
    """Return why the metadata table cannot be kept up to date, as the rest of a sentence; None if it can."""
    config = state.config
    if FILES not in config.metadata_partitions:
        return f"has no partition {FILES}"
    if being_built := config.properties.get(INFLIGHT_KEY):
        return f"is being built ({being_built})"
    return _reason_in_files(state)


def _reason_in_files(state: TableState) -> str | None:
    config = state.config
    state.under_the_lock.clear()  # what was read when this writer last had the lock may be out of date
    try:
        table = MetadataTable.of(state)
        if table.own.config.version != config.version:
            return f"has version {table.own.config.version}, the table {config.version}"
        _ = table.own.schema
        _find_beginning(state, table)
        unlisted = _unlisted_file(state, table)
        if unlisted is not None:
            return f"does not list {unlisted}, which the newest write has made"
        table.remember()
    except SchemaError:
        return "has no commit"
    except (CorruptTableError, DecodeError, NotATableError, UnsupportedFeatureError) as error:
        return f"cannot be read ({error})"
    return None


def _find_beginning(state: TableState, table: MetadataTable) -> None:
    """Look for the beginning of the list of files: what is added to a list without it would hide all other files.

    It is looked for again only once the metadata table has other base files.

    Raises:
        CorruptTableError: the list lacks its beginning.
    """
    cache, merged = state.context.parsed.of_metadata_table.cache, _merged(table)
    if cache.get(_find_beginning, str) != merged:
        own = table.own
        refuse_lost_beginning(own.storage, own.config, own.timeline, table.open_existing().slices(FILES))
        cache.put(_find_beginning, merged, 0)


def _unlisted_file(state: TableState, table: MetadataTable) -> str | None:
    """Return a file of the newest write that is not listed, where that write is not on the metadata table's timeline.

    Queries look for the files of the newest write alone: after the next one they would miss those of this without a
    word.
    """
    newest = state.timeline.completed_writes[-1:]
    if not newest or newest[0].time in {one.time for one in table.own.timeline.completed}:
        return None
    expected = newest_files(state.commits(newest), state.visibility)
    if not expected:
        return None
    listed = Listing(table.open_existing().parts(FILES), state.storage.root)
    for path, names in expected.items():
        known = {file.name for file in listed.files(path)}
        for name in sorted(names - known):
            if state.storage.exists(join_path(path, name)):
                return join_path(path, name)
    return None


def _merged(table: MetadataTable) -> str:
    """Return the instant of the newest compaction of the metadata table."""
    return max((one.time for one in table.own.timeline.completed if one.action is Action.COMMIT), default="")


def _warn(message: str) -> None:
    warn(message)
