"""A table as one operation sees it: its properties and its timeline, read once.

``TableContext`` is what a table object holds: the table's storage and the options.  ``TableState`` is the state of the
table at one moment.  An operation reads a state when it starts, and passes it on.  It reads another one only after it
has waited for a lock, or has changed the table itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property, partial

from hudiformat.errors import CorruptTableError, SchemaError, StorageError
from hudiformat.file_group.deleted_files import refuse_incomplete
from hudiformat.file_group.former_slices import FormerSlices
from hudiformat.file_group.merging.rule import RecordMerger
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.pending_groups import PendingGroup, pending_groups
from hudiformat.file_group.slices import FileSlice, ListedFiles, Visibility, build_slices, latest_slices
from hudiformat.metadata_table.definitions import load_definitions
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX, is_partitioned
from hudiformat.metadata_table.listing import Listing, listing
from hudiformat.naming.file_names import stored_name
from hudiformat.naming.instants import next_instant
from hudiformat.schema.internal_schema import LATEST_SCHEMA
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.protocol import FileInfo, Storage
from hudiformat.storage.threads import side_by_side
from hudiformat.table.cache import TableCache
from hudiformat.table.effective import without_restored_writes
from hudiformat.table.executor import Executor, Given, Result, TaskAttempt
from hudiformat.table.file_schemas import schema_in_files
from hudiformat.table.listing import PartitionFiles, Pruner, list_files, list_metadata_table, refuse_unlisted
from hudiformat.table.operations import keeps_operations
from hudiformat.table.options.values import BY_RECORD_INDEX, IndexType, WriteOptions
from hudiformat.timeline.archive.archived_times import ArchivedTimes
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import (
    METADATA_FOLDER,
    PROPERTIES_FILE,
    VERSION_WITH_COMPLETION_TIMES,
    load_table_config,
    parse_table_config,
)
from hudiformat.timeline.contents import Content, read_content
from hudiformat.timeline.plans import RequestedReplaceMetadata
from hudiformat.timeline.table_config import TableConfig, TimelineZone
from hudiformat.timeline.timeline import Action, Instant, State, Timeline, instant_path, load_timeline, read_metadata

_MOST_COMMITS, _MOST_STATS = 64, 1000
"""The most commits whose content is cached, and the most files that each of them may name."""

Clock = Callable[[], datetime]
"""A function that returns the present moment in a table's time zone."""


@dataclass(frozen=True, slots=True)
class TableClock:
    """Returns the present moment in the time zone of a table's instants.  It can be pickled."""

    zone: TimelineZone

    def __call__(self) -> datetime:
        """Return the present moment as a datetime without a zone."""
        if self.zone is TimelineZone.UTC:
            return datetime.now(timezone.utc).replace(tzinfo=None)
        return datetime.now()  # noqa: DTZ005 - LOCAL, Hudi's default, is the machine's own zone


class Parsed:
    """A cache of parsed files of a table.  Its content is not pickled.

    ``config`` was parsed from the bytes ``properties``.  ``commits`` are the last few completed commits that were read,
    whose content never changes.  ``operations`` is the newest write for which it is known, and whether the table keeps
    operations.  ``of_metadata_table`` is the cache of the table's metadata table.  ``dropped_indexes`` are the indexes
    of a metadata table that was dropped because its state was unknown.  ``cache`` holds what other modules keep of
    unchanging files from one operation to the next.
    """

    def __init__(self) -> None:
        self.properties = b""
        self.config: TableConfig | None = None
        self.commits: dict[Instant, CommitMetadata] = {}
        self.operations: tuple[Instant, bool] | None = None
        self.dropped_indexes: tuple[str, ...] = ()
        self.cache = TableCache()
        self._archived: ArchivedTimes | None = None

    def archived_times(self, storage: Storage, config: TableConfig) -> ArchivedTimes:
        """Return the completion times of archived instants.

        They never change, but a table that changed to another timeline layout has them in another folder.
        """
        if self._archived is None or self._archived.config.history_folder != config.history_folder:
            self._archived = ArchivedTimes(storage, config)
        return self._archived

    @cached_property
    def of_metadata_table(self) -> Parsed:
        """The cache of the metadata table."""
        return Parsed()

    def keep(self, instant: Instant, metadata: CommitMetadata) -> bool:
        """Cache the content of a completed commit, unless it names many files; return whether it is cached."""
        if not instant.is_completed or len(metadata.write_stats) > _MOST_STATS:
            return False
        self.commits[instant] = metadata
        while len(self.commits) > _MOST_COMMITS:
            del self.commits[next(iter(self.commits))]
        return True

    def __reduce__(self) -> tuple[type[Parsed], tuple[()]]:
        return Parsed, ()


