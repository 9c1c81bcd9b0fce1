"""Parse options by Hudi's keys: each key has the field that it sets and a parser for its text.

An unknown key is an error that names the closest known one.  ``answers.py`` classifies Hudi's other keys: unless the
value asks for nothing, a refused key is an error, and a key without effect warns once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hudiformat.errors import OptionError, UnsupportedFeatureError, suggest_names, warn
from hudiformat.file_group.damage import DamageMode
from hudiformat.schema.evolution import MAY_DROP, PARTIAL_SCHEMA, SCHEMA_ON_READ, SET_NULL, WIDEN_DECIMALS
from hudiformat.schema.time_labels import TIME_LABELS, parse_time_labels
from hudiformat.table.options.answers import Answer, asks_for_nothing, current_name, hudi_keys, rule_of
from hudiformat.table.options.aws import AWS_KEYS
from hudiformat.table.options.buckets import BUCKETING_KEYS, BucketEngine
from hudiformat.table.options.clustering import CLUSTERING_KEYS
from hudiformat.table.options.expiry import EXPIRY_KEYS
from hudiformat.table.options.locks import (
    DYNAMODB_KEYS,
    FILE_KEYS,
    HIVE_KEYS,
    LOCK_KEYS,
    STORAGE_KEYS,
    ZOOKEEPER_KEYS,
)
from hudiformat.table.options.merging import MERGING_KEYS
from hudiformat.table.options.parsers import (
    Keys,
    member_of,
    one_of,
    parse_any_integer,
    parse_boolean,
    parse_count,
    parse_fields,
    parse_integer,
    parse_share,
    parse_text,
    parser_of_supported,
)
from hudiformat.table.options.reporting import CALLBACK_KEYS, GATEWAY_KEYS, METRICS_KEYS
from hudiformat.table.options.sync import GLUE_KEYS, SYNC_KEYS
from hudiformat.table.options.timed_paths import PATH_KEYS
from hudiformat.table.options.validation import VALIDATION_KEYS
from hudiformat.table.options.values import (
    FAILED_WRITES_POLICY,
    SUPPORTED_INDEX_TYPES,
    CleanPolicy,
    ConcurrencyMode,
    DuplicatePolicy,
    FailedWritesPolicy,
    IndexType,
    SizingEngine,
    SortMode,
    WriteOptions,
)

NEW_KEY_ENCODING = "hoodie.write.complex.keygen.new.encoding"
BOOTSTRAP_BASE_PATH = "hoodie.bootstrap.base.path"
"""The option that names the folder of a bootstrapped table's source files, which is not read if nobody names it."""
KEEP_OPERATIONS = "hoodie.allow.operation.metadata.field"
"""The option that adds the meta field of the operation to records."""

_OTHER_SORT_MODES = ("PARTITION_PATH_REPARTITION", "PARTITION_PATH_REPARTITION_AND_SORT")
_NO_HFILES = "avro or parquet, as Hudi 1.x cannot read HFile blocks in tables of Parquet files on Spark"


def parse_write_options(options: Mapping[str, str] | None, onto: WriteOptions | None = None) -> WriteOptions:
    """Parse *options*, which may include ``hoodie.*`` keys of table properties; others are as in *onto*, or defaults.

    Raises:
        OptionError: a key is unknown, or does not accept its value.
        UnsupportedFeatureError: Hudi knows the value, but hudiformat does not support it.
    """
    given = {_known_name(key): str(value) for key, value in (options or {}).items()}
    for key, value in given.items():
        if not is_honoured(key):
            _judge(key, value)
    result = onto or WriteOptions()
    for path, keys in OPTION_KEYS.items():
        changes = {keys[key][0]: keys[key][1](key, value) for key, value in given.items() if key in keys}
        result = _with(result, path, changes) if changes else result
    result.concurrency.check()
    result.validation.check()
    result.metrics.check()
    result.callback.check()
    result.catalogs.check(result.catalogs.after_commits)
    return result


def _with(value: Any, path: tuple[str, ...], changes: Mapping[str, Any]) -> Any:
    """Return *value* with *changes* to the value that the fields of *path* lead to."""
    if not path:
        return replace(value, **changes)
    return replace(value, **{path[0]: _with(getattr(value, path[0]), path[1:], changes)})


def is_honoured(key: str) -> bool:
    """Return whether a key sets an option, or is compared with the table's properties."""
    return any(key in keys for keys in (*OPTION_KEYS.values(), TABLE_KEYS, FACT_KEYS))


def _known_name(key: str) -> str:
    """Return the name under which a key is parsed: as given, or else its current name in Hudi."""
    return key if is_honoured(key) else current_name(key)


