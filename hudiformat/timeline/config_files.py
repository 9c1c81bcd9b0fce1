"""Read and write ``.hoodie/hoodie.properties``, and derive a TableConfig from its properties.

Missing properties are inferred, and bad ones rejected, by the same rules as in Hudi.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import TypeVar

from hudiformat.errors import CorruptTableError, NotATableError, StorageError, UnsupportedFeatureError
from hudiformat.storage.protocol import TEMPORARY_PREFIX, Storage
from hudiformat.timeline.table_config import (
    CHECKSUM_KEY,
    MERGE_PROPERTY_PREFIX,
    TYPED_PARTITION_FIELDS,
    KeyGenerator,
    MergeMode,
    PartialUpdateMode,
    TableConfig,
    TableType,
    TimelineZone,
    format_properties,
    key_generator_named,
    parse_properties,
    table_checksum,
)
from hudiformat.wire import is_below_root

META_FOLDER = ".hoodie"
MARKER_FOLDER = f"{META_FOLDER}/.temp"
"""The folder of the markers of all instants."""
METADATA_FOLDER = f"{META_FOLDER}/metadata"
"""The base path of a table's metadata table, which is a table of its own, below that of the table."""
PROPERTIES_FILE = f"{META_FOLDER}/hoodie.properties"
BACKUP_FILE = f"{META_FOLDER}/hoodie.properties.backup"
SUPPORTED_VERSIONS = (6, 8, 9)
VERSION_WITH_COMPLETION_TIMES = 8
VERSION_WITH_PARTIAL_UPDATE_MODE = 9

_PAYLOADS = "org.apache.hudi.common.model."
_EVENT_TIME_PAYLOADS = (f"{_PAYLOADS}DefaultHoodieRecordPayload", f"{_PAYLOADS}EventTimeAvroPayload")
_COMMIT_TIME_PAYLOAD = f"{_PAYLOADS}OverwriteWithLatestAvroPayload"
_LONGEST_NUMBER = 9
_NAME, _VERSION = "hoodie.table.name", "hoodie.table.version"
_NEWER_THAN_VERSIONS = (
    CHECKSUM_KEY,
    "hoodie.table.recordkey.fields",
    "hoodie.table.partition.fields",
    "hoodie.table.keygenerator.class",
    "hoodie.table.keygenerator.type",
)
"""Properties that no release wrote before tables had versions: without a version, properties with one are damaged."""
_ATTEMPTS = 3

_E = TypeVar("_E", bound=Enum)


def format_table_config(config: TableConfig, *, saved_at: datetime) -> bytes:
    """Return the text of ``hoodie.properties`` with all properties of *config* and the checksum.

    Source: HoodieTableConfig.storeProperties, Hudi 1.2.0.
    """
    checksum = str(table_checksum(config.name, config.database))
    return format_properties({**config.properties, CHECKSUM_KEY: checksum}, saved_at=saved_at)


def load_table_config(storage: Storage) -> TableConfig:
    """Load the configuration of the table at the root of *storage*.

    While Hudi changes the properties, only their backup exists.  So the backup is read if the file is missing or
    damaged.

    Raises:
        NotATableError: there is no ``.hoodie`` folder, or no file in it.
        CorruptTableError: there is a ``.hoodie`` folder without an intact properties file.
        UnsupportedFeatureError: the table version or format is not supported.

    Source: ConfigUtils.fetchConfigs, HoodieTableConfig.modify, Hudi 1.2.0.
    """
    damage: CorruptTableError | None = None
    # A writer may replace the file and its backup between two reads, so that both reads fail.
    for path in (PROPERTIES_FILE, BACKUP_FILE) * _ATTEMPTS:
        try:
            return parse_table_config(storage.read(path), path=f"{storage.root}/{path}")
        except StorageError:  # noqa: PERF203 - at most six iterations
            continue
        except CorruptTableError as error:
            damage = damage or error
    if damage is not None:
        raise damage
    if not has_table(storage):
        raise NotATableError(f"{storage.root} is not a Hudi table: it has no folder {META_FOLDER}", path=storage.root)
    raise CorruptTableError(f"{storage.root}: there is no {PROPERTIES_FILE}, nor its backup", path=storage.root)


def has_table(storage: Storage) -> bool:
    """Return whether there is a table, intact or not; a folder that a writer had only begun to fill does not count."""
    waiting = [META_FOLDER]
    while waiting:
        folder = waiting.pop()
        for entry in storage.list(folder):
            if entry.is_dir:
                waiting.append(f"{folder}/{entry.name}")
            elif not entry.name.startswith(TEMPORARY_PREFIX):
                return True
    return False


