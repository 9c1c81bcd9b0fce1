"""Whether a write keeps the table's metadata table up, or gives it up before anything else.

The partition ``files`` is kept up; others are taken away, as Hudi's writers do with those that they do not write.  One
that is in no known state goes as a whole: if it were left as it is, the files of the write would be invisible, for
Hudi's readers list files from there.

Source: HoodieTable.deleteMetadataTableIfNecessary, HoodieTableMetadataUtil.deleteMetadataTable, Hudi 1.2.0.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from datetime import datetime, timezone

from hudiformat.errors import CorruptTableError, HudiFormatWarning, NotATableError, UnsupportedFeatureError
from hudiformat.metadata import FILES, METADATA_FOLDER
from hudiformat.storage import Storage
from hudiformat.table.context import TableContext
from hudiformat.table.metadata_table import MetadataTable
from hudiformat.timeline import (
    VERSION_WITH_COMPLETION_TIMES,
    Action,
    TableConfig,
    load_table_config,
    update_table_config,
)

_PARTITIONS = "hoodie.table.metadata.partitions"
_INFLIGHT = f"{_PARTITIONS}.inflight"


def prepare_metadata_table(context: TableContext) -> None:
    """See to it that the metadata table can be kept up, or is gone; warn of what goes unless the options ask for it.

    To be called under the table's lock, before the first change.
    """
    config, root = load_table_config(context.storage), context.storage.root
    if not config.metadata_partitions:
        return
    reason = None if context.options.metadata_enable is False else _why_not(context, config)
    others = [name for name in config.metadata_partitions if name != FILES]
    if context.options.metadata_enable is False:  # somebody has said that it shall go
        _drop(context.storage, config.metadata_partitions)
    elif reason is not None:
        _warn(f"{root}: the metadata table {reason}, and is dropped; a writer of Hudi's that has it on builds it anew")
        _drop(context.storage, config.metadata_partitions)
    elif others:
        _warn(
            f"{root}: of the metadata table only the partition {FILES} is kept up; {', '.join(others)} are dropped, "
            "and built anew by a writer of Hudi's that has them on"
        )
        _drop(context.storage, others)


def _why_not(context: TableContext, config: TableConfig) -> str | None:
    """Why the metadata table cannot be kept up, to go on after its name; None where it can."""
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        return f"of a table of version {config.version} is not kept up"
    if FILES not in config.metadata_partitions:
        return f"has no partition {FILES}"
    if being_built := config.properties.get(_INFLIGHT):
        return f"is being built ({being_built})"
    return _why_not_as_it_is(context, config)


def _why_not_as_it_is(context: TableContext, config: TableConfig) -> str | None:
    try:
        table = MetadataTable.of(context.storage, context.clock)
        assert table is not None  # noqa: S101 - it has the partition
        if table.config.version != config.version:
            return f"has version {table.config.version}, the table {config.version}"
        if table.schema() is None:
            return "has no commit"
        pending = [instant for instant in table.timeline().pending if instant.action is not Action.DELTA_COMMIT]
    except (CorruptTableError, NotATableError, UnsupportedFeatureError) as error:
        return f"cannot be read ({error})"
    others = len(config.metadata_partitions) > 1
    return f"has a partition that cannot go while {pending[0]} is pending" if pending and others else None


def _drop(storage: Storage, partitions: Iterable[str]) -> None:
    """Take *partitions*, or with ``files`` all of it, out of the properties, and then away.

    In this order: a reader that finds no folder under properties that name one would fail.
    """
    gone = set(partitions)
    left = [name for name in load_table_config(storage).metadata_partitions if name not in gone]
    changes = {_PARTITIONS: ",".join(left), **({} if left else {_INFLIGHT: ""})}
    update_table_config(storage, changes, saved_at=datetime.now(timezone.utc))
    for folder in sorted(f"{METADATA_FOLDER}/{name}" for name in gone) if left else [METADATA_FOLDER]:
        storage.delete(folder)


def _warn(message: str) -> None:
    warnings.warn(message, HudiFormatWarning, stacklevel=4)
