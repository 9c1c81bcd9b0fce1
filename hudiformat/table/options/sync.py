"""The options of telling a catalog of a table: which catalog, under which names, and what it is told.

``mode`` is checked only where a catalog is told, because a table may be opened with the options of another job.

Source: HoodieSyncConfig, HiveSyncConfigHolder, HiveSyncConfig, HoodieSparkSqlWriter.metaSync, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.table.options.aws import AwsOptions
from hudiformat.table.options.parsers import Keys, member_of, parse_boolean, parse_fields, parse_integer

_HIVE = "hoodie.datasource.hive_sync."
_META = "hoodie.meta.sync."
_GLUE = "hoodie.datasource.meta.sync.glue."
MODE = f"{_HIVE}mode"
METASTORE_URIS = f"{_HIVE}metastore.uris"
DATABASE, TABLE = f"{_HIVE}database", f"{_HIVE}table"
EXTRACTOR = f"{_HIVE}partition_extractor_class"
TABLE_EXTRACTOR = "hoodie.table.partition_extractor_class"
"""The table property that names the extractor; Hudi 1.2.0 sets it when it creates a table."""
SPARK_VERSION = "hoodie.meta_sync.spark.version"
TOOLS = f"{_META}client.tool.class"

_EXTRACTORS = "org.apache.hudi.hive."
_HMS_LINES = f"write {MODE}=hms and {METASTORE_URIS}=thrift://<host>:9083"


class SyncMode(Enum):
    """How Hudi tells a Hive Metastore (``hoodie.datasource.hive_sync.mode``).  Source: HiveSyncMode, Hudi 1.2.0."""

    HMS = "hms"
    """By the metastore's own Thrift protocol."""
    GLUE = "glue"
    """Not at all: AWS Glue is told in its place."""
    HIVEQL = "hiveql"
    """By statements that run in the writer's process, which needs Java."""
    JDBC = "jdbc"
    """By statements sent to a HiveServer2."""


class SyncTool(Enum):
    """The catalogs that can be told; the values are Hudi's classes (``hoodie.meta.sync.client.tool.class``)."""

    HIVE = "org.apache.hudi.hive.HiveSyncTool"
    GLUE = "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool"


class TableStrategy(Enum):
    """Which catalog tables a merge-on-read table gets.  Source: HoodieSyncTableStrategy, Hudi 1.2.0."""

    ALL = "ALL"
    """NAME_ro without log files, NAME_rt with them, and NAME, which is the same as NAME_rt."""
    RO = "RO"
    """NAME, without log files."""
    RT = "RT"
    """NAME, with log files."""


class Extractor(Enum):
    """How a partition path becomes the values of partition columns; the values are Hudi's classes.

    Source: the subclasses of org.apache.hudi.sync.common.model.PartitionValueExtractor, Hudi 1.2.0.
    """

    MULTI_PART = f"{_EXTRACTORS}MultiPartKeysValueExtractor"
    """A value for each folder of the path, without the column's name in ``name=value``."""
    HIVE_STYLE = f"{_EXTRACTORS}HiveStylePartitionValueExtractor"
    """The value after ``name=``; the path has one folder."""
    SINGLE_PART = f"{_EXTRACTORS}SinglePartPartitionValueExtractor"
    """The whole path, with ``-`` for each slash."""
    DAY = f"{_EXTRACTORS}SlashEncodedDayPartitionValueExtractor"
    """``2026/01/31`` becomes ``2026-01-31``."""
    HOUR = f"{_EXTRACTORS}SlashEncodedHourPartitionValueExtractor"
    """``2026/01/31/23`` becomes ``2026-01-31-23``."""
    NONE = f"{_EXTRACTORS}NonPartitionedExtractor"
    """No values: the catalog's table has no partitions."""