def _call(function: Callable[[Given], Result], given: Given, _attempt: TaskAttempt) -> Result:
    return function(given)


def _nothing_to_lose() -> None:
    """Do nothing: a writer without a lock cannot lose it."""


@dataclass(frozen=True, slots=True)
class TableContext:
    """What a table object holds for its whole life; ``config`` are the table's properties at the time it was opened.

    ``confirm`` raises a LockError if this writer has lost the table's lock; without a lock it does nothing.
    ``executor`` runs parts of services elsewhere; without one they run here, one after the other.
    """

    storage: Storage
    config: TableConfig
    options: WriteOptions
    clock: Clock
    merger: RecordMerger | None = None
    parsed: Parsed = field(default_factory=Parsed, compare=False, repr=False)
    confirm: Callable[[], None] = field(default=_nothing_to_lose, compare=False, repr=False)
    executor: Executor | None = field(default=None, compare=False, repr=False)

    @property
    def runs_elsewhere(self) -> Executor | None:
        """The executor, if it can run what reads rows: a custom merger may not be picklable."""
        return self.executor if self.merger is None else None

    def each(self, function: Callable[[Given], Result], given: Sequence[Given], *, name: str) -> Iterable[Result]:
        """Return the results of *function* for each of *given*; the executor, if there is one, computes several.

        So do threads, where they wait for a remote storage.
        """
        if self.executor is None:
            return side_by_side(self.storage, function, given)
        if len(given) <= 1:
            return map(function, given)
        return self.executor.map(partial(_call, function), given, name=name, alone=False)

    def state(self) -> TableState:
        """Read the current state of the table, its properties and its timeline, in two requests."""
        config = self._current_config()
        return TableState(self, config, _timeline_of(self.storage, config))

    def state_with_schema(self) -> TableState:
        """Read the state that a write begins with, including its schema.

        The schema is read at once, because the commit that names it may be archived later.

        Raises:
            SchemaError: as for :attr:`TableState.schema`.
            CorruptTableError, StorageError: the newest commit cannot be read, and the timeline has not changed since.
        """
        state = self.state()
        while True:
            try:
                state.schema  # noqa: B018 - it is kept
            except (StorageError, CorruptTableError):  # noqa: PERF203 - hardly ever repeated
                now = state.again()
                if now is state:
                    raise
                state = now
            else:
                return state

    def _current_config(self) -> TableConfig:
        """Read the table's properties, and parse them only if they have changed."""
        try:
            data = self.storage.read(PROPERTIES_FILE)
            if self.parsed.config is None or self.parsed.properties != data:
                self.parsed.config = parse_table_config(data, path=f"{self.storage.root}/{PROPERTIES_FILE}")
                self.parsed.properties = data
            config = self.parsed.config
        except (StorageError, CorruptTableError):  # another process is changing the file, or the table was deleted
            config = load_table_config(self.storage)
        paths = self.options.timed_paths
        if config.has_timed_paths or paths.slash_dates is not None:
            config = paths.complete(config)
        return replace(config, plain_keys=self.options.plain_keys) if config.has_ambiguous_keys else config


def _timeline_of(storage: Storage, config: TableConfig) -> Timeline:
    """Return the active timeline as queries see it: without the writes that a restore in progress removes."""
    timeline = load_timeline(storage, config)
    is_restored = any(one.action is Action.RESTORE for one in timeline.pending)
    return without_restored_writes(storage, config, timeline) if is_restored else timeline


