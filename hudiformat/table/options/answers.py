"""Classify each of Hudi's keys as honoured, refused, the same, or without effect; docs/options.md lists all.

A key that this package parses is honoured.  Every other key has one answer in :data:`RULES`.  A refused key is accepted
if its value asks for nothing: if it is Hudi's default, or a value that the rule accepts.

Source: the config classes of Hudi 1.2.0, and the new keys of 1.2.1, in ``hudi_keys.txt``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources


class Answer(Enum):
    """How a key is handled."""

    HONOURED = "honoured"
    REFUSED = "refused"
    NO_EFFECT = "no effect"
    SAME = "the same"
    """What comes out is what Hudi makes, whatever the value: nobody is warned."""


@dataclass(frozen=True, slots=True)
class HudiKey:
    """A key of Hudi's: its default as a text, the class that defines it, and for an older name the newer one."""

    name: str
    default: str = ""
    group: str = "other"
    now: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """The answer for keys that match *pattern*, the reason, and the values that a refused key accepts.

    A refused key always accepts its default.
    """

    pattern: str
    answer: Answer
    why: str
    takes: tuple[str, ...] = ()


_SIMPLE_CONFLICTS = "org.apache.hudi.client.transaction.SimpleConcurrentFileWritesConflictResolutionStrategy"
_RUNS = "org.apache.hudi.client.clustering.run.strategy."
_EXECUTIONS = (
    f"{_RUNS}SparkSortAndSizeExecutionStrategy",
    f"{_RUNS}JavaSortAndSizeExecutionStrategy",
    f"{_RUNS}SparkConsistentBucketClusteringExecutionStrategy",
)
_MERGERS = ("org.apache.hudi.HoodieSparkRecordMerger", "org.apache.hudi.common.model.HoodieAvroRecordMerger")

_BY_THRIFT = "a metastore is told by Thrift, without a HiveServer2"

