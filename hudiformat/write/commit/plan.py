"""The plan of a write: what its tasks must know of the table, sizing included.  It is pickled: plain values only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any

from hudiformat.errors import warn
from hudiformat.file_group.base_file.file_indexes import FileIndexer, Indexes
from hudiformat.file_group.deleted_files import refuse_missing
from hudiformat.file_group.merging.rule import Combining, MergeRule, RecordMerger, behaviour, merge_rule, rule_of_rows
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice, Visibility, newest_files
from hudiformat.file_group.virtual_keys import VirtualKeys
from hudiformat.metadata_table.record_lookup import RecordIndex
from hudiformat.naming.file_names import new_file_id, new_group_uuid
from hudiformat.schema.internal_schema import SchemaHistory
from hudiformat.schema.table_schema import TableSchema
from hudiformat.sizing.flink import FlinkAssigner, FlinkTasks, Profile, plan_in_order
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.sizing.record_size import Commits, RecordSize, SizingOptions, flink_record_size, spark_record_size
from hudiformat.sizing.small_files import GroupVerdict, Kind, Pending, flink_small_files, spark_small_files
from hudiformat.sizing.spark import PartitionPlan, plan_partition
from hudiformat.storage.protocol import FileInfo, Storage
from hudiformat.table.bucket_config import with_bucket_rules
from hudiformat.table.options.buckets import BucketEngine
from hudiformat.table.options.values import REPLACING, DuplicatePolicy, IndexType, Operation, SizingEngine, WriteOptions
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import MergeMode, TableConfig, TableType
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.write.metadata.indexes import indexes_of

Groups = frozenset[tuple[str, str]]
"""File groups as (partition path, file id)."""


@dataclass(frozen=True)
class SizingProfile:
    """What sizing must know of a table besides its file slices.

    ``commits`` reads the completed commits, the newest first.  Each costs a request, so they are read only when the
    record size is first needed, and not for updates that only go to log files.  A pickled profile carries the size
    itself.  With ``parallelism``, Flink's tasks divide the new rows among themselves by their keys.
    """

    kind: Kind
    engine: SizingEngine
    options: SizingOptions
    commits: Callable[[], Commits]
    in_compaction: Groups = frozenset()
    in_clustering: Groups = frozenset()
    parallelism: Parallelism | None = None

    def __reduce__(self) -> tuple[Callable[..., SizingProfile], tuple[object, ...]]:
        known = (self.kind, self.engine, self.options, self.in_compaction, self.in_clustering, self.parallelism)
        return _with_record_size, (self.record_size, *known)

    @cached_property
    def record_size(self) -> RecordSize:
        """The bytes of a record in a base file, and the commit from which this is known.

        Raises:
            CorruptTableError: a commit that is needed is damaged.
        """
        estimate = flink_record_size if self.engine is SizingEngine.FLINK else spark_record_size
        return estimate(self.commits(), self.options)

    def small_files(self, partition_path: str, slices: Sequence[FileSlice]) -> tuple[GroupVerdict, ...]:
        """Return the file groups of a partition in the order in which they are filled; *slices* are the newest ones."""
        if not slices:  # as in most of many partitions that one write makes
            return ()
        pending = Pending(_ids_in(self.in_compaction, partition_path), _ids_in(self.in_clustering, partition_path))
        chosen = flink_small_files if self.engine is SizingEngine.FLINK else spark_small_files
        return chosen(slices, self.kind, self.options, pending)

    def plan(self, partition_path: str, inserts: int, groups: Sequence[GroupVerdict]) -> PartitionPlan:
        """Return where *inserts* new rows of a partition go; *groups* is the result of :meth:`small_files`."""
        if self.engine is SizingEngine.FLINK:
            numbers = count()
            profile = Profile(lambda _path: groups, self.record_size)
            assigner = FlinkAssigner(profile, self.options, lambda: f"new {next(numbers)}")
            return plan_in_order(partition_path, inserts, assigner)
        return plan_partition(partition_path, inserts, groups, self.record_size, self.options)

    def tasks(self, instant: str, partition_path: str, small_files: Callable[[], Sequence[GroupVerdict]]) -> FlinkTasks:
        """Return the planner that assigns the new rows of a partition task by task, as Flink does.

        It calls *small_files* when the first rows come.  No other task of the write opens file groups in the partition.
        """
        assert self.parallelism is not None  # noqa: S101 - the callers have checked
        numbers = count()
        return FlinkTasks(
            partition_path,
            self.parallelism,
            Profile(lambda _path: small_files(), self.record_size),
            self.options,
            lambda: new_file_id(new_group_uuid(instant, partition_path, 0, next(numbers))),
        )


def _with_record_size(size: RecordSize, *known: Any) -> SizingProfile:
    """Return a profile whose record size is known; *known* are the other values that it is pickled with."""
    kind, engine, options, *others = known
    profile = SizingProfile(kind, engine, options, lambda: iter(()), *others)
    profile.__dict__["record_size"] = size
    return profile


def _ids_in(groups: Iterable[tuple[str, str]], partition_path: str) -> frozenset[str]:
    return frozenset(file_id for path, file_id in groups if path == partition_path)


_VERSION_WITH_POSITIONS = 8


@dataclass(frozen=True, slots=True)
class WritePlan:
    """One write of a table, from the choice of its instant to its commit.

    - ``sizing`` assigns new rows to file groups; None if it is not used.
    - ``in_clustering`` are the file groups, as (partition path, file id), that a pending clustering will replace.
    - ``planned_inserts``, by partition path, assign new rows if they were counted before the tasks of the write run.
    - ``compactions`` are the pending compactions of file groups in table version 6, which names log files by them.
    - With ``in_tasks``, tasks do the writing, and their failed attempts may leave files behind.
    - ``history`` has the names that columns have in files of other instants.
    - ``indexes`` says what the metadata table keeps of the files.
    - ``record_index`` finds record keys, if it is the index of the write.
    - With ``merges_in_tasks``, a task that reads a file group after its write gets the rows that the commit leaves
      there: no other writer may append to the group, and no custom merger is needed.
    - ``merger`` merges records instead of the table's own rule; a write with one stays in its process.
    - ``named``, by partition path, are files of the newest slices that commits name: a listing has to show them.
    - ``registered``, by partition path, are files of others, which no folder shows under the names that they have.
    """

    root: str
    config: TableConfig
    schema: TableSchema
    options: WriteOptions
    operation: Operation
    instant: str
    visibility: Visibility
    sizing: SizingProfile | None = None
    in_clustering: Groups = frozenset()
    planned_inserts: Mapping[str, PartitionPlan] = field(default_factory=dict)
    compactions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    in_tasks: bool = True
    history: SchemaHistory | None = None
    indexes: Indexes | None = None
    record_index: RecordIndex | None = None
    merges_in_tasks: bool = True
    merger: RecordMerger | None = None
    named: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    registered: Mapping[str, Sequence[FileInfo]] = field(default_factory=dict)

    def files(self, storage: Storage, path: str) -> list[FileInfo]:
        """Return the files of the partition *path*: those of its folder, and the registered ones."""
        return [*(entry for entry in storage.list(path) if not entry.is_dir), *self.registered.get(path, ())]

    def refuse_unlisted(self, storage: Storage, path: str, names: AbstractSet[str]) -> None:
        """Refuse the listing *names* of the partition *path* if it lacks files that commits name.

        Raises:
            StorageError: rows of these files would not be found.
        """
        missing = self.named.get(path, frozenset()) - names
        if missing:
            refuse_missing(storage, self.config, path, missing, damage=self.options.damage)

    def partitions(self, storage: Storage) -> list[str]:
        """Return the partition paths of the table: those that are listed, and those that commits name."""
        return sorted({*self.named, *self.registered, *(path for path, _ in list_partitions(storage))})

    @property
    def inflight(self) -> Instant:
        """The instant of the write on the timeline, until it is committed."""
        return Instant(self.instant, action_of(self.config, self.operation), State.INFLIGHT)

    @property
    def row_size(self) -> int:
        """The estimated bytes of a row in a base file, until they can be measured."""
        return self.sizing.record_size.size if self.sizing else self.options.sizing.record_size_estimate

    @property
    def logs_name_slices(self) -> bool:
        """Whether the name of a log file carries the instant of its slice, as it does below table version 8."""
        return self.visibility.logs_name_slices

    @property
    def uses_buckets(self) -> bool:
        """Whether the hash of a record key determines its file group."""
        return self.options.index_type is IndexType.BUCKET

    @property
    def writes_positions(self) -> bool:
        """Whether the header of a block records the positions of its rows in the base file, if all of them are known.

        Source: HoodieAppendHandle; table versions below 8 have no positions.
        """
        return self.options.record_positions and self.config.version >= _VERSION_WITH_POSITIONS

    @property
    def partial(self) -> TableSchema | None:
        """The columns that an upsert changes in existing rows; None if these are all columns."""
        partial = partial_schema(self.operation, self.options)
        return partial and replace(partial, keeps_operations=self.schema.keeps_operations)

    @property
    def looks_everywhere(self) -> bool:
        """Whether record keys are looked up in all partitions."""
        if self.operation is Operation.INSERT:
            return self.options.is_global and self.options.insert_duplicates is not DuplicatePolicy.NONE
        return self.options.is_global and self.operation in (Operation.UPSERT, Operation.DELETE)

    @property
    def looks_keys_up(self) -> bool:
        """Whether record keys are looked up, in all partitions or in those of their rows, and not hashed to buckets."""
        if self.options.is_global:
            return self.looks_everywhere
        checks = self.operation is Operation.INSERT and self.options.insert_duplicates is not DuplicatePolicy.NONE
        return not self.uses_buckets and (checks or self.operation in (Operation.UPSERT, Operation.DELETE))

    @property
    def combines(self) -> bool:
        """Whether the write keeps only one of several rows with the same key."""
        if self.operation in (Operation.INSERT, Operation.BULK_INSERT, *REPLACING):
            return self.options.combine_before_insert
        return self.operation is Operation.DELETE or self.options.combine_before_upsert

    @property
    def rule(self) -> MergeRule:
        """How the rows of the write are merged with the rows of the table, by the table's own properties.

        A table with a custom mode has no rule of its own: its rule is the ``merger``.
        """
        if self.config.merge_mode is MergeMode.CUSTOM and self.merger is not None:
            return merge_rule(self.config, self.schema, self.merger)
        return rule_of_rows(self.config, self.schema)

    @property
    def ordering_fields(self) -> tuple[str, ...]:
        """The columns by which a row of the write may lose against the row of the table with the same key."""
        rule = self.rule
        by_event_time = rule.mode is MergeMode.EVENT_TIME_ORDERING and self.operation is not Operation.DELETE
        return rule.ordering_fields if by_event_time else ()

    @property
    def combining(self) -> Combining:
        """How several rows of the write that have the same key become one.

        Below version 9 the payload classes combine them (preCombine), by the ordering fields of the table whatever the
        order in which they merge with its rows.

        Source: BaseWriteHelper.reduceRecords, Hudi 1.2.0.
        """
        if self.operation is Operation.DELETE:
            return Combining()
        rule = self.rule
        if self.merger is not None:
            return Combining(self.ordering_fields, rule if rule.merger is not None else None)
        found = behaviour(self.config)
        if found.by_payload:
            return Combining(found.combined_by, rule if found.combines_columns else None)
        return Combining(self.ordering_fields, rule if rule.partial is not None else None)

    @property
    def virtual_keys(self) -> VirtualKeys | None:
        """What makes the record keys of rows in files; None if the rows have them."""
        return None if self.config.populate_meta_fields else VirtualKeys.of(self.config, self.schema)

    def indexer(self) -> FileIndexer | None:
        """Return a collector of what the metadata table keeps of a file; None if it keeps nothing."""
        return None if self.indexes is None else FileIndexer(self.indexes, self.schema.arrow_with_meta)

    def slice_reader(self, merger: RecordMerger | None = None) -> SliceReader:
        """Return a reader of the file slices that existed when the write began."""
        return SliceReader(
            self.config,
            self.schema,
            self.visibility,
            merger=merger,
            merge_memory=self.options.merge_memory,
            history=self.history,
            with_keys=True,
        )


def action_of(config: TableConfig, operation: Operation) -> Action:
    """Return the action under which a write is on the timeline."""
    if operation in REPLACING:
        return Action.REPLACE_COMMIT
    return Action.COMMIT if config.table_type is TableType.COPY_ON_WRITE else Action.DELTA_COMMIT


def write_plan(
    state: TableState, operation: Operation, instant: str, *, in_tasks: bool = True, schema: TableSchema | None = None
) -> WritePlan:
    """Return the plan of a write at *instant*; *schema* is the table's new schema, if the write changes it.

    Raises:
        CorruptTableError: a commit or a pending plan that is needed is damaged.
        UnsupportedFeatureError: the record index, which is to find the keys, cannot be read.
    """
    plan = WritePlan(
        root=state.storage.root,
        config=state.config,
        schema=_schema_of_files(state, schema),
        options=_options_of(state),
        operation=operation,
        instant=instant,
        visibility=state.visibility,
        sizing=sizing_profile(state, operation) if _is_sized(state, operation) else None,
        in_clustering=state.in_clustering,
        in_tasks=in_tasks,
        history=schema_history(state) if state.has_ids() else None,
        indexes=indexes_of(state, schema) if state.config.metadata_partitions else None,
        merger=state.context.merger,
        merges_in_tasks=state.context.merger is None and not state.options.concurrency.is_non_blocking,
        compactions=(
            {key: group.instant.time for key, group in state.in_compaction.items()} if state.logs_name_slices else {}
        ),
        registered=state.registered,
    )
    if plan.looks_keys_up or plan.uses_buckets or operation in REPLACING:
        plan = replace(plan, named=newest_files(state.commits(_writes_to_compare(state)), state.visibility))
    return replace(plan, record_index=_record_index(state)) if plan.looks_keys_up else plan


def _writes_to_compare(state: TableState) -> Sequence[Instant]:
    """Return the writes whose files the listings of partitions have to show: the newest where these show all files."""
    writes = state.timeline.completed_writes
    return writes[-1:] if state.storage.capabilities.lists_all else writes


def plan_of_service(state: TableState, instant: str) -> WritePlan:
    """Return what the tasks of a compaction or a clustering at *instant* must know of the table."""
    plan = WritePlan(
        root=state.storage.root,
        config=state.config,
        schema=state.schema_of_files,
        options=state.options,
        operation=Operation.UPSERT,
        instant=instant,
        visibility=state.visibility,
        history=schema_history(state),
        indexes=indexes_of(state) if state.config.metadata_partitions else None,
    )
    return with_schema_of_plan(state, plan)


def with_schema_of_plan(state: TableState, plan: WritePlan) -> WritePlan:
    """Return the *plan* of a planned service with the columns that the table had when the service was planned.

    Readers take the columns of a file from the schema of its instant.  A column that was renamed since the service was
    planned would be null in files that have its new name, and a widened one would not fit queries of earlier moments.

    Source: InternalSchemaCache.getInternalSchemaAndAvroSchemaForClusteringAndCompaction, Hudi 1.2.0.
    """
    if not state.is_changed_since(plan.instant):
        return plan
    schema = replace(state.schema_at(plan.instant), keeps_operations=plan.schema.keeps_operations)
    return replace(plan, schema=schema, history=schema_history(state, plan.instant))


def _options_of(state: TableState) -> WriteOptions:
    """Return the options, completed by the bucket rules that the table itself stores."""
    options = state.options
    if options.index_type is not IndexType.BUCKET or options.bucket_engine is not BucketEngine.SIMPLE:
        return options
    return with_bucket_rules(options, state.storage, state.timeline)


def _record_index(state: TableState) -> RecordIndex | None:
    """Return the record index if it is the index of the write; warn if the options ask for one that the table lacks."""
    used, asked = state.options.index_type, state.context.options.index_type
    if used.uses_record_index or used.uses_partitioned_index:
        partitioned = used.uses_partitioned_index
        return RecordIndex.of(state.storage, state.config, state.timeline, partitioned=partitioned)
    if asked.uses_record_index:
        _warn_of_no_index(state, asked, "no record index", "all its keys", "global.record")
    if asked.uses_partitioned_index:
        _warn_of_no_index(state, asked, "no partitioned record index", "the keys of the rows' partitions", "record")
    return None


def _warn_of_no_index(state: TableState, asked: IndexType, lacks: str, reads: str, key: str) -> None:
    warn(
        f"{state.storage.root}: hoodie.index.type is {asked.value}, but the table has {lacks}: {reads} are read, as "
        f"with {state.options.index_type.value}; create the table with hoodie.metadata.enable=true and "
        f"hoodie.metadata.{key}.level.index.enable=true to have one",
    )


def _schema_of_files(state: TableState, schema: TableSchema | None) -> TableSchema:
    files = state.schema_of_files
    stored = None if schema is None else schema.without(state.config.dropped_fields)
    return files if stored is None else replace(stored, keeps_operations=files.keeps_operations)


def partial_schema(operation: Operation, options: WriteOptions) -> TableSchema | None:
    """Return the columns that the rows of a write have, if they are not all columns of the table; else None."""
    return TableSchema(options.partial_schema) if options.partial_schema and operation is Operation.UPSERT else None


def _is_sized(state: TableState, operation: Operation) -> bool:
    """Return whether sizing assigns new rows to file groups; with a bucket index, the hash of the key does."""
    # A custom merger is called when rows of log files are read, so the rows must go to log files if there are any.
    is_logged = state.context.merger is not None and state.config.table_type is TableType.MERGE_ON_READ
    if is_logged or state.options.index_type is IndexType.BUCKET:
        return False
    return operation in (Operation.INSERT, Operation.UPSERT)


def sizing_profile(state: TableState, operation: Operation) -> SizingProfile:
    """Return the sizing profile of a table; it reads commits, from the newest on, until one yields the record size."""
    options = state.options
    sizing = options.sizing
    if partial_schema(operation, options) is not None:
        # No file group counts as small, because a new row must not rewrite a group that gets partial updates: Hudi then
        # rewrites the base file with the columns of the updates alone, and loses the other columns.
        sizing = replace(sizing, small_file_limit=0)
    return SizingProfile(
        kind=_kind_of(state),
        engine=options.sizing_engine,
        options=sizing,
        commits=lambda: ((done, state.metadata(done)) for done in reversed(state.timeline.completed_writes)),
        in_compaction=frozenset(state.in_compaction),
        in_clustering=state.in_clustering,
        parallelism=_parallelism(options),
    )


def _parallelism(options: WriteOptions) -> Parallelism | None:
    """Return the tasks among which Flink's sizing divides new rows; None for a single one."""
    is_divided = options.sizing_engine is SizingEngine.FLINK and options.sizing_tasks > 1
    return Parallelism.of(options.sizing_tasks) if is_divided else None


def _kind_of(state: TableState) -> Kind:
    """Return which file groups of a table may take new rows."""
    if state.config.table_type is TableType.COPY_ON_WRITE:
        return Kind.COW
    return Kind.MOR if state.options.index_type.indexes_log_files else Kind.MOR_BLIND
