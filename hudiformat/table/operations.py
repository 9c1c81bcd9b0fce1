"""Find out whether the files of a table have the meta field of the operation, as in a changelog table of Flink.

No property of the table records it.  Hudi looks into a data file of the newest commit that wrote rows.

Source: TableSchemaResolver.hasOperationField, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterable

from hudiformat.codec.log.reader import first_schema
from hudiformat.errors import HudiFormatError
from hudiformat.file_group.base_file.read import read_columns
from hudiformat.naming.file_names import base_name
from hudiformat.schema.meta_fields import OPERATION
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.commit_metadata import CommitMetadata

_MOST_FILES = 3
"""The number of files to try: some may be unreadable because they were cleaned or are damaged."""

_FIELD = f'"{OPERATION}"'


def keeps_operations(storage: Storage, commits: Iterable[CommitMetadata]) -> bool:
    """Return whether the newest commit that wrote rows wrote operations; *commits* begin with the newest."""
    for metadata in commits:
        written = [stat for stat in metadata.write_stats if stat.path and (stat.num_inserts or stat.num_update_writes)]
        if written:
            written.sort(key=lambda stat: stat.file_size_in_bytes)
            return any(_has_operations(storage, stat.path or "") for stat in written[:_MOST_FILES])
    return False


def _has_operations(storage: Storage, path: str) -> bool:
    try:
        if base_name(path).startswith("."):
            return _FIELD in (first_schema(storage, path) or "")
        return OPERATION in read_columns(storage, path).names
    except HudiFormatError:  # the error is reported when the file's rows are read
        return False