_REFUSED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("hoodie.index.class", "it names a Java class", ()),
    ("hoodie.prewrite.cleaner.policy", "cleans run after a write", ()),
    ("hoodie.clean.partition.filter.*", "a clean looks at all partitions", ()),
    ("hoodie.archive.beyond.savepoint", "archiving ends at a savepoint", ()),
    ("hoodie.archive.block.on.latest.clean.ectr", "archiving does not wait for cleans", ()),
    ("hoodie.compact.schedule.inline", "call table.schedule_compaction()", ()),
    ("hoodie.log.compaction.inline", "call table.log_compact()", ()),
    ("hoodie.compact.inline.trigger.strategy", "delta commits are counted", ()),
    ("hoodie.compaction.strategy", "the largest log files come first, up to hoodie.compaction.target.io", ()),
    ("hoodie.compaction.partition.path.regex", "a compaction looks at all partitions", ()),
    ("hoodie.compaction.plan.generator", "it names a Java class", ()),
    ("hoodie.clustering.execution.strategy.class", "rows are sorted and written by size", _EXECUTIONS),
    ("hoodie.clustering.plan.strategy.earliest.commit.to.cluster", "all commits are looked at", ()),
    ("hoodie.clustering.plan.strategy.binary.copy.*", "files of different columns are decoded, not copied", ()),
    ("hoodie.clustering.enable.expirations", "a clustering without a heartbeat is taken over", ()),
    ("hoodie.clustering.rollback.pending.replacecommit.on.conflict", "the write is refused", ()),
    ("hoodie.write.lock.conflict.resolution.strategy", "writes to one file group conflict", (_SIMPLE_CONFLICTS,)),
    ("hoodie.write.concurrency.schema.conflict.resolution.enable", "schemas are always compared", ()),
    ("hoodie.parquet.outputtimestamptype", "timestamps keep their unit", ()),
    ("hoodie.avro.write.support.class", "it names a Java class", ()),
    ("hoodie.parquet.spark.row.write.support.class", "it names a Java class", ()),
    ("hoodie.parquet.flink.rowdata.write.support.class", "it names a Java class", ()),
    ("hoodie.parquet.write.config.injector.class", "it names a Java class", ()),
    ("hoodie.storage.layout.type", "the index decides", ("BUCKET",)),
    (
        "hoodie.storage.layout.partitioner.class",
        "it names a Java class",
        ("org.apache.hudi.table.action.commit.SparkBucketIndexPartitioner",),
    ),
    ("hoodie.record.size.estimator.class", "it names a Java class", ()),
    ("hoodie.fileid.prefix.provider.class", "it names a Java class", ()),
    ("hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled", "keys have Hudi's default form", ()),
    ("hoodie.prewrite.validators", "it names Java classes", ()),
    ("hoodie.metrics.reporter.class", "it names a Java class", ()),
    ("hoodie.metrics.configs.properties", "set hoodie.metrics.reporter.type, or hudiformat.metrics.textfile", ()),
    ("hoodie.write.commit.callback.class", "it names a Java class", ()),
    ("hoodie.table.log.file.format", "log files have Hudi's format", ()),
    ("hoodie.table.format", "tables have Hudi's format", ()),
    ("hoodie.table.multiple.base.file.formats.enable", "a table has base files of one format", ()),
    ("hoodie.archivelog.folder", "the folder is that of the table's version", ()),
    ("hoodie.timeline.history.path", "the folder is that of the table's version", ()),
    ("hoodie.timeline.path", "the folder is that of the table's version", ()),
    ("hoodie.write.schema", "the schema is the table's: evolve that", ()),
    ("hoodie.avro.schema", "the schema is the table's: evolve that", ()),
    ("hoodie.internal.schema", "the schema is the table's: evolve that", ()),
    ("hoodie.schema.internal.querySchema", "the schema is the table's", ()),
    ("hoodie.avro.schema.external.transformation", "schemas are not transformed", ()),
    ("hoodie.bulkinsert.user.defined.partitioner.*", "sort the rows, or set hoodie.bulkinsert.sort.mode", ()),
    ("hoodie.bulkinsert.are.partitioner.records.sorted", "set hoodie.bulkinsert.sort.mode", ("false",)),
    ("hoodie.bulkinsert.sort.suffix.record_key", "set hoodie.bulkinsert.sort.mode", ()),
    ("_.hoodie.allow.multi.write.on.same.instant", "every write has an instant of its own", ()),
    ("hoodie.write.rolling.metadata.keys", "of the commit before only the checkpoint of Hudi Streamer is repeated", ()),
    ("hoodie.table.services.enabled", "set hoodie.clean.automatic and hoodie.archive.automatic to false", ()),
    ("hoodie.client.init.callback.classes", "it names Java classes", ()),
    ("hoodie.write.merge.handle.class", "it names a Java class", ()),
    ("hoodie.write.concat.handle.class", "it names a Java class", ()),
    ("hoodie.compact.merge.handle.class", "it names a Java class", ()),
    ("hoodie.write.record.merge.custom.implementation.classes", "hand open_table a merger", _MERGERS),
    (
        "hoodie.payload.update.on.same.ordering.field",
        "of equal values the newer row counts, as in Hudi 1.2.0, which ignores the key",
        ("true",),
    ),
    ("hoodie.datasource.write.secondarykey.column", "create the index by itself", ()),
    ("hoodie.datasource.write.commitmeta.key.prefix", "options are not copied into the commit", ()),
    ("hoodie.datasource.write.partitions.to.delete", "call table.delete_partitions()", ()),
    ("hoodie.datasource.write.streaming.ignore.failed.batch", "a batch that fails ends the stream", ()),
    ("hoodie.datasource.overwrite.mode", "name the operation: insert_overwrite or insert_overwrite_table", ()),
    ("hoodie.static.overwrite.partition.paths", "name the operation: insert_overwrite", ()),
    ("hoodie.datasource.merge.type", "log files are always merged", ()),
    ("hoodie.realtime.merge.skip", "log files are always merged", ("false",)),
    ("hoodie.datasource.query.type", "call snapshot, read_optimized, incremental or cdc", ()),
    ("hoodie.datasource.query.incremental.format", "call table.cdc()", ()),
    ("hoodie.datasource.read.begin.instanttime", "call table.incremental()", ()),
    ("hoodie.datasource.read.end.instanttime", "call table.incremental()", ()),
    ("as.of.instant", "call table.snapshot(as_of=...)", ()),
    ("hoodie.datasource.read.paths", "open each table", ()),
    ("hoodie.datasource.streaming.startOffset", "it is an option of streams", ()),
    ("hoodie.datasource.read.incr.filters", "pass a filter", ()),
    ("hoodie.datasource.read.incr.path.glob", "pass a filter", ()),
    ("hoodie.datasource.read.schema.use.end.instanttime", "the newest schema counts", ()),
    ("hoodie.datasource.read.extract.partition.values.from.path", "the key generator decides", ()),
    ("hoodie.datasource.read.*.table.version", "the table's own version counts", ()),
    ("hoodie.read.timeline.holes.resolution.policy", "a pending write that others have overtaken is an error", ()),
    (
        "hoodie.read.blob.inline.mode",
        "it is for blobs in base files in Lance; others have the bytes",
        ("CONTENT",),
    ),
    ("hoodie.errortable.enable", "rows that cannot be written are an error", ()),
    ("hoodie.datasource.hive_sync.base_file_format", "the table's property says it", ()),
    ("hoodie.datasource.hive_sync.use_spark_catalog", "set hoodie.datasource.hive_sync.metastore.uris", ()),
    ("hoodie.metaserver.enabled", "there is no metaserver", ()),
    ("hoodie.table.service.manager.enabled", "services run in the writer", ()),
)

