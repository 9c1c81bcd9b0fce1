"""How the tables are made: every feature that a table may have, by each Hudi and of each table version that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from tests.sound_tables.maker import Maker

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
_KEYGEN = "org.apache.hudi.keygen."
_MODEL = "org.apache.hudi.common.model."

Step = Callable[[Maker], None]
Version = tuple[str, int]
"""A version of Hudi, and one of tables that it writes."""
VERSIONS: tuple[Version, ...] = (
    ("0.15.0", 6),
    *(("1.0.2", version) for version in (8, 6)),
    *(("1.1.1", version) for version in (9, 8, 6)),
    *(("1.2.0", version) for version in (9, 8, 6)),
)
OWN: tuple[Version, ...] = tuple(
    one for one in VERSIONS if one in (("0.15.0", 6), ("1.0.2", 8), ("1.1.1", 9), ("1.2.0", 9))
)
"""Each Hudi with the table version that it makes unless it is told another one."""


@dataclass(frozen=True, slots=True)
class Feature:
    """What a table has of its own: options of its writer, and the steps after its first rows."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = (Maker.upsert, Maker.delete)
    types: tuple[str, ...] = (COW, MOR)
    first: str = "insert"
    count: int = 12
    """The number of its first rows."""
    versions: tuple[Version, ...] = OWN
    of_path: tuple[str, ...] = ()
    """Columns of which Hudi shows what the path says, and hudiformat what the files store."""
    reading: Mapping[str, str] = field(default_factory=dict)
    """What Hudi needs to read it."""
    is_pending: bool = False
    """Whether a plan is left that nobody has carried out: ``verify`` names it, and nothing else."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A table to make."""

    feature: Feature
    table_type: str
    version: Version

    @property
    def name(self) -> str:
        hudi, version = self.version
        of_type = "cow" if self.table_type == COW else "mor"
        return f"{self.feature.name}_{of_type}{version}_h{hudi.replace('.', '')}"

    @property
    def options(self) -> dict[str, str]:
        hudi, version = self.version
        chosen = {} if hudi.startswith("0.") else {"hoodie.write.table.version": str(version)}
        return {"hoodie.datasource.write.table.type": self.table_type, **chosen, **self.feature.options}


def recipes(hudi: str) -> Iterator[Recipe]:
    """Yield the tables that the version *hudi* makes."""
    for feature in FEATURES:
        for version in feature.versions:
            for table_type in feature.types:
                if version[0] == hudi:
                    yield Recipe(feature, table_type, version)


def _op(operation: str, *numbers: int, **more: str) -> Step:
    return lambda maker: maker.write(operation, numbers or range(10, 16), **more)


def _alter(change: str) -> Step:
    return lambda maker: maker.alter(change)


def _sql(text: str) -> Step:
    return lambda maker: maker.sql(text)


_PLAN_COMPACTION: Step = partial(Maker.compact, op="schedule")
_PLAN_CLUSTERING: Step = partial(Maker.cluster, op="schedule")
_RUN_COMPACTION: Step = partial(Maker.compact, op="execute")
_RUN_CLUSTERING: Step = partial(Maker.cluster, op="execute")
_WITH_METADATA = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
_RECORD_INDEX = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.index.type": "RECORD_INDEX",
}
_LOCKED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
}
_OFTEN = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}
_1_X = tuple(one for one in VERSIONS if one[1] > 6)
_ROLLED_BACK = tuple(one for one in VERSIONS if one not in (("1.1.1", 6), ("1.2.0", 6)))
"""The procedure of newer versions fails on tables of version 6: it looks for a folder that these do not have."""
_6 = tuple(one for one in VERSIONS if one[1] == 6)


def _key_generator(name: str) -> dict[str, str]:
    return {"hoodie.datasource.write.keygenerator.class": f"{_KEYGEN}{name}"}


def _payload(name: str) -> dict[str, str]:
    return {"hoodie.datasource.write.payload.class": f"{_MODEL}{name}"}


def _by(fields: str, **more: str) -> dict[str, str]:
    return {"hoodie.datasource.write.partitionpath.field": fields, **{_dotted(key): one for key, one in more.items()}}


def _dotted(name: str) -> str:
    return "hoodie." + name.replace("__", ".")


def _index(kind: str, **more: str) -> dict[str, str]:
    return {"hoodie.index.type": kind, **{_dotted(key): one for key, one in more.items()}}