def update_table_config(storage: Storage, changes: Mapping[str, str | None], *, saved_at: datetime) -> TableConfig:
    """Set properties, remove those whose new value is None, and return the new configuration.

    The file is replaced atomically: a reader sees the old or the new one, and no backup is needed.  First the files
    that a crashed writer of Hudi may have left are repaired: see :func:`recover_table_config`.

    Raises:
        CorruptTableError: there is no intact properties file, or the changes would make it invalid.
        NotATableError: there is no table.
        UnsupportedFeatureError: the table version or format is not supported, before or after the change.

    Source: HoodieTableConfig.update and delete, Hudi 1.2.0.
    """
    recover_table_config(storage)
    properties = dict(load_table_config(storage).properties)
    for key, value in changes.items():
        if value is None:
            properties.pop(key, None)
        else:
            properties[key] = value
    properties[CHECKSUM_KEY] = str(
        table_checksum(properties.get("hoodie.table.name", ""), properties.get("hoodie.database.name", ""))
    )
    config = config_from_properties(properties, path=f"{storage.root}/{PROPERTIES_FILE}")
    storage.create(PROPERTIES_FILE, format_table_config(config, saved_at=saved_at), overwrite=True)
    return config


def recover_table_config(storage: Storage) -> None:
    """Repair the properties after the crash of a writer that was changing them; afterwards there is no backup.

    If the properties are missing or damaged, they are restored from the backup.  Then the backup is deleted.

    Raises:
        CorruptTableError: both are damaged; the backup is kept.

    Source: HoodieTableConfig.recover, ConfigUtils.recoverIfNeeded, Hudi 1.2.0.
    """
    if not storage.exists(BACKUP_FILE):
        return
    try:
        parse_table_config(storage.read(PROPERTIES_FILE), path=f"{storage.root}/{PROPERTIES_FILE}")
    except (StorageError, CorruptTableError):
        backup = storage.read(BACKUP_FILE)
        parse_table_config(backup, path=f"{storage.root}/{BACKUP_FILE}")
        storage.create(PROPERTIES_FILE, backup, overwrite=True)
    storage.delete(BACKUP_FILE)


@lru_cache(maxsize=64)  # each query and each commit reads the file, which rarely changes
def parse_table_config(text: bytes | str, *, path: str) -> TableConfig:
    """Parse the text of ``hoodie.properties``; errors have *path*.

    Raises:
        CorruptTableError: the text is truncated, its checksum is wrong (a missing one is accepted), or a property is
            missing or has an invalid value.
        UnsupportedFeatureError: the table version is not 6, 8 or 9, or the table format is not Hudi's own.

    Source: HoodieTableConfig, ConfigUtils.fetchConfigs, Hudi 1.2.0.
    """
    try:
        properties = parse_properties(text)
    except ValueError as error:
        raise CorruptTableError(f"{path}: not a Java properties file: {error}", path=path) from error
    if _NAME in properties and _VERSION not in properties and text[-1:] not in (b"\n", b"\r", "\n", "\r"):
        raise CorruptTableError(f"{path}: it ends within a line, before {_VERSION}", path=path)
    return config_from_properties(properties, path=path)