@dataclass(frozen=True, slots=True)
class GlueOptions:
    """What AWS Glue is told besides, and how.

    ``read_all_at_once``, ``read_at_once`` and ``change_at_once`` are numbers of requests at the same time.
    ``index_fields`` are the columns of up to three indexes of partitions; without any, all are in one.

    ``endpoint`` and ``region`` are by default those of boto3's environment.

    Source: GlueCatalogSyncClientConfig, HoodieAWSConfig, Hudi 1.2.0.
    """

    database: str = ""
    table: str = ""
    catalog_id: str = ""
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    skip_archive: bool = True
    read_all_at_once: int = 1
    read_at_once: int = 1
    change_at_once: int = 1
    metadata_listing: bool = False
    index: bool = False
    index_fields: tuple[tuple[str, ...], ...] = ()
    recreate: bool = False
    endpoint: str = ""
    region: str = ""
    aws: AwsOptions = field(default_factory=AwsOptions)


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """Whether catalogs are told of a table after each commit, and what they are told.

    Texts that are empty, and None, stand for what the table's properties say.  ``hive`` and ``meta`` are an older and a
    newer switch, which say the same.

    Source: HoodieSyncConfig, HiveSyncConfigHolder, HiveSyncConfig, Hudi 1.2.0.
    """

    hive: bool = False
    meta: bool = False
    tools: tuple[SyncTool, ...] = (SyncTool.HIVE,)
    mode: SyncMode = SyncMode.HMS
    uris: tuple[str, ...] = ()
    database: str = ""
    table: str = ""
    base_path: str = ""
    partition_fields: tuple[str, ...] | None = None
    extractor: Extractor | None = None
    strategy: TableStrategy = TableStrategy.ALL
    skip_ro_suffix: bool = False
    snapshot_with_table_name: bool = True
    create_database: bool = True
    managed: bool = False
    as_datasource: bool = True
    schema_length: int = 4000
    spark_version: str = ""
    timestamps: bool = False
    omit_meta_fields: bool = False
    comments: bool = False
    table_properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    serde_properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    batch: int = 1000
    names_at_once: int = 1000
    incremental: bool = True
    conditional: bool = False
    partitions: bool = True
    touch: bool = False
    recreate: bool = False
    ignore_exceptions: bool = False
    glue: GlueOptions = field(default_factory=GlueOptions)

    def of_tool(self, tool: SyncTool) -> SyncOptions:
        """Return the options for the catalog of *tool*."""
        if tool is SyncTool.HIVE:
            return self
        own = self.glue
        database, table = own.database or self.database, own.table or self.table
        return replace(self, database=database, table=table, recreate=self.recreate or own.recreate)

    @property
    def named(self) -> tuple[SyncTool, ...]:
        """The catalogs that the options name.  Source: HoodieSparkSqlWriter.metaSync, Hudi 1.2.0."""
        if self.mode is not SyncMode.GLUE:
            return tuple(dict.fromkeys(self.tools))
        return tuple(dict.fromkeys([*(tool for tool in self.tools if tool is not SyncTool.HIVE), SyncTool.GLUE]))

    @property
    def after_commits(self) -> tuple[SyncTool, ...]:
        """The catalogs that are told after each commit."""
        return self.named if self.hive or self.meta else ()

    def check(self, tools: tuple[SyncTool, ...]) -> None:
        """Raise an UnsupportedFeatureError if the options ask for a way of telling *tools* that is not supported."""
        if SyncTool.HIVE in tools and self.mode is not SyncMode.HMS:
            raise UnsupportedFeatureError(
                f"{MODE}: expected hms, found {self.mode.value}, which needs Hive's own classes in Java; {_HMS_LINES}",
                feature=f"{MODE}={self.mode.value}",
            )


def _parse_mode(key: str, value: str) -> SyncMode:
    """Parse a mode; without one Hudi asks a HiveServer2, which an address alone cannot tell, so that it is HMS here."""
    parsed: SyncMode = member_of(SyncMode)(key, value) if value else SyncMode.HMS
    return parsed


def _parse_tools(key: str, value: str) -> tuple[SyncTool, ...]:
    return tuple(_parse_class(SyncTool, key, name) for name in parse_fields(key, value))


def _parse_extractor(key: str, value: str) -> Extractor | None:
    return _parse_class(Extractor, key, value) if value else None


_E = TypeVar("_E", bound=Enum)


def _parse_class(classes: type[_E], key: str, name: str) -> _E:
    try:
        return classes(name)
    except ValueError:
        known = ", ".join(str(one.value) for one in classes)
        raise UnsupportedFeatureError(
            f"{key}: expected one of {known}, found {name}; choose one of these", feature=f"{key}={name}"
        ) from None


def _parse_pairs(key: str, value: str) -> dict[str, str]:
    """Parse a line ``name=value`` for each property.  Source: ConfigUtils.toMap, Hudi 1.2.0."""
    found = {}
    for line in filter(None, map(str.strip, value.split("\n"))):
        name, separator, text = line.partition("=")
        if not separator or not name.strip():
            raise OptionError(f"{key}: expected lines of the form name=value, found {line!r}", option=key)
        found[name.strip()] = text.strip()
    return found


def _unless(key: str, value: str) -> bool:
    return not parse_boolean(key, value)


def _strip(_key: str, value: str) -> str:
    return value.strip()