_TIMED = {
    "hoodie.keygen.timebased.timestamp.type": "SCALAR",
    "hoodie.keygen.timebased.timestamp.scalar.time.unit": "days",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
}
_KEYS = (
    Feature("plain", versions=VERSIONS),
    Feature("unpartitioned", {**_key_generator("NonpartitionedKeyGenerator"), **_by("")}),
    Feature("two_keys", {**_key_generator("ComplexKeyGenerator"), "hoodie.datasource.write.recordkey.field": "k,q"}),
    Feature("two_levels", {**_key_generator("ComplexKeyGenerator"), **_by("p,q")}),
    Feature("hive_style", _by("p", datasource__write__hive_style_partitioning="true"), types=(MOR,)),
    Feature("encoded", _by("at", datasource__write__partitionpath__urlencode="true"), types=(COW,), of_path=("at",)),
    Feature("by_day", _by("day"), types=(COW,)),
    Feature("by_number", _by("q"), types=(MOR,)),
    Feature("timed", {**_key_generator("TimestampBasedKeyGenerator"), **_by("v"), **_TIMED}, steps=(), of_path=("v",)),
    Feature("custom", {**_key_generator("CustomKeyGenerator"), **_by("p:SIMPLE,q:SIMPLE")}),
    Feature("number_keys", {"hoodie.datasource.write.recordkey.field": "q"}, first="upsert", types=(MOR,)),
    Feature("day_keys", {"hoodie.datasource.write.recordkey.field": "day"}, first="upsert", types=(COW,)),
    Feature(
        "inner_keys",
        {**_key_generator("ComplexKeyGenerator"), "hoodie.datasource.write.recordkey.field": "k,inner.a"},
    ),
    Feature(
        "made_keys",
        {"hoodie.datasource.write.recordkey.field": ""},
        steps=(_op("insert"), _op("bulk_insert")),
        first="bulk_insert",
    ),
    Feature(
        "no_meta_fields",
        {"hoodie.populate.meta.fields": "false", **_index("SIMPLE")},
        steps=(_op("bulk_insert", 20, 21),),
        first="bulk_insert",
        types=(COW,),
        versions=VERSIONS,
    ),
    Feature("dropped_columns", {"hoodie.datasource.write.drop.partition.columns": "true"}, types=(COW,)),
    Feature("same_keys", first="bulk_insert", steps=(_op("bulk_insert", 1, 2, 3), _op("insert", 1, 2)), types=(COW,)),
)
_INDEXES = (
    Feature("simple", _index("SIMPLE"), types=(COW,)),
    Feature("global_simple", _index("GLOBAL_SIMPLE"), types=(MOR,)),
    Feature("global_bloom", _index("GLOBAL_BLOOM"), types=(COW,)),
    Feature("bucket", _index("BUCKET", bucket__index__num__buckets="3"), first="upsert"),
    Feature(
        "consistent_bucket",
        _index("BUCKET", index__bucket__engine="CONSISTENT_HASHING", bucket__index__num__buckets="2"),
        first="upsert",
        types=(MOR,),
    ),
    Feature("record_index", _RECORD_INDEX, versions=VERSIONS),
    Feature("column_stats", _WITH_METADATA, versions=VERSIONS),
    Feature("bloom_filters", {**_WITH_METADATA, "hoodie.metadata.index.bloom.filter.enable": "true"}),
    Feature("no_metadata_table", {"hoodie.metadata.enable": "false"}, versions=VERSIONS),
    Feature(
        "secondary_index",
        {**_RECORD_INDEX, **_LOCKED},
        steps=(_sql("create index by_s on {t} (s)"), Maker.upsert, Maker.delete),
        versions=tuple(one for one in _1_X if one[1] == 9),
    ),
    Feature(
        "expression_index",
        {**_WITH_METADATA, **_LOCKED},
        steps=(_sql("create index up on {t} using column_stats(s) options(expr='upper')"), Maker.upsert),
        types=(COW,),
        versions=tuple(one for one in _1_X if one[1] == 9),
    ),
    Feature("metadata_compacted", {"hoodie.metadata.compact.max.delta.commits": "2"}, steps=(Maker.write_often,)),
)
_MERGES = (
    Feature(
        "commit_time",
        {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", "hoodie.datasource.write.precombine.field": ""},
        types=(MOR,),
        versions=_1_X,
    ),
    Feature("event_time", {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}, types=(MOR,), versions=_1_X),
    *(
        Feature(f"payload_{name.lower()}", _payload(name), types=(MOR,))
        for name in (
            "OverwriteWithLatestAvroPayload",
            "DefaultHoodieRecordPayload",
            "EventTimeAvroPayload",
            "PartialUpdateAvroPayload",
            "OverwriteNonDefaultsWithLatestAvroPayload",
        )
    ),
    Feature("two_ordering_fields", {"hoodie.datasource.write.precombine.field": "ts,v"}, versions=_1_X[-3:]),
    Feature("changes", {"hoodie.table.cdc.enabled": "true"}),
    Feature("parquet_logs", {"hoodie.logfile.data.block.format": "parquet"}, types=(MOR,), versions=VERSIONS),
    Feature("gzip", {"hoodie.parquet.compression.codec": "gzip"}, types=(COW,)),
    Feature("zstd", {"hoodie.parquet.compression.codec": "zstd"}, types=(MOR,)),
    Feature("two_writers", _LOCKED),
)
_SERVICES = (
    Feature("compacted", steps=(Maker.upsert, Maker.compact, Maker.delete), types=(MOR,), versions=VERSIONS),
    Feature("compacted_inline", {"hoodie.compact.inline": "true", **_OFTEN}, steps=(Maker.write_often,), types=(MOR,)),
    Feature(
        "compaction_planned",
        steps=(Maker.upsert, _PLAN_COMPACTION, _op("upsert", 1, 5)),
        types=(MOR,),
        versions=VERSIONS,
        is_pending=True,
    ),
    Feature(
        "compaction_run_later",
        steps=(Maker.upsert, _PLAN_COMPACTION, Maker.delete, _RUN_COMPACTION, _op("upsert", 1, 5)),
        types=(MOR,),
    ),
    Feature(
        "log_compacted",
        {
            "hoodie.log.compaction.inline": "true",
            "hoodie.log.compaction.enable": "true",
            "hoodie.log.compaction.blocks.threshold": "2",
        },
        steps=(Maker.upsert, Maker.delete, Maker.upsert, Maker.upsert),
        types=(MOR,),
    ),
    Feature("clustered", steps=(Maker.cluster, Maker.upsert), versions=VERSIONS),
    Feature("clustering_planned", steps=(_op("insert"), _PLAN_CLUSTERING), is_pending=True),
    Feature("clustering_run_later", steps=(_op("insert"), _PLAN_CLUSTERING, _op("insert", 30), _RUN_CLUSTERING)),
    Feature("cleaned", {"hoodie.clean.automatic": "false"}, steps=(Maker.upsert, Maker.upsert, Maker.clean)),
    Feature("archived", _OFTEN, steps=(Maker.write_often,), versions=VERSIONS),
    Feature("archived_compacted", {**_OFTEN, "hoodie.timeline.compaction.batch.size": "2"}, steps=(Maker.write_often,)),
    Feature("savepoint", steps=(Maker.upsert, Maker.savepoint, Maker.delete)),
    Feature("restored", steps=(Maker.upsert, Maker.savepoint, Maker.delete, Maker.restore)),
    Feature("restored_and_written", steps=(Maker.savepoint, Maker.upsert, Maker.restore, Maker.upsert)),
    Feature("rolled_back", steps=(Maker.upsert, Maker.roll_back), versions=_ROLLED_BACK),
    Feature("rolled_back_and_written", steps=(Maker.upsert, Maker.roll_back, Maker.upsert)),
    Feature("overwritten", steps=(_op("insert_overwrite", 1, 3),)),
    Feature("overwritten_wholly", steps=(_op("insert_overwrite_table", 1, 2, 3), Maker.upsert)),
    Feature("partition_deleted", steps=(Maker.delete_partition,)),
    Feature("partition_deleted_and_written", steps=(Maker.delete_partition, Maker.upsert)),
    Feature("replaced_and_cleaned", _OFTEN, steps=(_op("insert_overwrite", 1), Maker.write_often)),
    Feature("emptied", steps=(_op("delete", *range(12)),)),
    Feature("without_rows", count=0, steps=()),
    Feature("late_rows", count=0, steps=(_op("insert"), Maker.upsert)),
)
_ON_READ = {"hoodie.schema.on.read.enable": "true"}
_SCHEMAS = (
    Feature("column_added", steps=(Maker.add_column, Maker.upsert)),
    Feature("column_widened", steps=(Maker.widen_column, Maker.upsert)),
    Feature("renamed", steps=(_alter("rename column s to r"),), reading=_ON_READ),
    Feature("renamed_inner", steps=(_alter("rename column inner.a to z"),), types=(MOR,), reading=_ON_READ),
    Feature(
        "altered",
        steps=(_alter("add columns (late int)"), _alter("alter column v type bigint")),
        reading=_ON_READ,
    ),
    Feature("column_dropped", steps=(_alter("drop column s"),), types=(COW,), reading=_ON_READ),
)
_UPGRADES = (
    Feature(
        "upgraded",
        steps=(Maker.upsert, _op("upsert", 3, 30, hoodie__write__table__version="8")),
        versions=(("1.0.2", 6), ("1.1.1", 6), ("1.2.0", 6)),
    ),
    Feature(
        "downgraded",
        steps=(Maker.upsert, partial(Maker.call, procedure="downgrade_table", to_version="SIX")),
        versions=(("1.0.2", 8), ("1.1.1", 9), ("1.2.0", 9)),
    ),
)
FEATURES = (*_KEYS, *_INDEXES, *_MERGES, *_SERVICES, *_SCHEMAS, *_UPGRADES)
