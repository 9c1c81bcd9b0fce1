"""Read the statistics of columns in the footer of a base file, as far as they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.read import open_base_file
from hudiformat.storage.protocol import Storage


@dataclass(frozen=True, slots=True)
class Footer:
    """The contents of a base file's footer.

    ``columns`` are the statistics of columns by name.  ``unknown`` are the columns of the file without statistics that
    can be trusted.  ``sizes`` are, by the column's path, the bytes of each column in the file, and its bytes
    uncompressed.
    """

    rows: int
    keys: FileKeys
    columns: Mapping[str, ColumnStatistics]
    unknown: tuple[str, ...]
    sizes: Mapping[str, tuple[int, int]]


def read_footer(storage: Storage, path: str, schema: pa.Schema, columns: Sequence[str]) -> Footer:
    """Read the statistics of *columns*, of a table whose rows have *schema*, in the base file at *path*.

    A name with dots names a nested field.  Columns that the file does not have are left out.  Statistics that cannot be
    trusted are left out too, and the column is ``unknown``.

    Raises:
        CorruptTableError: the file is not of the format that its name says.
        StorageError: the file cannot be read.
    """
    with open_base_file(storage, path) as file:
        known, unknown = file.statistics(schema, columns)
        return Footer(sum(file.group_rows), FileKeys.of(file.footer), known, unknown, file.column_sizes)
