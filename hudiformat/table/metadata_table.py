"""Giving up a table's metadata table, as Hudi's writers do where they run with ``hoodie.metadata.enable=false``.

A writer that leaves a metadata table as it is makes its own files invisible: Hudi's readers list files from there.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import datetime, timezone

from hudiformat.errors import HudiFormatWarning
from hudiformat.metadata import METADATA_FOLDER
from hudiformat.storage import Storage
from hudiformat.table.context import TableContext
from hudiformat.timeline import PROPERTIES_FILE, TableConfig, format_table_config, load_table_config

_PARTITIONS = "hoodie.table.metadata.partitions"


def without_metadata_table(context: TableContext) -> None:
    """Take the metadata table of a table that is about to change away; warn, unless the options say that it may go."""
    current = load_table_config(context.storage)
    if not current.metadata_partitions:
        return
    if context.options.metadata_enable is None:  # nobody has said that it shall go
        warnings.warn(
            f"{context.storage.root}: the metadata table cannot be kept up yet and is dropped, as Hudi drops it "
            "with hoodie.metadata.enable=false; a writer that has it on builds it anew",
            HudiFormatWarning,
            stacklevel=3,
        )
    drop_metadata_table(context.storage, current)


def drop_metadata_table(storage: Storage, config: TableConfig) -> None:
    """Take the metadata table out of the properties, and then away.

    In this order: a reader that finds no folder under properties that name one would fail.

    Source: HoodieTable.deleteMetadataTableIfNecessary, HoodieTableMetadataUtil.deleteMetadataTable.
    """
    properties = {**config.properties, _PARTITIONS: "", f"{_PARTITIONS}.inflight": ""}
    text = format_table_config(replace(config, properties=properties), saved_at=datetime.now(timezone.utc))
    storage.create(PROPERTIES_FILE, text, overwrite=True)
    storage.delete(METADATA_FOLDER)