def config_from_properties(properties: Mapping[str, str], *, path: str) -> TableConfig:
    """Return the configuration with these properties.

    Raises:
        CorruptTableError, UnsupportedFeatureError: as :func:`parse_table_config`.
    """
    read = _Reader(properties, path)
    name = read.required(_NAME)
    _check_checksum(properties, name, path)
    version = _supported_version(_version(read))
    _refuse_foreign_format(properties)
    timeline_folder, history_folder = _timeline_folders(read, version)
    partitions = _partitions(read)
    ordering_fields = read.names("hoodie.table.ordering.fields", "hoodie.table.precombine.field")
    payload_class = _payload_class(read)
    strategy_id = read.text("hoodie.record.merge.strategy.id", "hoodie.compaction.record.merger.strategy") or None
    merge_mode = read.choice("hoodie.record.merge.mode", MergeMode)
    key_generator, key_generator_class = _key_generator(read)
    base_file_format = read.text("hoodie.table.base.file.format", "hoodie.table.ro.file.format") or "PARQUET"
    prefix = len(MERGE_PROPERTY_PREFIX)
    return TableConfig(
        properties=dict(properties),
        name=name,
        database=read.text("hoodie.database.name") or "",
        table_type=read.choice("hoodie.table.type", TableType) or TableType.COPY_ON_WRITE,
        version=version,
        layout_version=_layout(read, version, path),
        timeline_folder=timeline_folder,
        history_folder=history_folder,
        record_key_fields=read.names("hoodie.table.recordkey.fields"),
        partition_fields=tuple(name for name, _, _ in partitions),
        partition_types=tuple(kind.lower() or None for _, _, kind in partitions),
        ordering_fields=ordering_fields,
        merge_mode=_merge_mode(merge_mode, version, payload_class, strategy_id, ordering_fields),
        merge_strategy_id=strategy_id,
        merge_properties={k[prefix:]: v for k, v in properties.items() if k.startswith(MERGE_PROPERTY_PREFIX)},
        payload_class=payload_class,
        legacy_payload_class=read.text("hoodie.table.legacy.payload.class") or None,
        partial_update_mode=read.choice("hoodie.table.partial.update.mode", PartialUpdateMode)
        if version >= VERSION_WITH_PARTIAL_UPDATE_MODE
        else None,
        key_generator=key_generator,
        key_generator_class=key_generator_class,
        populate_meta_fields=read.flag("hoodie.populate.meta.fields", default=True),
        hive_style_partitioning=read.flag("hoodie.datasource.write.hive_style_partitioning"),
        url_encode_partitioning=read.flag("hoodie.datasource.write.partitionpath.urlencode"),
        slash_separated_dates=_has_slash_dates(read, len(partitions)),
        drop_partition_columns=read.flag("hoodie.datasource.write.drop.partition.columns"),
        base_file_format=base_file_format.upper(),
        multiple_base_file_formats=read.flag("hoodie.table.multiple.base.file.formats.enable"),
        partition_metafile_use_base_format=read.flag("hoodie.partition.metafile.use.base.format"),
        cdc_enabled=read.flag("hoodie.table.cdc.enabled"),
        cdc_supplemental_logging_mode=read.text("hoodie.table.cdc.supplemental.logging.mode") or "DATA_BEFORE_AFTER",
        metadata_partitions=read.folders("hoodie.table.metadata.partitions"),
        timeline_zone=read.choice("hoodie.table.timeline.timezone", TimelineZone) or TimelineZone.LOCAL,
        bootstrap_base_path=read.text("hoodie.bootstrap.base.path") or None,
        create_schema=read.text("hoodie.table.create.schema") or None,
    )


def _partitions(read: _Reader) -> list[tuple[str, str, str]]:
    """Return the partition fields, each with a colon and its type if the file has types."""
    plain = [entry.partition(":") for entry in read.names("hoodie.table.partition.fields")]
    typed = [entry.partition(":") for entry in read.names(TYPED_PARTITION_FIELDS)]
    return typed if [name for name, _, _ in typed] == [name for name, _, _ in plain] else plain


def _has_slash_dates(read: _Reader, fields: int) -> bool:
    """Return whether the dates in partition paths have slashes.

    Hudi keeps the option in no property, but a class that it infers from it.  Paths without slashes would double rows.

    Source: HoodieTableConfigUtils.inferPartitionValueExtractorClass, Hudi 1.2.0.
    """
    extractor = read.text("hoodie.table.partition_extractor_class") or ""
    is_inferred = fields == 1 and extractor.endswith("SlashEncodedDayPartitionValueExtractor")
    return read.flag("hoodie.datasource.write.slash.separated.date.partitioning") or is_inferred


def _layout(read: _Reader, version: int, path: str) -> int:
    layout = read.number("hoodie.timeline.layout.version")
    if layout != (1 if version < VERSION_WITH_COMPLETION_TIMES else 2):
        raise CorruptTableError(f"{path}: table version {version} with timeline layout {layout}", path=path)
    return layout


def _check_checksum(properties: Mapping[str, str], name: str, path: str) -> None:
    checksum = properties.get(CHECKSUM_KEY)
    expected = str(table_checksum(name, properties.get("hoodie.database.name", "")))
    if checksum is not None and checksum != expected:
        raise CorruptTableError(f"{path}: expected {CHECKSUM_KEY} {expected}, found {checksum!r}", path=path)


def _version(read: _Reader) -> int:
    """Return the table version; properties without one are of version 0, unless they have what newer properties have.

    Source: HoodieTableConfig.VERSION of Hudi 0.15; HoodieTableVersion.ZERO.
    """
    is_newer = any(read.text(key) is not None for key in _NEWER_THAN_VERSIONS)
    return read.number(_VERSION) if is_newer or read.text(_VERSION) is not None else 0


def _supported_version(version: int) -> int:
    if version in SUPPORTED_VERSIONS:
        return version
    if version == 0:
        advice = f"it has no {_VERSION}, as before Hudi 0.6: upgrade it to version 6 with Apache Hudi 0.14 or 0.15"
    elif version < min(SUPPORTED_VERSIONS):
        advice = "upgrade it to version 6 with Apache Hudi 0.14 or 0.15"
    elif version < max(SUPPORTED_VERSIONS):
        advice = "it is halfway through an upgrade: finish it to version 8 with Apache Hudi 1.0"
    else:
        advice = "it was written by a newer Apache Hudi, whose log files have another format: write it as version 9"
    supported = ", ".join(map(str, SUPPORTED_VERSIONS))
    raise UnsupportedFeatureError(
        f"expected a table of version {supported}, found version {version}; {advice}",
        feature=f"table version {version}",
    )


