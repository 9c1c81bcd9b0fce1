"""The configuration of a new table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hudiformat.errors import OptionError
from hudiformat.timeline.config_files import SUPPORTED_VERSIONS, VERSION_WITH_COMPLETION_TIMES, config_from_properties
from hudiformat.timeline.table_config import (
    CHECKSUM_KEY,
    TYPED_PARTITION_FIELDS,
    KeyGenerator,
    MergeMode,
    TableConfig,
    TableType,
    TimelineZone,
    table_checksum,
)

_NEWEST_VERSION = 9
_EXTRACTORS = "org.apache.hudi.hive."
_MERGERS = {
    MergeMode.EVENT_TIME_ORDERING: ("DefaultHoodieRecordPayload", "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"),
    MergeMode.COMMIT_TIME_ORDERING: ("OverwriteWithLatestAvroPayload", "ce9acb64-bde0-424c-9b91-f6ebba25356d"),
}
"""The payload class and the id of the merge strategy, which determine the merge mode below table version 9."""
_BY_PAYLOAD = "00000000-0000-0000-0000-000000000000"
"""The id of the merge strategy that merges by a payload class."""

_ALWAYS = {
    "hoodie.timeline.path": "timeline",
    "hoodie.timeline.history.path": "history",
    "hoodie.archivelog.folder": "history",
}


def new_table_config(
    *,
    name: str,
    record_key_fields: Sequence[str],
    partition_fields: Sequence[str] = (),
    partition_types: Sequence[str] = (),
    ordering_fields: Sequence[str] = (),
    table_type: TableType = TableType.MERGE_ON_READ,
    merge_mode: MergeMode | None = None,
    payload_class: str | None = None,
    key_generator: KeyGenerator | None = None,
    hive_style_partitioning: bool = False,
    url_encode_partitioning: bool = False,
    populate_meta_fields: bool = True,
    slash_separated_dates: bool = False,
    drop_partition_columns: bool = False,
    partition_metafile_use_base_format: bool = False,
    cdc_enabled: bool = False,
    base_file_format: str = "PARQUET",
    timeline_zone: TimelineZone = TimelineZone.LOCAL,
    database: str = "",
    version: int = _NEWEST_VERSION,
    extra: Mapping[str, str] | None = None,
) -> TableConfig:
    """Return the configuration of a new table, with the keys that Hudi writes for a table of that *version*.

    Without *merge_mode*, the table uses event-time ordering if it has ordering fields, else commit-time ordering.
    *payload_class* is what merges below version 9; a newer table notes it for a downgrade.
    Without *key_generator*, the numbers of fields determine it, as in Hudi, and with *partition_types* it is CUSTOM.
    *extra* properties are added last.

    Raises:
        OptionError: the name is empty, the name of a field cannot be in a comma-separated list, *version* is not 6, 8
            or 9, or there are several ordering fields below version 9.

    Source: HoodieTableConfig.create, KeyGenUtils.inferKeyGeneratorType, HoodieTableConfigUtils, and the tables that
        Hudi 1.2.0 (6 and 9) and 1.0.2 (8) create.
    """
    _check_names(name, (*record_key_fields, *partition_fields, *ordering_fields))
    _check_version(version, ordering_fields)
    mode = merge_mode or (MergeMode.EVENT_TIME_ORDERING if ordering_fields else MergeMode.COMMIT_TIME_ORDERING)
    flags = {
        "hoodie.table.cdc.enabled": cdc_enabled,
        "hoodie.populate.meta.fields": populate_meta_fields,
        "hoodie.partition.metafile.use.base.format": partition_metafile_use_base_format,
        "hoodie.datasource.write.drop.partition.columns": drop_partition_columns,
        "hoodie.datasource.write.hive_style_partitioning": hive_style_partitioning,
        "hoodie.datasource.write.partitionpath.urlencode": url_encode_partitioning,
    }
    inferred = KeyGenerator.CUSTOM if partition_types else _inferred_generator(record_key_fields, partition_fields)
    generator = key_generator or inferred
    typed = ",".join(f"{name}:{kind.upper()}" for name, kind in zip(partition_fields, partition_types, strict=False))
    is_new = version >= VERSION_WITH_COMPLETION_TIMES
    if_given = {
        "hoodie.table.recordkey.fields": ",".join(record_key_fields),
        "hoodie.database.name": database,
        "hoodie.table.cdc.supplemental.logging.mode": "DATA_BEFORE_AFTER" if cdc_enabled else "",
        TYPED_PARTITION_FIELDS: "" if is_new else typed,
        "hoodie.datasource.write.slash.separated.date.partitioning": "true" if slash_separated_dates else "",
    }
    properties = {
        "hoodie.table.name": name,
        "hoodie.table.type": table_type.value,
        "hoodie.table.version": str(version),
        "hoodie.table.timeline.timezone": timeline_zone.value,
        "hoodie.table.partition.fields": typed if is_new and typed else ",".join(partition_fields),
        "hoodie.table.keygenerator.type": generator.name,
        "hoodie.table.base.file.format": base_file_format,
        CHECKSUM_KEY: str(table_checksum(name, database)),
        **_ALWAYS,
        **{key: "true" if value else "false" for key, value in flags.items()},
        **{key: value for key, value in if_given.items() if value},
        **_properties_of_version(version, mode, ordering_fields, payload_class),
    }
    if version < VERSION_WITH_COMPLETION_TIMES and generator.value:  # as Hudi 0.15 does: Daft opens no table without it
        properties["hoodie.table.keygenerator.class"] = f"org.apache.hudi.keygen.{generator.value}"
    if version != VERSION_WITH_COMPLETION_TIMES:  # Hudi 1.0.2 does not write these keys
        extractor = _extractor(partition_fields, hive_style=hive_style_partitioning)
        if slash_separated_dates and not hive_style_partitioning:
            extractor = f"{_EXTRACTORS}SlashEncodedDayPartitionValueExtractor"
        properties |= {"hoodie.table.format": "native", "hoodie.table.partition_extractor_class": extractor}
    return config_from_properties({**properties, **(extra or {})}, path="hoodie.properties")


_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""Avro's rule for names: the name of the table's Avro schema contains the table's name."""


