"""Build indexes of the metadata table for tables that have data, and drop them.

Building an index is an ``indexing`` on the timeline, as Hudi's indexer makes it.  The table's lock is held meanwhile:
other writers wait, and a write that began before, and has not collected what the index needs, is repeated.

Source: ScheduleIndexActionExecutor, RunIndexActionExecutor, Hudi 1.2.0; spec/metadata-table.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timezone
from types import MappingProxyType

from hudiformat.codec.statistics import kind_of
from hudiformat.errors import (
    CorruptTableError,
    HudiFormatError,
    OptionError,
    SchemaError,
    UnsupportedFeatureError,
    unknown_column_error,
)
from hudiformat.metadata_table.column_stats import COLUMN_STATS, PARTITION_STATS
from hudiformat.metadata_table.definitions import has_value_types, load_definitions
from hudiformat.metadata_table.kinds.expression_index import EXPRESSION_INDEX
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX
from hudiformat.metadata_table.secondary_index import SECONDARY_INDEX
from hudiformat.metadata_table.value_types import is_indexable
from hudiformat.naming.instants import FULL_BOOTSTRAP, METADATA_BOOTSTRAP
from hudiformat.services.service_result import ServiceResult
from hudiformat.table.options.values import IndexingOptions
from hudiformat.table.registered import refuse_to_index_registered
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES, update_table_config
from hudiformat.timeline.contents import transition_inflight
from hudiformat.timeline.plans import IndexCommitMetadata, IndexPartitionInfo, IndexPlan
from hudiformat.timeline.timeline import Action, Instant
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.failed_writes import roll_back_failed_writes
from hudiformat.write.commit.publishing import announce, publish
from hudiformat.write.metadata.dropping import drop_partitions
from hudiformat.write.metadata.indexes import MAINTAINED, indexed_columns
from hudiformat.write.metadata.indexing import BUILD_LIMITS, BuildLimits, IndexBuild
from hudiformat.write.metadata.preparing import refuse_pending_services
from hudiformat.write.metadata.setting_up import chosen_partitions, has_partition_stats, refuse_partitioned_index
from hudiformat.write.metadata.unfinished import BUILDER, FOLLOWING_KEY, finish_indexings

Progress = Callable[[str, int, int], None]
"""A function that takes the name of an index, the bytes of the files that have been read, and the bytes of all."""

_BEFORE_ALL = "0" * 17
_PREFIXES = (SECONDARY_INDEX, EXPRESSION_INDEX)


def create_index(
    context: TableContext,
    name: str,
    *,
    columns: Sequence[str] = (),
    progress: Progress | None = None,
    limits: BuildLimits = BUILD_LIMITS,
) -> ServiceResult[Instant]:
    """Build the index *name* and the indexes that it needs, as far as they do not exist.

    *columns* are the columns of ``column_stats``.  *limits* are those of each build.

    Raises:
        OptionError: there is no such index, or it exists with other columns.
        SchemaError: one of the columns cannot have statistics.
        UnsupportedFeatureError: the table cannot be written.
        LockError: another writer keeps the table's lock.
    """
    return _create(context, name, columns, progress=progress, limits=limits)


def _create(
    context: TableContext,
    name: str,
    columns: Sequence[str],
    *,
    progress: Progress | None = None,
    limits: BuildLimits = BUILD_LIMITS,
    following: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> ServiceResult[Instant]:
    """Do what :func:`create_index` does; *following* are the indexes, with their columns, that are built after it."""
    indexing = _indexing(context, name, columns)
    refuse_unwritable(seen := context.state())
    refuse_to_index_registered(seen)
    built = []
    with change_timeline(context) as state:
        current = roll_back_failed_writes(state)
        _refuse(current, name, columns)
        if name == RECORD_INDEX and name not in current.config.metadata_partitions:
            refuse_partitioned_index(current.config, indexing)
        missing = _missing_partitions(current, name)
        if RECORD_INDEX in missing:
            _refuse_bootstrapped_rows(current)
        for one in missing:
            built += [_build(IndexBuild(current, one, indexing, limits), progress, following)]
            current = current.context.state()
    return ServiceResult("index", f"{', '.join(missing)} built" if missing else "", tuple(built))


def _refuse_bootstrapped_rows(state: TableState) -> None:
    """Raise an UnsupportedFeatureError if the table has rows of a bootstrap: a record index keeps the time of a commit.

    Source: HoodieMetadataPayload.createRecordIndexUpdate, Hudi 1.2.0, which fails in the same way.
    """
    if state.config.bootstrap_base_path is None:
        return
    found = next((one for one in state.slices() if one.base_instant in (METADATA_BOOTSTRAP, FULL_BOOTSTRAP)), None)
    if found is not None:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: expected rows whose commits have times, found file groups of a bootstrap, such as "
            f"{found.file_id}, for which no record index can be built; cluster the table first, or use another index",
            feature="a record index of bootstrapped rows",
        )


def drop_index(context: TableContext, name: str, *, dependents: bool = False) -> ServiceResult[Instant]:
    """Drop the index *name*, if it exists.

    It is a partition of the metadata table, named with or without the prefix of its kind.  Dropping ``files`` drops the
    whole metadata table.  With *dependents*, dropping ``record_index`` also drops the secondary indexes.

    Raises:
        OptionError: no table can have an index of that name, or secondary indexes need it.
        UnsupportedFeatureError: the table cannot be written.
        LockError: another writer keeps the table's lock.

    Source: DropIndexCommand, Hudi 1.2.0.
    """
    refuse_unwritable(context.state())
    with change_timeline(context, refuses=False) as state:
        present = state.config.metadata_partitions
        found = next((one for one in (name, *(f"{prefix}{name}" for prefix in _PREFIXES)) if one in present), None)
        if found is None:
            _refuse_unknown(name, present)
            return ServiceResult("index")
        dropped = _with_dependents(state, found, all_of_them=dependents)
        refuse_pending_services(state, dropped)
        drop_partitions(state, dropped)
        return ServiceResult("index", f"{', '.join(dropped)} dropped")


def _with_dependents(state: TableState, name: str, *, all_of_them: bool) -> list[str]:
    """Return the index *name* and the partitions that are dropped with it.

    Hudi leaves secondary indexes without the record index behind.

    Raises:
        OptionError: secondary indexes need it, and *all_of_them* is false.
    """
    present = state.config.metadata_partitions
    own = {FILES: present, COLUMN_STATS: (COLUMN_STATS, PARTITION_STATS)}.get(name, (name,))
    needing = [one for one in sorted(present) if name == RECORD_INDEX and one.startswith(SECONDARY_INDEX)]
    if needing and not all_of_them:
        raise OptionError(
            f"{state.storage.root}: expected no index that needs {name}, found {', '.join(needing)}; "
            "drop them first, or all together with dependents=True (on the command line "
            "--dependents)",
            option="dependents",
        )
    return [one for one in present if one in own or one in needing]


def build_metadata_table(state: TableState) -> None:
    """Build the metadata table of a table that has none, with the indexes that the options ask for.

    Indexes that this process has dropped, because they were in an unknown state, are built as well.  If a process was
    interrupted between two indexes, those that it had not built yet are built.
    """
    if FILES in state.config.metadata_partitions:
        rebuild_indexes(state.context, unbuilt_indexes(state))
        return
    wanted = {*chosen_partitions(state.config, state.options), *state.context.parsed.dropped_indexes}
    rebuild_indexes(state.context, dict.fromkeys(wanted, ()))
    state.context.parsed.dropped_indexes = ()


def lacks_indexes(state: TableState) -> bool:
    """Return whether the table has no metadata table, or one of which not all is built.

    Raises:
        CorruptTableError, StorageError: an indexing on the timeline cannot be read.
    """
    return FILES not in state.config.metadata_partitions or bool(unbuilt_indexes(state))


def unbuilt_indexes(state: TableState) -> dict[str, tuple[str, ...]]:
    """Return the indexes, with their columns, that the newest indexing was to be followed by and that were not built.

    Raises:
        CorruptTableError, StorageError: that indexing cannot be read, or what it says of them.
    """
    done = next((one for one in reversed(state.timeline.completed) if one.action is Action.INDEXING), None)
    content = None if done is None else state.content(done)
    if not isinstance(content, IndexCommitMetadata):
        return {}
    own = (one.extra_metadata or {} for one in content.index_partition_infos or ())
    texts = [extra.get(FOLLOWING_KEY, "{}") for extra in own if extra.items() >= BUILDER.items()]
    try:
        following = {
            str(name): tuple(map(str, columns)) for text in texts for name, columns in json.loads(text).items()
        }
    except (ValueError, TypeError, AttributeError) as error:
        root = state.storage.root
        raise CorruptTableError(
            f"{root}: expected the indexes that follow {done} with their columns, found {texts}: {error}; build the "
            "missing indexes by create_index",
            path=root,
        ) from error
    return {name: columns for name, columns in following.items() if name not in state.config.metadata_partitions}


def indexes_with_columns(state: TableState) -> dict[str, tuple[str, ...]]:
    """Return the indexes that a table has, each with the columns that its definition names, if any.

    Raises:
        CorruptTableError: the definitions of the table's indexes are damaged.
    """
    definitions = load_definitions(state.storage, state.config)
    names = state.config.metadata_partitions
    return {name: definitions[name].fields if name in definitions else () for name in names}


def rebuild_indexes(context: TableContext, indexes: Mapping[str, Sequence[str]]) -> list[Instant]:
    """Build the *indexes* that can be built and that the table lacks, and return the instants that built them.

    They are given with the columns of ``column_stats``; columns that cannot have statistics in the table's version are
    left out.

    Raises:
        UnsupportedFeatureError, LockError: as for :func:`create_index`.
    """
    built: list[Instant] = []
    config = context.state().config
    possible = [name for name in MAINTAINED if name != PARTITION_STATS or has_partition_stats(config)]
    left = {name: indexes[name] for name in possible if name in indexes}
    while left:
        name = next(iter(left))
        del left[name]
        state = context.state()
        has_columns = state.config.version >= VERSION_WITH_COMPLETION_TIMES
        columns = has_columns and [one for one in indexes[name] if name == COLUMN_STATS and _is_indexable(state, one)]
        # Rows of a bootstrap have no record index: writes that come later do not try to build it again.
        refused = RECORD_INDEX if config.bootstrap_base_path is not None else None
        following = {one: columns_of for one, columns_of in left.items() if one != refused}
        built += _create(context, name, columns or (), following=following)
    return built


def _indexing(context: TableContext, name: str, columns: Sequence[str]) -> IndexingOptions:
    if name not in MAINTAINED:
        raise OptionError(f"index: expected one of {', '.join(MAINTAINED)}, found {name!r}", option="index")
    if columns and name != COLUMN_STATS:
        raise OptionError(
            f"columns: expected columns for {COLUMN_STATS} alone, found some for {name}; leave them out",
            option="columns",
        )
    if context.options.metadata_enable is False:
        key = "hoodie.metadata.enable"
        raise OptionError(
            f"{key}: expected true, as {name} is a part of the metadata table, found false; leave the option out",
            option=key,
        )
    indexing = context.options.indexing
    return replace(indexing, columns=tuple(columns)) if columns else indexing


def _refuse_unknown(name: str, others: Sequence[str] = ()) -> None:
    known = tuple(dict.fromkeys([*MAINTAINED, *others]))
    if name not in known and not name.startswith(_PREFIXES):
        raise OptionError(f"index: expected one of {', '.join(known)}, found {name!r}", option="index")


def _refuse(state: TableState, name: str, columns: Sequence[str]) -> None:
    config, root = state.config, state.storage.root
    is_old = config.version < VERSION_WITH_COMPLETION_TIMES
    if name == PARTITION_STATS and not has_partition_stats(config):
        what = f"of version {config.version}" if is_old else "without partitions"
        raise OptionError(
            f"{root}: expected a table with partitions, of version 8 or later, for "
            f"{PARTITION_STATS}, found a table {what}; build {COLUMN_STATS} instead",
            option="index",
        )
    if not columns:
        return
    if is_old:
        raise UnsupportedFeatureError(
            f"{root}: expected no columns in table version {config.version}, which has no file "
            f"that could name them, found {', '.join(columns)}; leave them out, and all "
            "columns are indexed",
            feature=f"choosing columns of {COLUMN_STATS} in table version {config.version}",
        )
    _check_columns(state, columns)
    if COLUMN_STATS in config.metadata_partitions and not set(columns) <= set(indexed_columns(state)):
        there = ", ".join(indexed_columns(state))
        raise OptionError(
            f"{root}: expected columns that {COLUMN_STATS} has, {there}, found {', '.join(columns)}; "
            "drop the index first, to build it of other columns",
            option="columns",
        )


def _check_columns(state: TableState, columns: Sequence[str]) -> None:
    schema = state.schema.arrow_with_meta
    for column in columns:
        kind = kind_of(schema, column)
        if kind is None:
            raise unknown_column_error(column, schema.names)
        if not _is_indexable(state, column):
            raise SchemaError(
                f"column {column} of type {kind} has no statistics in Hudi: leave the column out", column=column
            )


def _is_indexable(state: TableState, column: str) -> bool:
    kind = kind_of(state.schema.arrow_with_meta, column)
    return kind is not None and is_indexable(kind, has_types=has_value_types(None, state.config))


def _missing_partitions(state: TableState, name: str) -> list[str]:
    """Return the partitions that the index *name* needs and the metadata table lacks, in the order of building."""
    needed = {FILES, name} | ({COLUMN_STATS} if name == PARTITION_STATS else set())
    return [one for one in MAINTAINED if one in needed and one not in state.config.metadata_partitions]


def _build(build: IndexBuild, progress: Progress | None, following: Mapping[str, Sequence[str]]) -> Instant:
    """Build an index under the table's lock, and then add it to the properties.

    *following* are on the timeline with it: if this process is interrupted before it has built them, the next one does.
    """
    state, name = build.state, build.name
    writes = state.timeline.completed_writes
    info = IndexPartitionInfo(
        metadata_partition_path=name,
        index_upto_instant=writes[-1].time if writes else _BEFORE_ALL,
        extra_metadata={**BUILDER, FOLLOWING_KEY: json.dumps(following)} if following else BUILDER,
    )
    pending = announce(state, Action.INDEXING, IndexPlan(index_partition_infos=(info,)))
    with _undo_on_failure(state):
        inflight = transition_inflight(state.storage, state.config, pending)
        build.run(pending.time, lambda done, total: progress(name, done, total) if progress else None)
        state.context.confirm()
        update_table_config(state.storage, build.properties(), saved_at=datetime.now(timezone.utc))
    return publish(state.with_instant(inflight), inflight, IndexCommitMetadata(index_partition_infos=(info,)))


@contextmanager
def _undo_on_failure(state: TableState) -> Iterator[None]:
    """Delete what the block has created if it fails; until its end, the table is as before."""
    try:
        yield
    except BaseException:
        with suppress(HudiFormatError):  # if this fails, too, the next writer does it
            finish_indexings(state.context.state())
        raise
