"""Read the record keys of a file slice, with the columns that an index is of."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.base_file.file_indexes import indexed_values
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.storage.protocol import Storage


def keyed_rows(
    reader: SliceReader,
    storage: Storage,
    file_slice: FileSlice | None,
    columns: Sequence[str] = (),
    *,
    keys: pa.Array | None = None,
) -> pa.Table:
    """Read the record keys and *columns*, which are dotted paths, of a slice; return no rows if there is no slice.

    If *keys* are given, only rows with these record keys are read.

    Raises:
        CorruptTableError, DecodeError, StorageError: a file of the slice is missing or damaged.
        UnsupportedFeatureError: the slice has records that cannot be merged.
    """
    names = list(dict.fromkeys([RECORD_KEY, *(path.partition(".")[0] for path in columns)]))
    if file_slice is None:
        return indexed_values(reader.project(names).empty_table(), columns)
    where = None if keys is None else pc.field(RECORD_KEY).isin(keys)
    rows = reader.read(storage, file_slice, columns=names, may_hold=where)
    return indexed_values(rows if where is None else rows.filter(where), columns)