def _refuse_foreign_format(properties: Mapping[str, str]) -> None:
    table_format = properties.get("hoodie.table.format", "native")
    if table_format != "native":
        raise UnsupportedFeatureError(
            "hoodie.table.format: expected native, which is Hudi's own, found "
            f"{table_format!r}; read the table with the library of that format",
            feature="hoodie.table.format",
        )


def _timeline_folders(read: _Reader, version: int) -> tuple[str, str]:
    # TimelinePathProviderV1 and V2
    if version < VERSION_WITH_COMPLETION_TIMES:
        return META_FOLDER, f"{META_FOLDER}/{read.folder('hoodie.archivelog.folder', default='archived')}"
    timeline = f"{META_FOLDER}/{read.folder('hoodie.timeline.path', default='timeline')}"
    return timeline, f"{timeline}/{read.folder('hoodie.timeline.history.path', default='history')}"


def _payload_class(read: _Reader) -> str | None:
    name = read.text("hoodie.compaction.payload.class", "hoodie.datasource.write.payload.class")
    return name.replace("com.uber.hoodie", "org.apache.hudi") if name else None


def _key_generator(read: _Reader) -> tuple[KeyGenerator | None, str | None]:
    """Return the key generator and its class, if the file has one; a class takes precedence over a type, as in Hudi."""
    name = read.text("hoodie.table.keygenerator.class") or None
    kind = read.text("hoodie.table.keygenerator.type") or None
    found = name or kind
    return (None, None) if found is None else (key_generator_named(found), name)


def _merge_mode(
    mode: MergeMode | None,
    version: int,
    payload_class: str | None,
    strategy_id: str | None,
    ordering_fields: Iterable[str],
) -> MergeMode:
    """Return the merge mode; below version 8 it is determined by the payload class, not by the property.

    Source: HoodieReaderContext.initRecordMerger, HoodieTableConfig.inferMergingConfigsForPreV9Table, Hudi 1.2.0.
    """
    if version < VERSION_WITH_COMPLETION_TIMES:
        payload_class = payload_class or (
            _COMMIT_TIME_PAYLOAD if mode is MergeMode.COMMIT_TIME_ORDERING else _EVENT_TIME_PAYLOADS[0]
        )
    elif mode is not None:
        return mode
    if payload_class in _EVENT_TIME_PAYLOADS:
        return MergeMode.EVENT_TIME_ORDERING
    if payload_class == _COMMIT_TIME_PAYLOAD:
        return MergeMode.COMMIT_TIME_ORDERING
    if payload_class or strategy_id:
        return MergeMode.CUSTOM
    return MergeMode.EVENT_TIME_ORDERING if any(ordering_fields) else MergeMode.COMMIT_TIME_ORDERING


class _Reader:
    """Looks up properties by their current or older keys, and rejects values that Hudi would not accept."""

    def __init__(self, properties: Mapping[str, str], path: str) -> None:
        self._properties = properties
        self._path = path

    def text(self, *keys: str) -> str | None:
        return next((self._properties[key] for key in keys if key in self._properties), None)

    def required(self, key: str) -> str:
        value = self.text(key)
        if not value:
            raise CorruptTableError(f"{self._path}: the property {key} is missing", path=self._path)
        return value

    def number(self, key: str) -> int:
        value = self.required(key)
        if not value.isascii() or not value.isdigit() or len(value) > _LONGEST_NUMBER:
            raise self._bad(key, value, "a number")
        return int(value)

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self.text(key)
        return default if value is None else value.strip().lower() == "true"  # Boolean.parseBoolean

    def names(self, *keys: str) -> tuple[str, ...]:
        return tuple(name for name in (self.text(*keys) or "").split(",") if name)

    def folder(self, key: str, *, default: str) -> str:
        """Return the path of a folder below another folder of the table."""
        value = self.text(key) or default
        if not is_below_root(value):
            raise self._bad(key, value, "a folder within the table")
        return value

    def folders(self, key: str) -> tuple[str, ...]:
        """Return the names of folders."""
        names = self.names(key)
        for name in names:
            if not is_below_root(name) or "/" in name:
                raise self._bad(key, name, "the names of folders")
        return names

    def choice(self, key: str, kind: type[_E]) -> _E | None:
        value = self.text(key)
        if not value:
            return None
        try:
            return kind[value.strip().upper()]
        except KeyError:
            raise self._bad(key, value, " or ".join(member.name for member in kind)) from None

    def _bad(self, key: str, value: str, expected: str) -> CorruptTableError:
        return CorruptTableError(f"{self._path}: expected {expected} for {key}, found {value!r}", path=self._path)
