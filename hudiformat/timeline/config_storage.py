"""Where configurations are kept: ``.hoodie/hoodie.properties``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from hudiformat.errors import CorruptTableError, NotATableError, StorageError
from hudiformat.storage import Storage
from hudiformat.timeline.config_parsing import META_FOLDER, config_of, parse_table_config
from hudiformat.timeline.properties import CHECKSUM_KEY, format_properties, table_checksum
from hudiformat.timeline.table_config import TableConfig

PROPERTIES_FILE = f"{META_FOLDER}/hoodie.properties"
BACKUP_FILE = f"{META_FOLDER}/hoodie.properties.backup"

_ATTEMPTS = 3


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


def update_table_config(storage: Storage, changes: Mapping[str, str | None], *, saved_at: datetime) -> TableConfig:
    """Set properties, and take away those whose new value is None; the configuration that is stored then.

    The file is replaced in one step, so that a reader meets the old or the new one, and no backup is needed.  What a
    writer of Hudi's that died has left behind is put in order first: see :func:`recover_table_config`.

    Raises:
        CorruptTableError: there is no sound properties file, or the changes would make it none.
        NotATableError: there is no table.
        UnsupportedFeatureError: a table version or format that is not supported, before or after.

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
    config = config_of(properties, path=f"{storage.root}/{PROPERTIES_FILE}")
    storage.create(PROPERTIES_FILE, format_table_config(config, saved_at=saved_at), overwrite=True)
    return config


def recover_table_config(storage: Storage) -> None:
    """Finish what a writer that died while it changed the properties has begun: afterwards there is no backup.

    The backup becomes the properties where these are missing or damaged; else it goes.

    Raises:
        CorruptTableError: both are damaged; the backup stays.

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