def check_table_name(table: str) -> None:
    """Raise an OptionError if *table* is not a valid name of a table."""
    if _NAME.fullmatch(table) is None:
        raise OptionError(
            f"name: expected letters, digits and _, with no digit first, found {table!r}",
            option="hoodie.table.name",
        )


def _check_names(table: str, fields: Sequence[str]) -> None:
    check_table_name(table)
    for field in fields:
        if not field or "," in field or ":" in field:
            raise OptionError(f"expected the name of a column, found {field!r}", option="hoodie.table.recordkey.fields")


def _check_version(version: int, ordering_fields: Sequence[str]) -> None:
    if version not in SUPPORTED_VERSIONS:
        supported = ", ".join(map(str, SUPPORTED_VERSIONS))
        raise OptionError(f"expected a table version of {supported}, found {version}", option="hoodie.table.version")
    if version < _NEWEST_VERSION and len(ordering_fields) > 1:
        raise OptionError(
            f"ordering: expected one column in table version {version}, found {', '.join(ordering_fields)}; "
            f"name one, or create a table of version {_NEWEST_VERSION}",
            option="hoodie.table.ordering.fields",
        )


def _extractor(partition_fields: Sequence[str], *, hive_style: bool) -> str:
    if not partition_fields:
        return f"{_EXTRACTORS}NonPartitionedExtractor"
    if len(partition_fields) > 1:
        return f"{_EXTRACTORS}MultiPartKeysValueExtractor"
    return f"{_EXTRACTORS}{'HiveStyle' if hive_style else 'SinglePart'}PartitionValueExtractor"


def _inferred_generator(record_key_fields: Sequence[str], partition_fields: Sequence[str]) -> KeyGenerator:
    if not partition_fields:
        return KeyGenerator.NON_PARTITION
    is_simple = len(partition_fields) == 1 and len(record_key_fields) <= 1
    return KeyGenerator.SIMPLE if is_simple else KeyGenerator.COMPLEX


def _properties_of_version(
    version: int, mode: MergeMode, ordering_fields: Sequence[str], payload_class: str | None
) -> dict[str, str]:
    """Return the properties of the layout, the merge mode and the ordering fields, which depend on the version."""
    ordering = ",".join(ordering_fields)
    properties = {"hoodie.timeline.layout.version": "1" if version < VERSION_WITH_COMPLETION_TIMES else "2"}
    if version < _NEWEST_VERSION:
        if ordering:
            properties["hoodie.table.precombine.field"] = ordering  # the only key that Hudi up to 1.0 reads
        if mode in _MERGERS or payload_class is not None:
            payload, strategy = _MERGERS.get(mode, ("", _BY_PAYLOAD))
            properties["hoodie.compaction.payload.class"] = payload_class or f"org.apache.hudi.common.model.{payload}"
            properties["hoodie.record.merge.strategy.id"] = strategy
    elif payload_class is not None:
        properties["hoodie.table.legacy.payload.class"] = payload_class
    if ordering and version != VERSION_WITH_COMPLETION_TIMES:
        properties["hoodie.table.ordering.fields"] = ordering
    if version >= VERSION_WITH_COMPLETION_TIMES:
        properties["hoodie.record.merge.mode"] = mode.value
        properties["hoodie.table.initial.version"] = str(version)
        properties["hoodie.table.multiple.base.file.formats.enable"] = "false"
    return properties
