"""The configuration of a table, and the text form of ``hoodie.properties`` with its checksum.

A :class:`TableConfig` keeps all ``properties``, also those that hudiformat does not use; every other attribute is
derived from them.  The text is in Java's properties format.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum

import javaproperties

from hudiformat.naming.time_zones import Zone

CHECKSUM_KEY = "hoodie.table.checksum"
MERGE_PROPERTY_PREFIX = "hoodie.record.merge.property."
TYPED_PARTITION_FIELDS = "hoodie.datasource.write.partitionpath.field"
"""The option of writers that names partition fields with types; hudiformat keeps it in tables of version 6."""
_VERSION_WITH_ONE_KEY_FORM = 9
_KEY_GENERATORS = "org.apache.hudi.keygen."

_KNOWN_KEYS = {
    "hoodie.table.name",
    "hoodie.database.name",
    "hoodie.table.type",
    "hoodie.table.version",
    "hoodie.timeline.layout.version",
    "hoodie.timeline.path",
    "hoodie.timeline.history.path",
    "hoodie.archivelog.folder",
    "hoodie.table.recordkey.fields",
    "hoodie.table.partition.fields",
    "hoodie.table.ordering.fields",
    "hoodie.table.precombine.field",
    "hoodie.record.merge.mode",
    "hoodie.record.merge.strategy.id",
    "hoodie.compaction.record.merger.strategy",
    "hoodie.compaction.payload.class",
    "hoodie.table.legacy.payload.class",
    "hoodie.table.partial.update.mode",
    "hoodie.table.keygenerator.type",
    "hoodie.table.keygenerator.class",
    "hoodie.populate.meta.fields",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.datasource.write.slash.separated.date.partitioning",
    "hoodie.datasource.write.drop.partition.columns",
    "hoodie.table.base.file.format",
    "hoodie.table.multiple.base.file.formats.enable",
    "hoodie.partition.metafile.use.base.format",
    "hoodie.table.cdc.enabled",
    "hoodie.table.cdc.supplemental.logging.mode",
    "hoodie.table.metadata.partitions",
    "hoodie.table.timeline.timezone",
    "hoodie.bootstrap.base.path",
    "hoodie.table.create.schema",
    CHECKSUM_KEY,
}


class TableType(str, Enum):
    """Whether updates rewrite base files or are appended to log files.

    Source: HoodieTableType, Hudi 1.2.0.
    """

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class MergeMode(str, Enum):
    """The rule by which one of two records with the same key wins.  Source: RecordMergeMode, Hudi 1.2.0."""

    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    CUSTOM = "CUSTOM"


class PartialUpdateMode(str, Enum):
    """The values that mean "not set" in a partial record.  Source: PartialUpdateMode, Hudi 1.2.0."""

    IGNORE_DEFAULTS = "IGNORE_DEFAULTS"
    FILL_UNAVAILABLE = "FILL_UNAVAILABLE"


class TimelineZone(str, Enum):
    """The time zone of instants: the writer's local one, or UTC.  Source: HoodieTimelineTimeZone, Hudi 1.2.0."""

    LOCAL = "LOCAL"
    UTC = "UTC"


class KeyGenerator(str, Enum):
    """How record keys and partition paths are computed.  The values are names of Hudi's classes, without package."""

    SIMPLE = "SimpleKeyGenerator"
    COMPLEX = "ComplexKeyGenerator"
    NON_PARTITION = "NonpartitionedKeyGenerator"
    TIMESTAMP = "TimestampBasedKeyGenerator"
    CUSTOM = "CustomKeyGenerator"
    OTHER = ""
    """A class of the user, or a class of Hudi that hudiformat does not support."""


def key_generator_named(name: str) -> KeyGenerator:
    """Return the key generator with the class, or of the type, *name*.

    Source: KeyGeneratorType, Hudi 1.2.0.
    """
    by_type = KeyGenerator.__members__.get(name.upper().removesuffix("_AVRO"))
    short = name.removeprefix(_KEY_GENERATORS).replace("AvroKeyGenerator", "KeyGenerator")
    return by_type or next((one for one in KeyGenerator if one.value == short), KeyGenerator.OTHER)