_NO_EFFECT: tuple[tuple[str, str], ...] = (
    ("hoodie.metadata*", "the metadata table is kept as the table's properties say"),
    ("_hoodie.metadata.*", "it is a setting of Hudi's reader of the metadata table"),
    ("hoodie.metrics.lock.enable", "commits and services are measured, not locks"),
    ("hoodie.metrics.executor.enable", "commits and services are measured, by the driver"),
    ("hoodie.metrics.pushgateway.report.period.seconds", "metrics are pushed after each commit"),
    ("hoodie.metrics*", "it is a setting of a reporter that is refused"),
    ("hoodie.meta_sync.global.*", "tables are not replicated"),
    ("hoodie.datasource.partition_extractor_class", "hoodie.datasource.hive_sync.partition_extractor_class says it"),
    ("hoodie.streamer.*", "it is a setting of Hudi's streamer"),
    ("hoodie.clustering.*", "it is a setting of Hudi's jobs for clustering"),
    ("hoodie.layout.optimize.*", "curves run through cells of about as many rows each"),
    ("hoodie.bootstrap.*", "call hf.adopt to make a table of Parquet files"),
    ("hoodie.errortable.*", "there is no error table"),
    ("hoodie.metaserver*", "there is no metaserver"),
    ("hoodie.table.service.manager*", "services run in the writer"),
    ("hoodie.precommit.validators.streaming.*", "it is a setting of validators of Hudi's streamer"),
    ("hoodie.filesystem.*", "files are listed once for an operation"),
    ("hoodie.embed.*", "there is no timeline server"),
    ("hoodie.memory.*", "memory is bounded by blocks and row groups"),
    ("hoodie.common.*", "memory is bounded by blocks and row groups"),
    ("hoodie.file.index.*", "it is a setting of Spark's relation"),
    ("hoodie.fileIndex.*", "it is a setting of Spark's relation"),
    ("hoodie.datasource.read.*", "it is a setting of Spark's relation"),
    ("hoodie.spark.*", "it is a setting of Spark's SQL"),
    ("hoodie.sql.*", "it is a setting of Spark's SQL"),
    ("hoodie.orc.*", "it changes how a file is laid out, not what it holds"),
    ("hoodie.hfile.*", "base files are Parquet or ORC"),
    ("hoodie.lance.*", "base files are Parquet or ORC"),
    ("hoodie.parquet.*", "it changes how a file is laid out, not what it holds"),
    ("hoodie.*bloom.*", "filters are as large as the keys need, up to 1 MB, and only save reading"),
    ("hoodie.*parallelism*", "work is divided by files"),
    ("hoodie.*storage.level", "nothing is cached between stages"),
    ("hoodie.*index.use.caching", "nothing is cached between stages"),
    ("hoodie.bucket.index.*", "it changes how work is divided, or what a read leaves out"),
    ("hoodie.expression.index.*", "it is a setting of an expression index"),
    ("hoodie.index.name", "it is a setting of an expression index"),
    ("hoodie.consistency.*", "storages are consistent today"),
    ("hoodie.optimistic.consistency.*", "storages are consistent today"),
    ("_hoodie.optimistic.consistency.*", "storages are consistent today"),
    ("*time.generator.*", "instants ascend under the lock"),
    ("hoodie.clean*", "cleans run after each write; what they keep is said by other keys"),
    ("hoodie.write.empty.clean.interval.hours", "a clean without files is not written"),
    ("hoodie.archive.*", "archiving runs after each write; what it keeps is said by other keys"),
    ("hoodie.commits.archival.batch", "archived instants are written in one file"),
    ("hoodie.timeline.*", "it is a setting of how archived instants are laid out"),
    ("hoodie.compact.inline.max.delta.seconds", "delta commits are counted"),
    ("hoodie.compaction.*", "it is a setting of a strategy, or of reading blocks"),
    ("hoodie.datasource.compaction.*", "compactions run where hoodie.compact.inline or a call says so"),
    ("hoodie.rollback.*", "failed writes are found by listing"),
    ("hoodie.write.markers.*", "many markers are lines of a file, few are files"),
    ("hoodie.markers.*", "many markers are lines of a file, few are files"),
    ("hoodie.write.executor.*", "rows are written as columns"),
    ("hoodie.write.buffer.*", "rows are written as columns"),
    ("hoodie.write*status*", "statistics are those of the commit"),
    ("hoodie.write.concurrency.*", "conflicts are found before the commit"),
    ("hoodie.table.*", "it is a property of a table and no option of a write"),
    ("hoodie.properties.*", "it is a property of a table and no option of a write"),
    ("hoodie.internal.*", "Hudi sets it by itself"),
    ("hoodie.bulkinsert.*", "Hudi sets it by itself"),
    ("hoodie.datasource.write.operation", "the method that is called says it; data sources take it"),
    ("hoodie.datasource.write.row.writer.enable", "rows are written as columns"),
    ("hoodie.datasource.write.streaming.*", "streams are those of this data source"),
    ("hoodie.combine.before.delete", "a key is deleted once"),
    ("hoodie.merge.*", "positions are used where there are some; rows are the same"),
    ("hoodie.payload.event.time.field", "no watermark is recorded"),
    ("hoodie.payload.record.schema", "Hudi sets it by itself"),
    ("hoodie.query.as.ro.table", "Hudi sets it by itself"),
    ("hoodie.fail.*", "errors are raised, and failed services are warnings"),
    ("hoodie.write.auto.upgrade", "a write does not change the table's version"),
)