def _judge(key: str, value: str) -> None:
    """Raise an error for an unknown or a refused key; warn once for a key of Hudi without effect here."""
    if key not in hudi_keys():
        known = set(TABLE_KEYS).union(*OPTION_KEYS.values())
        hint = suggest_names(key, known | hudi_keys().keys(), most=3) or _NOTHING_ALIKE
        raise OptionError(f"unknown option {key!r}{hint}", option=key, is_unknown=True)
    rule = rule_of(key)
    if rule.answer is Answer.SAME or asks_for_nothing(key, value):
        return
    if rule.answer is Answer.REFUSED:
        default = hudi_keys()[key].default
        expected = f"no such option or {default!r}" if default else "no such option"
        raise UnsupportedFeatureError(
            f"{key}: expected {expected}, found {value!r}, which is refused: {rule.why}; leave it out", feature=key
        )
    if key not in _warned:
        _warned.add(key)
        message = f"the option {key!r} of Hudi's means nothing to hudiformat and is left out: {rule.why}"
        warn(message)


_warned: set[str] = set()
_NOTHING_ALIKE = "; no option has a name like it: see docs/options.md"


def _drops_duplicates(key: str, value: str) -> DuplicatePolicy:
    return DuplicatePolicy.DROP if parse_boolean(key, value) else DuplicatePolicy.NONE


_KEYS: Keys = {
    "hoodie.index.type": (
        "index_type",
        parser_of_supported(
            member_of(SUPPORTED_INDEX_TYPES),
            supported=f"one of {', '.join(one.value for one in SUPPORTED_INDEX_TYPES)}",
            others=tuple(one.value for one in IndexType if not one.is_supported and one is not IndexType.UNKNOWN),
            feature="index",
        ),
    ),
    "hoodie.bucket.index.num.buckets": ("num_buckets", parse_integer),
    "hoodie.bucket.index.hash.field": ("hash_fields", parse_fields),
    "hoodie.index.bucket.engine": (
        "bucket_engine",
        member_of(BucketEngine),
    ),
    NEW_KEY_ENCODING: ("plain_keys", parse_boolean),
    "hoodie.simple.index.update.partition.path": ("simple_moves", parse_boolean),
    "hoodie.bloom.index.update.partition.path": ("bloom_moves", parse_boolean),
    "hoodie.record.index.update.partition.path": ("record_moves", parse_boolean),
    "hoodie.logfile.max.size": ("log_max_size", parse_integer),
    "hoodie.logfile.data.block.max.size": ("block_max_size", parse_integer),
    "hoodie.logfile.data.block.format": (
        "block_format",
        parser_of_supported(one_of("avro", "parquet"), supported=_NO_HFILES, others=("hfile",)),
    ),
    "hoodie.parquet.compression.codec": ("parquet_compression", one_of("gzip", "snappy", "zstd", "uncompressed")),
    "hoodie.orc.compression.codec": ("orc_compression", one_of("zlib", "snappy", "lz4", "zstd", "none")),
    "hoodie.parquet.bloom.filter.enabled": ("bloom_filter", parse_boolean),
    "hoodie.combine.before.insert": ("combine_before_insert", parse_boolean),
    "hoodie.combine.before.upsert": ("combine_before_upsert", parse_boolean),
    "hoodie.merge.allow.duplicate.on.inserts": ("allow_duplicates", parse_boolean),
    "hoodie.datasource.write.insert.drop.duplicates": ("insert_duplicates", _drops_duplicates),
    "hoodie.datasource.insert.dup.policy": ("insert_duplicates", member_of(DuplicatePolicy)),
    "hoodie.bulkinsert.sort.mode": (
        "bulk_insert_sort",
        parser_of_supported(
            member_of(SortMode),
            supported=f"one of {', '.join(one.value for one in SortMode)}",
            others=_OTHER_SORT_MODES,
        ),
    ),
    "hoodie.write.record.positions": ("record_positions", parse_boolean),
    PARTIAL_SCHEMA: ("partial_schema", parse_text),
    BOOTSTRAP_BASE_PATH: ("bootstrap_base_path", parse_text),
    "hoodie.metadata.enable": ("metadata_enable", parse_boolean),
    KEEP_OPERATIONS: ("keep_operations", parse_boolean),
    "hoodie.enable.data.skipping": ("data_skipping", parse_boolean),
    "hoodie.memory.merge.max.size": ("merge_memory", parse_integer),
    "hudiformat.damage": ("damage", member_of(DamageMode)),
    "hudiformat.sizing": ("sizing_engine", member_of(SizingEngine)),
    "hudiformat.sizing.tasks": ("sizing_tasks", parse_count),
    "hudiformat.spark.driver.rows": ("driver_rows", parse_count),
    "hudiformat.spark.driver.bytes": ("driver_bytes", parse_integer),
    WIDEN_DECIMALS: ("widen_decimals", parse_boolean),
    "hudiformat.logfile.append": ("log_append", parse_boolean),
    "hudiformat.sync": ("sync", parse_boolean),
}

