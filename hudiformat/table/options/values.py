"""The options of a write and of the services after it: enumerations and frozen values.  ``keys.py`` parses them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from hudiformat.errors import OptionError
from hudiformat.file_group.damage import DamageMode
from hudiformat.file_group.reader import DEFAULT_MERGE_MEMORY
from hudiformat.schema.evolution import EvolutionOptions
from hudiformat.sizing.record_size import SizingOptions
from hudiformat.table.options.buckets import BucketEngine, BucketingOptions
from hudiformat.table.options.clustering import ClusteringOptions
from hudiformat.table.options.expiry import ExpiryOptions
from hudiformat.table.options.locks import LockOptions
from hudiformat.table.options.reporting import CallbackOptions, MetricsOptions
from hudiformat.table.options.sync import SyncOptions
from hudiformat.table.options.timed_paths import TimedPathOptions
from hudiformat.table.options.validation import ValidationOptions


class Operation(Enum):
    """What a write does with its rows.

    Source: org.apache.hudi.common.model.WriteOperationType.
    """

    INSERT = "INSERT"
    UPSERT = "UPSERT"
    BULK_INSERT = "BULK_INSERT"
    DELETE = "DELETE"
    INSERT_OVERWRITE = "INSERT_OVERWRITE"
    INSERT_OVERWRITE_TABLE = "INSERT_OVERWRITE_TABLE"
    DELETE_PARTITION = "DELETE_PARTITION"
    ALTER_SCHEMA = "ALTER_SCHEMA"


REPLACING = (Operation.INSERT_OVERWRITE, Operation.INSERT_OVERWRITE_TABLE, Operation.DELETE_PARTITION)
"""The operations that remove file groups from the table; they complete as replace commits."""
OVERWRITING = (Operation.INSERT_OVERWRITE, Operation.INSERT_OVERWRITE_TABLE)
"""The operations whose rows replace all rows of the partitions that they occur in, or of the table."""


class IndexType(Enum):
    """How the file group of a record key is found (``hoodie.index.type``).

    Source: org.apache.hudi.index.HoodieIndex.IndexType, Hudi 1.2.0.
    """

    SIMPLE = "SIMPLE"
    BLOOM = "BLOOM"
    INMEMORY = "INMEMORY"
    BUCKET = "BUCKET"
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    GLOBAL_BLOOM = "GLOBAL_BLOOM"
    RECORD_INDEX = "RECORD_INDEX"
    GLOBAL_RECORD_LEVEL_INDEX = "GLOBAL_RECORD_LEVEL_INDEX"
    RECORD_LEVEL_INDEX = "RECORD_LEVEL_INDEX"
    FLINK_STATE = "FLINK_STATE"
    HBASE = "HBASE"
    UNKNOWN = "UNKNOWN"
    """The word in a table's properties is unknown to Hudi, too."""

    @property
    def is_supported(self) -> bool:
        """Whether hudiformat can write a table with this index."""
        return self in SUPPORTED_INDEX_TYPES

    @property
    def is_global(self) -> bool:
        """Whether a record key is looked up in all partitions."""
        return self in (IndexType.GLOBAL_SIMPLE, IndexType.GLOBAL_BLOOM) or self.uses_record_index

    @property
    def uses_record_index(self) -> bool:
        """Whether record keys are looked up in the global record index of the metadata table."""
        return self in BY_RECORD_INDEX

    @property
    def uses_partitioned_index(self) -> bool:
        """Whether record keys are looked up in the partitioned record index, each in the partition of its row."""
        return self is IndexType.RECORD_LEVEL_INDEX

    @property
    def uses_bloom_filters(self) -> bool:
        """Whether the bloom filters of base files are read before their keys."""
        return self in (IndexType.BLOOM, IndexType.GLOBAL_BLOOM)

    @property
    def indexes_log_files(self) -> bool:
        """Whether the index finds keys that only log files contain, so that new rows may go to log files."""
        return self is IndexType.INMEMORY


