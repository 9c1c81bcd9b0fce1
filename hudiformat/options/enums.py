"""The choices that options give: an enumeration for each option that takes one of a few words."""

from __future__ import annotations

from enum import Enum


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


REPLACING = (Operation.INSERT_OVERWRITE, Operation.INSERT_OVERWRITE_TABLE, Operation.DELETE_PARTITION)
"""The operations that remove file groups from the table; they complete as replace commits."""


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
    """A word in a table's properties that Hudi does not know either."""

    @property
    def is_supported(self) -> bool:
        """Whether hudiformat can write a table with this index."""
        return self in SUPPORTED_INDEX_TYPES

    @property
    def is_global(self) -> bool:
        """Whether a record key is looked up in all partitions."""
        return self in (IndexType.GLOBAL_SIMPLE, IndexType.GLOBAL_BLOOM)

    @property
    def uses_bloom_filters(self) -> bool:
        """Whether the bloom filters of base files are read before their keys."""
        return self in (IndexType.BLOOM, IndexType.GLOBAL_BLOOM)

    @property
    def indexes_log_files(self) -> bool:
        """Whether the index finds keys that only log files contain, so that new rows may go to log files."""
        return self is IndexType.INMEMORY


SUPPORTED_INDEX_TYPES = (
    IndexType.SIMPLE,
    IndexType.BLOOM,
    IndexType.INMEMORY,
    IndexType.BUCKET,
    IndexType.GLOBAL_SIMPLE,
    IndexType.GLOBAL_BLOOM,
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
    """It adds the row without looking the key up."""
    DROP = "drop"
    """It leaves the row out."""
    FAIL = "fail"
    """It raises a DataError."""


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


class DamageMode(Enum):
    """What a read does with damaged files (``hudiformat.damage``)."""

    HUDI = "hudi"
    """As Hudi does: corrupt blocks are skipped silently, other damage is an error."""
    FAIL = "fail"
    """All damage is an error."""
    SKIP = "skip"
    """Damage is skipped, and each loss is a warning."""