_SIZING_KEYS: Keys = {
    "hoodie.parquet.max.file.size": ("max_file_size", parse_integer),
    "hoodie.parquet.small.file.limit": ("small_file_limit", parse_any_integer),
    "hoodie.merge.small.file.group.candidates.limit": ("candidates_limit", parse_any_integer),
    "hoodie.logfile.to.parquet.compression.ratio": ("log_ratio", parse_share),
    "hoodie.parquet.compression.ratio": ("spare_share", parse_share),
    "hoodie.copyonwrite.insert.split.size": ("insert_split_size", parse_integer),
    "hoodie.copyonwrite.insert.auto.split": ("auto_split", parse_boolean),
    "hoodie.copyonwrite.record.size.estimate": ("record_size_estimate", parse_integer),
    "hoodie.record.size.estimation.threshold": ("estimation_threshold", parse_share),
    "hoodie.record.size.estimator.average.metadata.size": ("metadata_size", parse_any_integer),
    "_hoodie.record.size.estimator.max.commits": ("estimation_commits", parse_any_integer),
}

TABLE_KEYS = (
    "hoodie.table.timeline.timezone",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
    *MERGING_KEYS,
    "hoodie.table.cdc.enabled",
    "hoodie.table.cdc.supplemental.logging.mode",
    "hoodie.table.base.file.format",
    "hoodie.base.file.format",
    "hoodie.partition.metafile.use.base.format",
    "hoodie.populate.meta.fields",
    "hoodie.datasource.write.drop.partition.columns",
)
"""Keys that are set when a table is created, and stored in its properties."""

FACT_KEYS = (
    "hoodie.table.name",
    "hoodie.datasource.write.table.name",
    "hoodie.table.type",
    "hoodie.datasource.write.table.type",
    "hoodie.write.table.version",
    "hoodie.timeline.layout.version",
    "hoodie.table.recordkey.fields",
    "hoodie.datasource.write.recordkey.field",
    "hoodie.table.partition.fields",
    "hoodie.datasource.write.partitionpath.field",
    "hoodie.table.ordering.fields",
    "hoodie.table.precombine.field",
    "hoodie.datasource.write.precombine.field",
    "hoodie.payload.ordering.field",
    "hoodie.table.keygenerator.class",
    "hoodie.datasource.write.keygenerator.class",
    "hoodie.table.keygenerator.type",
    "hoodie.datasource.write.keygenerator.type",
)
"""Keys that repeat arguments of a creation, or properties of a table, and have to agree with them."""

PERSISTED_KEYS = (
    "hoodie.index.type",
    "hoodie.bucket.index.num.buckets",
    "hoodie.bucket.index.hash.field",
    "hoodie.index.bucket.engine",
    "hoodie.bucket.index.partition.expressions",
    KEEP_OPERATIONS,
)
"""Keys of writes in Hudi on which all writers of a table have to agree, so they are stored in its properties."""


CONCURRENCY_KEYS: Keys = {
    "hoodie.write.concurrency.mode": ("mode", member_of(ConcurrencyMode)),
    FAILED_WRITES_POLICY: ("failed_writes", member_of(FailedWritesPolicy)),
    "hoodie.cleaner.policy.failed.writes": ("failed_writes", member_of(FailedWritesPolicy)),
    "hoodie.write.num.retries.on.conflict.failures": ("conflict_retries", parse_count),
    "hoodie.client.heartbeat.interval_in_ms": ("heartbeat_interval_ms", parse_integer),
    "hoodie.client.heartbeat.tolerable.misses": ("heartbeat_misses", parse_integer),
}