BY_RECORD_INDEX = (IndexType.RECORD_INDEX, IndexType.GLOBAL_RECORD_LEVEL_INDEX)
"""The indexes that look record keys up in the global record index of the metadata table."""
SUPPORTED_INDEX_TYPES = (
    IndexType.SIMPLE,
    IndexType.BLOOM,
    IndexType.INMEMORY,
    IndexType.BUCKET,
    IndexType.GLOBAL_SIMPLE,
    IndexType.GLOBAL_BLOOM,
    IndexType.RECORD_INDEX,
    IndexType.GLOBAL_RECORD_LEVEL_INDEX,
    IndexType.RECORD_LEVEL_INDEX,
)
"""The indexes that hudiformat writes with."""


class ConcurrencyMode(Enum):
    """Whether other writers may write to the table at the same time (``hoodie.write.concurrency.mode``).

    Source: org.apache.hudi.common.model.WriteConcurrencyMode.
    """

    SINGLE_WRITER = "SINGLE_WRITER"
    OPTIMISTIC = "OPTIMISTIC_CONCURRENCY_CONTROL"
    NON_BLOCKING = "NON_BLOCKING_CONCURRENCY_CONTROL"


class FailedWritesPolicy(Enum):
    """When failed writes are rolled back (``hoodie.clean.failed.writes.policy``).

    Source: org.apache.hudi.common.model.HoodieFailedWritesCleaningPolicy.
    """

    EAGER = "EAGER"
    LAZY = "LAZY"
    NEVER = "NEVER"


class CleanPolicy(Enum):
    """Which file slices a clean keeps (``hoodie.clean.policy``).

    Source: org.apache.hudi.common.model.HoodieCleaningPolicy.
    """

    BY_COMMITS = "KEEP_LATEST_COMMITS"
    BY_VERSIONS = "KEEP_LATEST_FILE_VERSIONS"
    BY_HOURS = "KEEP_LATEST_BY_HOURS"


class CdcMode(Enum):
    """What a change-data log records (``hoodie.table.cdc.supplemental.logging.mode``).

    Source: org.apache.hudi.common.table.cdc.HoodieCDCSupplementalLoggingMode.
    """

    KEYS_ONLY = "OP_KEY_ONLY"
    BEFORE = "DATA_BEFORE"
    BEFORE_AFTER = "DATA_BEFORE_AFTER"


class DuplicatePolicy(Enum):
    """What an insert does with a record key that the table already has (``hoodie.datasource.insert.dup.policy``)."""

    NONE = "none"
    """The row is added without looking up its key."""
    DROP = "drop"
    """The row is left out."""
    FAIL = "fail"
    """A DataError is raised."""


class SortMode(Enum):
    """The order in which a bulk insert writes rows (``hoodie.bulkinsert.sort.mode``).

    Source: org.apache.hudi.execution.bulkinsert.BulkInsertSortMode.
    """

    NONE = "NONE"
    GLOBAL_SORT = "GLOBAL_SORT"
    PARTITION_SORT = "PARTITION_SORT"


class SizingEngine(Enum):
    """Whose rules assign new rows to file groups (``hudiformat.sizing``)."""

    SPARK = "spark"
    FLINK = "flink"


FAILED_WRITES_POLICY = "hoodie.clean.failed.writes.policy"