_SAME: tuple[tuple[str, str], ...] = (
    ("hoodie.write.lock.app_id", "Hudi replaces it, too, by the name of the application that writes"),
    ("hoodie.datasource.hive_sync.*user*", _BY_THRIFT),
    ("hoodie.datasource.hive_sync.password", _BY_THRIFT),
    ("hoodie.datasource.hive_sync.*jdbc*", _BY_THRIFT),
    ("hoodie.datasource.hive_sync.bucket_sync*", "with mode=hms Hudi tells a metastore of no buckets either"),
    ("hoodie.datasource.hive_sync.filter_pushdown_enabled", "only the partitions that commits name are asked for"),
    ("hoodie.meta.sync.decode_partition", "with mode=hms values are the texts in the paths, as in Hudi"),
    ("hoodie.meta.sync.metadata_file_listing", "partitions are those that queries see"),
)

_SINGLE = (
    "hoodie.write.complex.keygen.validation.enable",
    "hoodie.base.path",
    "hoodie.cdc.file.group.iterator.memory.spill.bytes",
    "hoodie.write.can.ignore.post.commit.failures",
    "hoodie.allow.empty.commit",
    "hoodie.release.resource.on.completion.enable",
    "hoodie.auto.adjust.lock.configs",
    "hoodie.skip.default.partition.validation",
    "hoodie.sensitive.config.keys",
    "hoodie.block.writes.on.speculative.execution",
    "hoodie.write.track.event.time.watermark",
    "hoodie.write.ignore.failed",
    "hoodie.write.application.id",
    "hoodie.write.merge.handle.fallback",
    "hoodie.fs.atomic_creation.support",
    "hoodie.storage.class",
    "hoodie.io.factory.class",
    "hoodie.file.group.reader.enabled",
    "hoodie.is.update.record.for.mor",
    "hoodie.incremental.use.database",
    "hoodie.read.columns.set",
    "hoodie.support.payload",
    "hoodie.tablePath",
    "hoodie.valid.commits.list",
    "hoodie.vector.columns",
    "hoodie.database.name",
    "hoodie.commit.metadata.engine.properties.embed.enable",
    "hoodie.write.config.keys.to.serialize.to.commit.metadata",
    "hoodie.write.rolling.metadata.timeline.lookback.commits",
)

RULES = (
    *(Rule(pattern, Answer.REFUSED, why, takes) for pattern, why, takes in _REFUSED),
    *(Rule(pattern, Answer.SAME, why) for pattern, why in _SAME),
    *(Rule(pattern, Answer.NO_EFFECT, why) for pattern, why in _NO_EFFECT),
    *(Rule(name, Answer.NO_EFFECT, "it changes neither rows nor files here") for name in _SINGLE),
)


@cache
def hudi_keys() -> Mapping[str, HudiKey]:
    """Return Hudi's keys by name."""
    text = resources.files("hudiformat.table.options").joinpath("hudi_keys.txt").read_text("utf-8")
    keys = (HudiKey(*line.split("\t")) for line in text.splitlines() if not line.startswith("#"))
    return {key.name: key for key in keys}


def current_name(name: str) -> str:
    """Return the current name of a key, which may have been renamed."""
    known = hudi_keys().get(name)
    return known.now or name if known is not None else name


@cache
def rule_of(name: str) -> Rule:
    """Return the rule for a key of Hudi that is not parsed.

    Raises:
        LookupError: there is no such rule.
    """
    for rule in RULES:
        if name == rule.pattern or fnmatchcase(name, rule.pattern):
            return rule
    raise LookupError(name)


def asks_for_nothing(name: str, value: str) -> bool:
    """Return whether *value* is Hudi's default for a key, or is accepted although the key is refused."""
    rule = rule_of(name)
    taken = (hudi_keys()[name].default, *(rule.takes if rule.answer is Answer.REFUSED else ()))
    return value.strip().lower() in {text.lower() for text in taken}