def _parse_tags(key: str, value: str) -> dict[str, str]:
    pairs = [one.partition(":") for one in parse_fields(key, value)]
    for name, separator, text in pairs:
        if not (name and separator):
            raise OptionError(f"{key}: expected name:value, found {name + separator + text!r}", option=key)
    return {name.strip(): text.strip() for name, _, text in pairs}


_MOST_SEGMENTS = 10


def _parse_segments(key: str, value: str) -> int:
    number = parse_integer(key, value)
    if number > _MOST_SEGMENTS:
        raise OptionError(f"{key}: expected a number from 1 to {_MOST_SEGMENTS}, found {value!r}", option=key)
    return number


def _parse_indexes(key: str, value: str) -> tuple[tuple[str, ...], ...]:
    """Parse the columns of indexes: ``;`` is between columns, and ``,`` between indexes."""
    return tuple(tuple(one.strip() for one in index.split(";")) for index in parse_fields(key, value))


GLUE_KEYS: Keys = {
    f"{_GLUE}database_name": ("database", _strip),
    f"{_GLUE}table_name": ("table", _strip),
    f"{_GLUE}catalogId": ("catalog_id", _strip),
    f"{_GLUE}resource_tags": ("tags", _parse_tags),
    f"{_GLUE}skip_table_archive": ("skip_archive", parse_boolean),
    f"{_GLUE}all_partitions_read_parallelism": ("read_all_at_once", _parse_segments),
    f"{_GLUE}changed_partitions_read_parallelism": ("read_at_once", parse_integer),
    f"{_GLUE}partition_change_parallelism": ("change_at_once", parse_integer),
    f"{_GLUE}metadata_file_listing": ("metadata_listing", parse_boolean),
    f"{_GLUE}partition_index_fields.enable": ("index", parse_boolean),
    f"{_GLUE}partition_index_fields": ("index_fields", _parse_indexes),
    f"{_GLUE}recreate_table_on_error": ("recreate", parse_boolean),
    "hoodie.aws.glue.endpoint": ("endpoint", _strip),
    "hoodie.aws.glue.region": ("region", _strip),
}

SYNC_KEYS: Keys = {
    f"{_HIVE}enable": ("hive", parse_boolean),
    "hoodie.datasource.meta.sync.enable": ("meta", parse_boolean),
    TOOLS: ("tools", _parse_tools),
    MODE: ("mode", _parse_mode),
    METASTORE_URIS: ("uris", parse_fields),
    DATABASE: ("database", _strip),
    TABLE: ("table", _strip),
    "hoodie.datasource.meta.sync.base.path": ("base_path", _strip),
    f"{_HIVE}partition_fields": ("partition_fields", parse_fields),
    TABLE_EXTRACTOR: ("extractor", _parse_extractor),
    EXTRACTOR: ("extractor", _parse_extractor),
    f"{_HIVE}table.strategy": ("strategy", member_of(TableStrategy)),
    f"{_HIVE}skip_ro_suffix": ("skip_ro_suffix", parse_boolean),
    f"{_META}sync_snapshot_with_table_name": ("snapshot_with_table_name", parse_boolean),
    f"{_HIVE}auto_create_database": ("create_database", parse_boolean),
    f"{_HIVE}create_managed_table": ("managed", parse_boolean),
    f"{_HIVE}sync_as_datasource": ("as_datasource", parse_boolean),
    f"{_HIVE}schema_string_length_thresh": ("schema_length", parse_integer),
    SPARK_VERSION: ("spark_version", _strip),
    f"{_HIVE}support_timestamp": ("timestamps", parse_boolean),
    f"{_HIVE}omit_metadata_fields": ("omit_meta_fields", parse_boolean),
    f"{_HIVE}sync_comment": ("comments", parse_boolean),
    f"{_HIVE}table_properties": ("table_properties", _parse_pairs),
    f"{_HIVE}serde_properties": ("serde_properties", _parse_pairs),
    f"{_HIVE}batch_num": ("batch", parse_integer),
    f"{_HIVE}filter_pushdown_max_size": ("names_at_once", parse_integer),
    f"{_META}incremental": ("incremental", parse_boolean),
    "hoodie.datasource.meta_sync.condition.sync": ("conditional", parse_boolean),
    f"{_META}no_partition_metadata": ("partitions", _unless),
    f"{_META}touch.partitions.enabled": ("touch", parse_boolean),
    f"{_HIVE}recreate_table_on_error": ("recreate", parse_boolean),
    f"{_HIVE}ignore_exceptions": ("ignore_exceptions", parse_boolean),
}