@dataclass(frozen=True, slots=True)
class ConcurrencyOptions:
    """Whether a table has other writers, and how conflicts between writers are avoided.

    ``mode`` and ``failed_writes`` are words of Hudi's WriteConcurrencyMode and HoodieFailedWritesCleaningPolicy.

    Source: HoodieWriteConfig, HoodieLockConfig, HoodieCleanConfig, Hudi 1.2.0.
    """

    mode: ConcurrencyMode = ConcurrencyMode.SINGLE_WRITER
    failed_writes: FailedWritesPolicy | None = None
    conflict_retries: int = 0
    heartbeat_interval_ms: int = 60_000
    heartbeat_misses: int = 2
    lock: LockOptions = field(default_factory=LockOptions)

    @property
    def is_non_blocking(self) -> bool:
        """Whether all writers commit, even if they write to the same file group."""
        return self.mode is ConcurrencyMode.NON_BLOCKING

    @property
    def has_other_writers(self) -> bool:
        """Whether other writers may be at work on the table at the same time."""
        return self.mode is not ConcurrencyMode.SINGLE_WRITER

    @property
    def failed_writes_policy(self) -> FailedWritesPolicy:
        """When failed writes are rolled back; if there are other writers, only writes without a heartbeat are."""
        return self.failed_writes or (FailedWritesPolicy.LAZY if self.has_other_writers else FailedWritesPolicy.EAGER)

    @property
    def heartbeat_tolerance(self) -> float:
        """The seconds without a heartbeat after which a writer is considered dead."""
        return self.heartbeat_interval_ms * self.heartbeat_misses / 1000

    def check(self) -> None:
        """Raise an OptionError for options that contradict each other."""
        if self.has_other_writers and self.failed_writes is FailedWritesPolicy.EAGER:
            raise OptionError(
                f"{FAILED_WRITES_POLICY}: expected LAZY with {self.mode.value}, found EAGER, which "
                "deletes what other writers are writing; set it to LAZY, or leave it out",
                option=FAILED_WRITES_POLICY,
            )
        self.lock.check()


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """When services run after a write or in ``maintain``, and how much they keep.

    ``log_compaction`` is used by ``maintain`` only.

    Source: HoodieCleanConfig, HoodieArchivalConfig, HoodieCompactionConfig, Hudi 1.2.0.
    """

    compact_inline: bool = False
    compact_delta_commits: int = 5
    compaction_target_io_mb: int = 512_000
    compaction_log_size: int = 0
    compaction_log_files: int = 0
    log_compaction: bool = False
    log_compaction_blocks: int = 5
    clean_automatic: bool = True
    clean_policy: CleanPolicy = CleanPolicy.BY_COMMITS
    clean_commits: int = 10
    clean_versions: int = 3
    clean_hours: int = 24
    archive_automatic: bool = True
    archive_max_commits: int = 30
    archive_min_commits: int = 20
    metadata_delta_commits: int = 10

    def may_clean(self, commits: int) -> bool:
        """Return whether a table with so many completed commits can have anything to clean."""
        return self.clean_policy is not CleanPolicy.BY_COMMITS or commits > self.clean_commits

    def first_retained(self, commits: int) -> int | None:
        """Return the number, from 0, of the first of so many completed commits that a clean keeps; None if it has none.

        Only the policy that keeps a number of commits counts them.

        Source: CleanerUtils.getEarliestCommitToRetain, Hudi 1.2.0.
        """
        if self.clean_policy is not CleanPolicy.BY_COMMITS or not self.may_clean(commits):
            return None
        return commits - self.clean_commits


@dataclass(frozen=True, slots=True)
class IndexingOptions:
    """Which partitions a new metadata table gets in addition to the list of files, and with how many file groups.

    ``columns`` are the columns with statistics, by default the first ``most_columns``.  ``drop`` are partitions of an
    existing metadata table that a write drops.

    Source: HoodieMetadataConfig, Hudi 1.2.0.
    """

    column_stats: bool = True
    columns: tuple[str, ...] = ()
    most_columns: int = 32
    column_groups: int = 2
    partition_stats: bool = True
    partition_groups: int = 1
    bloom_filters: bool = False
    bloom_groups: int = 4
    record_index: bool = False
    partitioned_record_index: bool = False
    record_groups: int = 10
    drop: tuple[str, ...] = ()