@dataclass(frozen=True, slots=True)
class TableConfig:
    """The configuration of a table; made by ``parse_table_config`` or ``new_table_config``.

    *partition_types* has an item per partition field: ``simple`` or ``timestamp`` for the CUSTOM key generator, else
    None, as in version 6, where Hudi does not keep them.  *payload_class* is None if the merge mode alone determines
    merging.  The keys of *merge_properties* are without their prefix.  *metadata_partitions* are the partitions of the
    metadata table that are completely built.

    Source: HoodieTableConfig, Hudi 1.2.0.
    """

    properties: Mapping[str, str] = field(hash=False)
    name: str
    database: str
    table_type: TableType
    version: int
    layout_version: int
    timeline_folder: str
    history_folder: str
    record_key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    partition_types: tuple[str | None, ...]
    ordering_fields: tuple[str, ...]
    merge_mode: MergeMode
    merge_strategy_id: str | None
    merge_properties: Mapping[str, str] = field(hash=False)
    payload_class: str | None
    legacy_payload_class: str | None
    partial_update_mode: PartialUpdateMode | None
    key_generator: KeyGenerator | None
    key_generator_class: str | None
    populate_meta_fields: bool
    hive_style_partitioning: bool
    url_encode_partitioning: bool
    slash_separated_dates: bool
    drop_partition_columns: bool
    base_file_format: str
    multiple_base_file_formats: bool
    partition_metafile_use_base_format: bool
    cdc_enabled: bool
    cdc_supplemental_logging_mode: str
    metadata_partitions: tuple[str, ...]
    timeline_zone: TimelineZone
    bootstrap_base_path: str | None
    create_schema: str | None
    plain_keys: bool | None = None
    """The form of keys where :attr:`has_ambiguous_keys`, as an option says it: True for ``1``, False for ``a:1``."""
    here: Zone | None = None
    """The time zone of the writer, if it is known, where paths are made of times and nothing names a zone."""

    @property
    def extra(self) -> dict[str, str]:
        """The properties that have no attribute."""
        return {
            key: value
            for key, value in self.properties.items()
            if key not in _KNOWN_KEYS and not key.startswith(MERGE_PROPERTY_PREFIX)
        }

    @property
    def dropped_fields(self) -> tuple[str, ...]:
        """The partition columns that files do not have."""
        return self.partition_fields if self.drop_partition_columns else ()

    @property
    def has_timed_paths(self) -> bool:
        """Whether the key generator makes partition paths of times."""
        return self.key_generator in (KeyGenerator.TIMESTAMP, KeyGenerator.CUSTOM)

    @property
    def uses_complex_keys(self) -> bool:
        """Whether record keys have the form ``a:1,b:2``.

        From version 9 on, the COMPLEX generator uses this form for one key field too.  Older tables may have either
        form, because Hudi 0.14.1 to 1.0.2 wrote the plain value.

        Source: ComplexAvroKeyGenerator, KeyGenUtils.encodeSingleKeyFieldNameForComplexKeyGen, Hudi 1.2.0.
        """
        is_complex = self.key_generator is KeyGenerator.COMPLEX and not (self.has_ambiguous_keys and self.plain_keys)
        return len(self.record_key_fields) > 1 or is_complex

    @property
    def has_ambiguous_keys(self) -> bool:
        """Whether record keys may have the form ``a:1`` or the form ``1``: see :attr:`uses_complex_keys`.

        Source: KeyGenUtils.isComplexKeyGeneratorWithSingleRecordKeyField, HUDI-7001.
        """
        is_complex = self.key_generator is KeyGenerator.COMPLEX
        return is_complex and len(self.record_key_fields) == 1 and self.version < _VERSION_WITH_ONE_KEY_FORM

    @property
    def has_avro_key_generator(self) -> bool:
        """Whether the key generator is one for Avro records: in tables created by Flink, not by Spark.

        Source: StreamerUtil.initTableIfNotExists of Hudi's Flink writer.
        """
        kind = self.properties.get("hoodie.table.keygenerator.type", "")
        return kind.endswith("_AVRO") or self.properties.get("hoodie.table.keygenerator.class", "").endswith(
            "AvroKeyGenerator"
        )


def table_checksum(name: str, database: str = "") -> int:
    """Return the CRC-32 of ``<database>.<name>``.  It detects truncated files, but not changed values.

    Source: HoodieTableConfig.generateChecksum, Hudi 1.2.0.
    """
    return zlib.crc32(f"{database}.{name}".encode(errors="replace"))  # as in Java, a lone surrogate counts as "?"


def parse_properties(text: str | bytes) -> dict[str, str]:
    """Parse a Java properties text into its entries, in its order; of several with the same key the last one counts.

    Raises:
        ValueError: a Unicode escape is not followed by four hexadecimal digits.

    Source: java.util.Properties.load.
    """
    decoded = text.decode("iso-8859-1") if isinstance(text, bytes) else text
    return dict(javaproperties.loads(decoded))


def format_properties(entries: Mapping[str, str], *, saved_at: datetime) -> bytes:
    """Return a Java properties text with sorted keys and Hudi's comment; the same input gives the same bytes.

    *saved_at* is in UTC if it has no time zone.

    Source: java.util.Properties.store, HoodieTableConfig.storeProperties, Hudi 1.2.0.
    """
    utc = saved_at.replace(tzinfo=timezone.utc) if saved_at.tzinfo is None else saved_at.astimezone(timezone.utc)
    comment = f"Properties saved on {utc.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"
    text: str = javaproperties.dumps(entries, comments=comment, timestamp=False, sort_keys=True)
    return text.encode("iso-8859-1")