SERVICE_KEYS: Keys = {
    "hoodie.compact.inline": ("compact_inline", parse_boolean),
    "hoodie.compact.inline.max.delta.commits": ("compact_delta_commits", parse_integer),
    "hoodie.compaction.target.io": ("compaction_target_io_mb", parse_integer),
    "hoodie.compaction.logfile.size.threshold": ("compaction_log_size", parse_count),
    "hoodie.compaction.logfile.num.threshold": ("compaction_log_files", parse_count),
    "hoodie.log.compaction.enable": ("log_compaction", parse_boolean),
    "hoodie.log.compaction.blocks.threshold": ("log_compaction_blocks", parse_integer),
    "hoodie.clean.automatic": ("clean_automatic", parse_boolean),
    "hoodie.clean.policy": ("clean_policy", member_of(CleanPolicy)),
    "hoodie.cleaner.policy": ("clean_policy", member_of(CleanPolicy)),
    "hoodie.clean.commits.retained": ("clean_commits", parse_integer),
    "hoodie.cleaner.commits.retained": ("clean_commits", parse_integer),
    "hoodie.clean.fileversions.retained": ("clean_versions", parse_integer),
    "hoodie.cleaner.fileversions.retained": ("clean_versions", parse_integer),
    "hoodie.clean.hours.retained": ("clean_hours", parse_integer),
    "hoodie.cleaner.hours.retained": ("clean_hours", parse_integer),
    "hoodie.archive.automatic": ("archive_automatic", parse_boolean),
    "hoodie.keep.max.commits": ("archive_max_commits", parse_integer),
    "hoodie.keep.min.commits": ("archive_min_commits", parse_integer),
    "hoodie.metadata.compact.max.delta.commits": ("metadata_delta_commits", parse_integer),
}


_EVOLUTION_KEYS: Keys = {
    SET_NULL: ("set_null", parse_boolean),
    MAY_DROP: ("may_drop", parse_boolean),
    "hoodie.datasource.write.reconcile.schema": ("reconcile", parse_boolean),
    "hoodie.avro.schema.validate": ("validate", parse_boolean),
    SCHEMA_ON_READ: ("schema_on_read", parse_boolean),
    TIME_LABELS: ("time_labels", parse_time_labels),
}

_INDEXING_KEYS: Keys = {
    "hoodie.metadata.index.drop": ("drop", parse_fields),
    "hoodie.metadata.index.column.stats.enable": ("column_stats", parse_boolean),
    "hoodie.metadata.index.column.stats.column.list": ("columns", parse_fields),
    "hoodie.metadata.index.column.stats.max.columns.to.index": ("most_columns", parse_integer),
    "hoodie.metadata.index.column.stats.file.group.count": ("column_groups", parse_integer),
    "hoodie.metadata.index.partition.stats.enable": ("partition_stats", parse_boolean),
    "hoodie.metadata.index.partition.stats.file.group.count": ("partition_groups", parse_integer),
    "hoodie.metadata.index.bloom.filter.enable": ("bloom_filters", parse_boolean),
    "hoodie.metadata.index.bloom.filter.file.group.count": ("bloom_groups", parse_integer),
    "hoodie.metadata.record.index.enable": ("record_index", parse_boolean),
    "hoodie.metadata.global.record.level.index.enable": ("record_index", parse_boolean),
    "hoodie.metadata.record.level.index.enable": ("partitioned_record_index", parse_boolean),
    "hoodie.metadata.record.index.min.filegroup.count": ("record_groups", parse_integer),
    "hoodie.metadata.global.record.level.index.min.filegroup.count": ("record_groups", parse_integer),
}

OPTION_KEYS: Mapping[tuple[str, ...], Keys] = {
    (): _KEYS,
    ("sizing",): _SIZING_KEYS,
    ("concurrency",): CONCURRENCY_KEYS,
    ("concurrency", "lock"): LOCK_KEYS,
    ("concurrency", "lock", "file"): FILE_KEYS,
    ("concurrency", "lock", "storage"): STORAGE_KEYS,
    ("concurrency", "lock", "zookeeper"): ZOOKEEPER_KEYS,
    ("concurrency", "lock", "dynamodb"): DYNAMODB_KEYS,
    ("concurrency", "lock", "dynamodb", "aws"): AWS_KEYS,
    ("concurrency", "lock", "hive"): HIVE_KEYS,
    ("services",): SERVICE_KEYS,
    ("evolution",): _EVOLUTION_KEYS,
    ("indexing",): _INDEXING_KEYS,
    ("bucketing",): BUCKETING_KEYS,
    ("validation",): VALIDATION_KEYS,
    ("metrics",): METRICS_KEYS,
    ("metrics", "gateway"): GATEWAY_KEYS,
    ("callback",): CALLBACK_KEYS,
    ("timed_paths",): PATH_KEYS,
    ("clustering",): CLUSTERING_KEYS,
    ("expiry",): EXPIRY_KEYS,
    ("catalogs",): SYNC_KEYS,
    ("catalogs", "glue"): GLUE_KEYS,
    ("catalogs", "glue", "aws"): AWS_KEYS,
}
"""All keys that set an option, by the fields of WriteOptions that lead to the value with that option."""
