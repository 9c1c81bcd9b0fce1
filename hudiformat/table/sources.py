"""Give the context of a bootstrapped table its source files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pyarrow as pa

from hudiformat.file_group.bootstrap.sources import sourced_storage
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.table.state import TableContext


def with_sources(
    context: TableContext, source: Storage | None = None, *, storage_options: Mapping[str, str] | None = None
) -> TableContext:
    """Return *context*; if its table was bootstrapped, its storage knows the source files.

    They are read in *source*, or in the folder that the options of the context name, or in the table's own folder if
    its properties name that; else nowhere.

    Raises:
        StorageError: the folder that the options name is of an unknown kind.
    """
    storage, named = context.storage, context.config.bootstrap_base_path
    if named is None:
        return context
    if source is None and context.options.bootstrap_base_path:
        source = open_storage(context.options.bootstrap_base_path, storage_options=storage_options)
    if source is None and named.removeprefix("file:").rstrip("/") == storage.root.rstrip("/"):
        source = storage
    return replace(context, storage=sourced_storage(storage, source, context.config, partial(_own_columns, context)))


def _own_columns(context: TableContext) -> pa.Schema:
    return context.state().schema.arrow