_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a write.  Sizes are bytes.

    ``sync`` makes every append return only once its data is on disk.  ``num_buckets`` is per partition.
    With ``log_append``, log files of table version 6 are appended to where the storage can do that.
    ``parquet_compression`` is for base files and for Parquet blocks in log files; Hudi's default is gzip, which takes
    twice as long without the extra ``gzip``; ``orc_compression`` is for base files in ORC. ``sizing_engine`` chooses
    whose rules assign new rows, Spark's or Flink's, and ``sizing_tasks`` among how many tasks Flink's divide them.
    ``simple_moves``, ``bloom_moves``, ``record_moves``: whether a row that a global index finds in another partition
    moves to its own. ``allow_duplicates`` lets an insert add a key to a file that has it.
    ``keep_operations``: log records and base files have the meta field of the operation, as in a changelog of Flink's.
    ``driver_rows`` and ``driver_bytes`` are the most that Spark's driver writes in its own process: rows, and bytes of
    rows and of the files that are read or rewritten for them.
    ``plain_keys``: the COMPLEX key generator makes the key ``1`` of one field below version 9, not ``a:1``; None if the
    option was not given.
    ``bootstrap_base_path`` is the folder of a bootstrapped table's source files, if the user has named it.
    ``partial_schema`` is an Avro schema, as JSON, of the columns that an upsert brings; empty for all.
    """

    index_type: IndexType = IndexType.SIMPLE
    num_buckets: int = 256
    hash_fields: tuple[str, ...] = ()
    bucket_engine: BucketEngine = BucketEngine.SIMPLE
    bucketing: BucketingOptions = field(default_factory=BucketingOptions)
    timed_paths: TimedPathOptions = field(default_factory=TimedPathOptions)
    simple_moves: bool = True
    bloom_moves: bool = True
    record_moves: bool = False
    log_max_size: int = 1024 * _MIB
    block_max_size: int = 256 * _MIB
    log_append: bool = False
    block_format: str = "avro"
    sizing: SizingOptions = field(default_factory=SizingOptions)
    sizing_engine: SizingEngine = SizingEngine.SPARK
    sizing_tasks: int = 1
    parquet_compression: str = "zstd"
    orc_compression: str = "zlib"
    bloom_filter: bool = True
    combine_before_insert: bool = False
    combine_before_upsert: bool = True
    allow_duplicates: bool = True
    insert_duplicates: DuplicatePolicy = DuplicatePolicy.NONE
    bulk_insert_sort: SortMode = SortMode.NONE
    record_positions: bool = True
    partial_schema: str = ""
    bootstrap_base_path: str = ""
    metadata_enable: bool | None = None
    plain_keys: bool | None = None
    keep_operations: bool = False
    data_skipping: bool = True
    damage: DamageMode = DamageMode.HUDI
    merge_memory: int = DEFAULT_MERGE_MEMORY
    sync: bool = True
    driver_rows: int = 50_000
    driver_bytes: int = 128 * _MIB
    concurrency: ConcurrencyOptions = field(default_factory=ConcurrencyOptions)
    services: ServiceOptions = field(default_factory=ServiceOptions)
    widen_decimals: bool = True
    evolution: EvolutionOptions = field(default_factory=EvolutionOptions)
    indexing: IndexingOptions = field(default_factory=IndexingOptions)
    clustering: ClusteringOptions = field(default_factory=ClusteringOptions)
    expiry: ExpiryOptions = field(default_factory=ExpiryOptions)
    catalogs: SyncOptions = field(default_factory=SyncOptions)
    validation: ValidationOptions = field(default_factory=ValidationOptions)
    metrics: MetricsOptions = field(default_factory=MetricsOptions)
    callback: CallbackOptions = field(default_factory=CallbackOptions)

    @property
    def is_global(self) -> bool:
        """Whether a record key is looked up in all partitions."""
        return self.index_type.is_global

    @property
    def moves_partitions(self) -> bool:
        """Whether a row that a global index finds in another partition moves to the partition of its new values."""
        if self.index_type.uses_record_index:
            return self.record_moves
        return self.bloom_moves if self.index_type.uses_bloom_filters else self.simple_moves

    @property
    def parquet_codec(self) -> str:
        """Arrow's name for ``parquet_compression``."""
        return "none" if self.parquet_compression == "uncompressed" else self.parquet_compression

    def codec_of(self, base_file_format: str) -> str:
        """Return Arrow's name for the compression of base files of a format, by its name in Hudi."""
        if base_file_format != "ORC":
            return self.parquet_codec
        return "uncompressed" if self.orc_compression == "none" else self.orc_compression