@dataclass(frozen=True, eq=False)
class TableState:
    """The state of a table at one moment; all values derived from it are computed once and cached, and never change.

    Files are listed later than the timeline, so a listing may show files of newer instants, which are ignored.  Reading
    a file that another writer has deleted since is an error.
    """

    context: TableContext
    config: TableConfig
    timeline: Timeline
    _contents: dict[Instant, Content | None] = field(default_factory=dict)
    _listed: dict[str, list[FileInfo]] = field(default_factory=dict)
    _large: dict[Instant, CommitMetadata] = field(default_factory=dict)  # the last one that names many files
    under_the_lock: dict[str, TableState] = field(default_factory=dict)
    """The state of the metadata table by its folder, read together with this one by the writer that holds the lock."""
    read_at: float = field(default_factory=time.monotonic)
    """The time at which the state was read, by the monotonic clock of the process."""

    def __reduce__(self) -> tuple[type[TableState], tuple[TableContext, TableConfig, Timeline]]:
        return TableState, (self.context, self.config, self.timeline)

    def again(self) -> TableState:
        """Return the current state, for an operation that has waited; return *self* if the timeline has not changed.

        The properties are read again only if the timeline has changed, because a writer that changes them adds
        instants.
        """
        timeline = _timeline_of(self.storage, self.config)
        if timeline == self.timeline:
            return self
        config = self.context._current_config()  # noqa: SLF001 - of the same module
        if config.layout_version != self.config.layout_version or config.timeline_folder != self.config.timeline_folder:
            timeline = _timeline_of(self.storage, config)
        return TableState(self.context, config, timeline)

    @property
    def storage(self) -> Storage:
        """The storage, whose root is the table's base path."""
        return self.context.storage

    @cached_property
    def options(self) -> WriteOptions:
        """The options with which the user opened the table.

        If they name the record index and the table has none, GLOBAL_SIMPLE is used instead, and SIMPLE instead of a
        partitioned record index, as in Hudi.

        Raises:
            CorruptTableError: the definitions of the table's indexes are damaged.

        Source: SparkMetadataTableGlobalRecordLevelIndex.tagLocation, SparkMetadataTableRecordLevelIndex, Hudi 1.2.0.
        """
        options = self.context.options
        has_index = options.metadata_enable is not False and RECORD_INDEX in self.config.metadata_partitions
        if options.index_type is IndexType.RECORD_LEVEL_INDEX:
            definition = load_definitions(self.storage, self.config).get(RECORD_INDEX) if has_index else None
            return options if is_partitioned(definition) else replace(options, index_type=IndexType.SIMPLE)
        if options.index_type in BY_RECORD_INDEX and not has_index:
            return replace(options, index_type=IndexType.GLOBAL_SIMPLE)
        return options

    @property
    def logs_name_slices(self) -> bool:
        """Whether a log file's name contains the instant of its slice, as below table version 8."""
        return self.config.version < VERSION_WITH_COMPLETION_TIMES

    @property
    def next_instant(self) -> str:
        """An instant later than all times on the timeline, at the present moment or after it."""
        return next_instant(self.context.clock(), self.timeline.latest_instant_time)

    def metadata(self, instant: Instant) -> CommitMetadata:
        """Return the content of a commit, delta commit or replace commit, which is read only once.

        Of commits with very many files only the last one is kept, for as long as this state: a query asks for the
        newest one four times.

        Raises:
            CorruptTableError: the file is damaged.
            StorageError: the file does not exist, or no longer.
        """
        known = self.context.parsed.commits.get(instant) or self._large.get(instant)
        if known is None:
            known = read_metadata(self.storage, self.config, instant)
            if not self.context.parsed.keep(instant, known) and instant.is_completed:
                for other in tuple(self._large):
                    self._large.pop(other, None)
                self._large[instant] = known
        return known

    def commits(self, writes: Sequence[Instant]) -> list[CommitMetadata]:
        """Return the contents of those of *writes* that can be read; on a remote storage several are read at a time."""
        if len(writes) <= 1:
            return [found for found in map(self._readable, writes) if found is not None]
        return [found for found in side_by_side(self.storage, self._readable, writes) if found is not None]

    def _readable(self, write: Instant) -> CommitMetadata | None:
        try:
            return self.metadata(write)
        except (StorageError, CorruptTableError):
            return None

    def content(self, instant: Instant) -> Content | None:
        """Return the content of the file of an instant in its state, which is read only once.

        Raises:
            CorruptTableError, StorageError: as for :meth:`metadata`.
        """
        if instant not in self._contents:
            self._contents[instant] = read_content(self.storage, self.config, instant)
        return self._contents[instant]

    def plan(self, instant: Instant) -> Content | None:
        """Return the content of the requested file of an instant; None if the file is empty or does not exist.

        Raises:
            CorruptTableError, StorageError: as for :meth:`metadata`.
        """
        requested = Instant(instant.time, instant.action, State.REQUESTED)
        try:
            return self.content(requested)
        except StorageError:
            if self.storage.exists(instant_path(self.config, requested)):
                raise
            return None

    @cached_property
    def schema(self) -> TableSchema:
        """The schema of the newest commit, the one that the table was created with, or that of its data files.

        Raises:
            SchemaError: there is none.
        """
        return self.schema_at(None)

    def schema_at(self, instant: str | None) -> TableSchema:
        """Return the schema of the newest commit up to *instant*, or the one that the table was created with.

        It is the schema of the newest completed write that names one, whatever the action.  If none does, and the table
        was created without one, it is the schema of the data files.

        Raises:
            SchemaError: there is none.

        Source: TableSchemaResolver.getTableAvroSchemaInternal, Hudi 1.2.0.
        """
        metadata = self.commit_with_schema(instant)
        avro = None if metadata is None else metadata.schema
        if avro is None:
            avro = self.config.create_schema
        found = self._schema_in_files(instant) if avro is None else TableSchema.of_commit(avro)
        schema = replace(found, keeps_operations=self.keeps_operations)
        # Partition columns that are dropped from the files are not in the schema of commits either.
        return schema.with_texts(self.config.partition_fields) if self.config.drop_partition_columns else schema

    def _schema_in_files(self, instant: str | None) -> TableSchema:
        by_then = [done for done in reversed(self.timeline.completed_writes) if _is_by(done, instant)]
        found = schema_in_files(self.storage, map(self.metadata, by_then), table_name=self.config.name)
        if found is None:
            reason = (
                "no commit and no data file that can be read names a schema" if by_then else "there is no commit yet"
            )
            raise SchemaError(
                f"{self.storage.root}: {reason}, and the table was created without a schema: write rows first"
            )
        return found

    @cached_property
    def schema_of_files(self) -> TableSchema:
        """The schema with which files are written, without partition columns that the table drops.

        It has the operation if the newest files have it.

        Unlike for :attr:`schema`, the files are always checked, because another engine may have begun a changelog in
        any table.

        Raises:
            SchemaError: as for :attr:`schema`.
        """
        keeps_operations = self.schema.keeps_operations or self._newest_keeps_operations()
        return replace(self.schema.without(self.config.dropped_fields), keeps_operations=keeps_operations)

    @property
    def keeps_operations(self) -> bool:
        """Whether the files of the table have the meta field of the operation, by the options or by its newest files.

        The files are checked only for a table that Flink has created, so that other queries do not have to open one.
        """
        if self.options.keep_operations:
            return True
        return self.config.has_avro_key_generator and self._newest_keeps_operations()

    def _newest_keeps_operations(self) -> bool:
        writes, parsed = self.timeline.completed_writes, self.context.parsed
        if not writes or not self.config.populate_meta_fields:
            return False
        newest = writes[-1]
        if parsed.operations is None or parsed.operations[0] != newest:
            commits = (self.metadata(done) for done in reversed(writes))
            parsed.operations = newest, keeps_operations(self.storage, commits)
        return parsed.operations[1]

    def commit_with_schema(self, instant: str | None) -> CommitMetadata | None:
        """Return the content of the newest commit that names a schema, up to *instant* if given, or None."""
        by_then = (done for done in reversed(self.timeline.completed_writes) if _is_by(done, instant))
        found = next((one for one in map(self.metadata, by_then) if one.schema is not None), None)
        if found is None and instant is not None and instant < (self.timeline.first_active or ""):
            return self._archived_with_schema(instant)
        return found

    def is_changed_since(self, instant: str) -> bool:
        """Return whether a write after *instant* has changed the columns of the table."""
        before, newest = self.commit_with_schema(instant), self.commit_with_schema(None)
        return before is not None and newest is not None and before.schema != newest.schema

    def has_ids(self, instant: str | None = None) -> bool:
        """Return whether the table has an internal schema, whose columns have ids, as of *instant* or now."""
        metadata = self.commit_with_schema(instant)
        return metadata is not None and LATEST_SCHEMA in metadata.extra_metadata

    def _archived_with_schema(self, instant: str) -> CommitMetadata | None:
        """Return the content of the newest archived write up to *instant* that names a schema."""
        archived = reversed(read_archived(self.storage, self.config))
        by_then = (one.metadata for one in archived if one.instant.action.is_write and _is_by(one.instant, instant))
        commits = (metadata for metadata in by_then if isinstance(metadata, CommitMetadata))
        return next((metadata for metadata in commits if metadata.schema is not None), None)

    @cached_property
    def visibility(self) -> Visibility:
        """The rules that decide which files are visible, and in which slices."""
        replaced = {
            (path, file_id): done.time
            for done in self.timeline.completed_writes
            if done.action is Action.REPLACE_COMMIT
            for path, ids in (self.metadata(done).partition_to_replace_file_ids or {}).items()
            for file_id in ids
        }
        storage, config, is_6 = self.storage, self.config, self.logs_name_slices
        archived = None if is_6 else self.context.parsed.archived_times(storage, config)
        former = FormerSlices(storage, config, self.timeline) if is_6 else None
        return Visibility.of(self.timeline, replaced=replaced, logs_name_slices=is_6, archived=archived, former=former)

    @cached_property
    def pending_groups(self) -> tuple[PendingGroup, ...]:
        """The file groups that pending compactions, log compactions and clusterings are going to rewrite."""
        planned = [instant for instant in self.timeline.pending if instant.action.has_plan]
        return tuple(pending_groups(planned, self.plan)) if planned else ()

    @property
    def in_compaction(self) -> Mapping[tuple[str, str], PendingGroup]:
        """The file groups of pending compactions, by partition path and file id."""
        return {group.key: group for group in self.pending_groups if group.instant.action is Action.COMPACTION}

    @property
    def busy_groups(self) -> frozenset[tuple[str, str]]:
        """The file groups of all pending plans, by partition path and file id."""
        return frozenset(group.key for group in self.pending_groups)

    @property
    def pending_writes(self) -> list[Instant]:
        """The writes that are not completed, without clusterings, which have the same action in table version 6."""
        return [one for one in self.timeline.pending if one.action.is_write and not self.is_clustering(one)]

    def is_clustering(self, pending: Instant) -> bool:
        """Return whether a pending instant is a clustering, by its action or, in table version 6, by its plan."""
        if pending.action is not Action.REPLACE_COMMIT:
            return pending.action is Action.CLUSTERING
        plan = self.plan(pending)
        return isinstance(plan, RequestedReplaceMetadata) and plan.clustering_plan is not None

    @property
    def in_clustering(self) -> frozenset[tuple[str, str]]:
        """The file groups of pending clusterings, by partition path and file id."""
        clustering = Action.REPLACE_COMMIT
        return frozenset(group.key for group in self.pending_groups if group.instant.action.completed_as is clustering)

    def partition_files(self, partition: str) -> list[FileInfo]:
        """Return the files of one partition path, which is listed only once."""
        if partition not in self._listed:
            [(_, self._listed[partition])] = self.files(partition)
        return self._listed[partition]

    def files_of_each(self, partitions: Iterable[str]) -> Iterator[list[FileInfo]]:
        """Yield the files of each partition path; folders of a remote storage are listed side by side."""
        if self.has_metadata_partition(FILES):  # the metadata table is read by one thread
            return map(self.partition_files, partitions)
        return side_by_side(self.storage, self.partition_files, partitions)

    def _open_listing(self) -> Listing:
        return listing(self.storage, self.config, self.timeline)

    @cached_property
    def _kept_listing(self) -> Listing:
        """The listing of the metadata table, opened once for all calls that list a single partition."""
        return self._open_listing()

    def files(
        self, partition: str | None = None, *, pruner: Pruner | None = None, listed: ListedFiles | None = None
    ) -> Iterable[PartitionFiles]:
        """List the files of one partition, or of all partitions, or of all that *pruner* keeps.

        If files have been deleted since the state was read, that is noted in *listed*.

        Raises:
            StorageError: the listing lacks a file that a commit names.
        """
        found: Iterable[PartitionFiles] | None = None
        if self.has_metadata_partition(FILES):
            opened = self._open_listing if partition is None else partial(getattr, self, "_kept_listing")
            found = list_metadata_table(opened, self.storage.root, partition, pruner=pruner)
        by_folders = found is None
        if found is None:
            is_whole = partition is None and pruner is None
            found = list_partitions(self.storage) if is_whole else list_files(self.storage, partition, pruner=pruner)
            if self.storage.root.endswith(f"/{METADATA_FOLDER}"):  # its commits are many, and are not read
                return found
            if not self.config.populate_meta_fields:
                found = refuse_unlisted(self.storage.root, found)
        asked: Callable[[Sequence[str]], Sequence[str]] = list if pruner is None else pruner.holding
        return refuse_incomplete(
            self,
            found,
            by_folders=by_folders,
            asked=asked if partition is None else lambda _paths: (),
            damage=self.options.damage,
            seen=ListedFiles() if listed is None else listed,
        )

    @cached_property
    def registered(self) -> Mapping[str, Sequence[FileInfo]]:
        """The registered files by partition, under their names in the metadata table, which alone lists them.

        They have no meta fields, so there are none in tables with meta fields.
        """
        if self.config.populate_meta_fields or not self.has_metadata_partition(FILES):
            return {}
        found = {path: [one for one in files if stored_name(one.name) != one.name] for path, files in self.files()}
        return {path: files for path, files in found.items() if files}

    @property
    def partition_paths(self) -> list[str]:
        """The partition paths: of folders with a partition metadata file, and of registered files."""
        return sorted({*self.registered, *(path for path, _ in list_partitions(self.storage))})

    def slices(
        self,
        partition: str | None = None,
        *,
        as_of: str | None = None,
        pruner: Pruner | None = None,
        listed: ListedFiles | None = None,
    ) -> list[FileSlice]:
        """Return the newest file slice of each file group, of one partition or of all, at the instant *as_of* or now.

        What was listed is noted in *listed*.

        Source: AbstractTableFileSystemView.getLatestMergedFileSlicesBeforeOrOn.
        """
        visibility, seen = self.visibility, ListedFiles() if listed is None else listed
        files = (
            self.files(pruner=pruner, listed=seen)
            if partition is None
            else [(partition, self.partition_files(partition))]
        )
        found: list[FileSlice] = []
        for path, entries in files:
            seen.note(path, entries)
            found += latest_slices(build_slices(path, entries, visibility, as_of=as_of, unknown=seen.unknown))
        if pruner is None:
            seen.note_end()
        return found

    def has_metadata_partition(self, partition: str) -> bool:
        """Return whether the metadata table has *partition* and the options allow its use."""
        return self.options.metadata_enable is not False and partition in self.config.metadata_partitions

    def with_instant(self, instant: Instant) -> TableState:
        """Return the state after this process has added *instant* to the timeline, without reading it again."""
        return TableState(self.context, self.config, Timeline.of([*self.timeline.instants, instant]))


def _is_by(done: Instant, moment: str | None) -> bool:
    return moment is None or done.time <= moment
