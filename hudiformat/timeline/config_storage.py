"""A new table's configuration, and where configurations are kept: ``.hoodie/hoodie.properties``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from hudiformat.errors import CorruptTableError, NotATableError, OptionError, StorageError
from hudiformat.storage import Storage
from hudiformat.timeline.config_parsing import META_FOLDER, config_of, parse_table_config
from hudiformat.timeline.properties import CHECKSUM_KEY, format_properties, table_checksum
from hudiformat.timeline.table_config import KeyGenerator, MergeMode, TableConfig, TableType, TimelineZone

PROPERTIES_FILE = f"{META_FOLDER}/hoodie.properties"
BACKUP_FILE = f"{META_FOLDER}/hoodie.properties.backup"

_VERSION = "9"
_ATTEMPTS = 3
_EXTRACTORS = "org.apache.hudi.hive."


def new_table_config(
    *,
    name: str,
    record_key_fields: Sequence[str],
    partition_fields: Sequence[str] = (),
    ordering_fields: Sequence[str] = (),
    table_type: TableType = TableType.MERGE_ON_READ,
    merge_mode: MergeMode | None = None,
    key_generator: KeyGenerator | None = None,
    hive_style_partitioning: bool = False,
    url_encode_partitioning: bool = False,
    populate_meta_fields: bool = True,
    drop_partition_columns: bool = False,
    partition_metafile_use_base_format: bool = False,
    cdc_enabled: bool = False,
    timeline_zone: TimelineZone = TimelineZone.LOCAL,
    database: str = "",
    extra: Mapping[str, str] | None = None,
) -> TableConfig:
    """The configuration of a new table of version 9, with the keys that Hudi writes for one.

    Without *merge_mode* the higher ordering value wins where there are ordering fields, else the later write.  Without
    *key_generator* it follows from the numbers of fields, as in Hudi.  *extra* properties are added last.

    Raises:
        OptionError: no name, or a field's name that a comma-separated list cannot hold.

    Source: HoodieTableConfig.create, KeyGenUtils.inferKeyGeneratorType, HoodieTableConfigUtils, and the tables that
        Hudi 1.2.0 creates.
    """
    _check_names(name, (*record_key_fields, *partition_fields, *ordering_fields))
    properties = {
        "hoodie.table.name": name,
        "hoodie.table.type": table_type.value,
        "hoodie.table.version": _VERSION,
        "hoodie.table.initial.version": _VERSION,
        "hoodie.table.format": "native",
        "hoodie.timeline.layout.version": "2",
        "hoodie.timeline.path": "timeline",
        "hoodie.timeline.history.path": "history",
        "hoodie.archivelog.folder": "history",
        "hoodie.table.timeline.timezone": timeline_zone.value,
        "hoodie.table.partition.fields": ",".join(partition_fields),
        "hoodie.table.partition_extractor_class": _extractor(partition_fields, hive_style=hive_style_partitioning),
        "hoodie.table.keygenerator.type": (key_generator or _inferred(record_key_fields, partition_fields)).name,
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.record.merge.mode": (merge_mode or _default_merge_mode(ordering_fields)).value,
        "hoodie.table.multiple.base.file.formats.enable": "false",
        "hoodie.table.cdc.enabled": _flag(cdc_enabled),
        "hoodie.populate.meta.fields": _flag(populate_meta_fields),
        "hoodie.partition.metafile.use.base.format": _flag(partition_metafile_use_base_format),
        "hoodie.datasource.write.drop.partition.columns": _flag(drop_partition_columns),
        "hoodie.datasource.write.hive_style_partitioning": _flag(hive_style_partitioning),
        "hoodie.datasource.write.partitionpath.urlencode": _flag(url_encode_partitioning),
        CHECKSUM_KEY: str(table_checksum(name, database)),
    }
    if record_key_fields:
        properties["hoodie.table.recordkey.fields"] = ",".join(record_key_fields)
    if ordering_fields:
        properties["hoodie.table.ordering.fields"] = ",".join(ordering_fields)
    if database:
        properties["hoodie.database.name"] = database
    if cdc_enabled:
        properties["hoodie.table.cdc.supplemental.logging.mode"] = "DATA_BEFORE_AFTER"
    return config_of({**properties, **(extra or {})}, path=PROPERTIES_FILE)


def _check_names(table: str, fields: Sequence[str]) -> None:
    if not table:
        raise OptionError("a table needs a name", option="hoodie.table.name")
    for field in fields:
        if not field or "," in field or ":" in field:
            raise OptionError(f"expected the name of a column, found {field!r}", option="hoodie.table.recordkey.fields")


def _flag(value: bool) -> str:  # noqa: FBT001 - the only argument
    return "true" if value else "false"


def _extractor(partition_fields: Sequence[str], *, hive_style: bool) -> str:
    if not partition_fields:
        return f"{_EXTRACTORS}NonPartitionedExtractor"
    if len(partition_fields) > 1:
        return f"{_EXTRACTORS}MultiPartKeysValueExtractor"
    return f"{_EXTRACTORS}{'HiveStyle' if hive_style else 'SinglePart'}PartitionValueExtractor"


def _inferred(record_key_fields: Sequence[str], partition_fields: Sequence[str]) -> KeyGenerator:
    if not partition_fields:
        return KeyGenerator.NON_PARTITION
    is_simple = len(partition_fields) == 1 and len(record_key_fields) <= 1
    return KeyGenerator.SIMPLE if is_simple else KeyGenerator.COMPLEX


def _default_merge_mode(ordering_fields: Sequence[str]) -> MergeMode:
    return MergeMode.EVENT_TIME_ORDERING if ordering_fields else MergeMode.COMMIT_TIME_ORDERING


def format_table_config(config: TableConfig, *, saved_at: datetime) -> bytes:
    """The ``hoodie.properties`` of a configuration, every key of it, with its checksum.

    Source: HoodieTableConfig.storeProperties, Hudi 1.2.0.
    """
    checksum = str(table_checksum(config.name, config.database))
    return format_properties({**config.properties, CHECKSUM_KEY: checksum}, saved_at=saved_at)


def load_table_config(storage: Storage) -> TableConfig:
    """The configuration of the table at a storage's root.

    While Hudi changes the file, it lies under its backup's name: that is read where the file is missing or damaged.

    Raises:
        NotATableError: there is no ``.hoodie`` folder.
        CorruptTableError: there is one, without a sound properties file.
        UnsupportedFeatureError: a table version or format that is not supported.

    Source: ConfigUtils.fetchConfigs, HoodieTableConfig.modify, Hudi 1.2.0.
    """
    damage: CorruptTableError | None = None
    # The file and its backup may swap places between two looks, so that neither is met.
    for path in (PROPERTIES_FILE, BACKUP_FILE) * _ATTEMPTS:
        try:
            return parse_table_config(storage.read(path), path=f"{storage.root}/{path}")
        except StorageError:  # noqa: PERF203 - six turns at most
            continue
        except CorruptTableError as error:
            damage = damage or error
    if damage is not None:
        raise damage
    if not storage.exists(META_FOLDER):
        raise NotATableError(f"{storage.root} is not a Hudi table: it has no folder {META_FOLDER}", path=storage.root)
    raise CorruptTableError(f"{storage.root}: there is no {PROPERTIES_FILE}, nor its backup", path=storage.root)
