"""Row groups that the next base file of a file group takes over as they are, because no change touches them.

They are copied byte for byte; only the column with the name of the file is written anew.  So an upsert of few rows of a
large base file decodes and compresses a part of it.

Source: HoodieBinaryCopyHandle, Hudi 1.2.0, which copies whole files in this way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.codec.custom_types import stored_schema
from hudiformat.codec.parquet.source import ParquetSource
from hudiformat.file_group.base_file.copying import LEAST_GROUP, can_be_copied
from hudiformat.file_group.base_file.file_indexes import FileKeys, key_range_of
from hudiformat.file_group.base_file.format import format_named
from hudiformat.file_group.base_file.parquet import PARQUET, convert_read_errors
from hudiformat.file_group.bootstrap.sources import SourcedStorage
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.rows import NOT_IN_BASE_FILE, Integers


@dataclass(frozen=True, slots=True)
class CopiedGroups:
    """The row groups ``chosen`` of the open base file ``source``, which has ``count`` of them.

    ``known`` are the keys of its footer.
    """

    source: ParquetSource
    count: int
    chosen: frozenset[int]
    known: FileKeys

    def keys_with(self, added: pa.Array, *, bloom_filter: bool) -> FileKeys:
        """Return the keys for the footer of the next base file, to which the keys *added* come.

        As in Hudi's bloom filters, keys that have been deleted stay.
        """
        found = self.known.key_range, key_range_of(added)
        bounds = pa.array([key for one in found if one is not None for key in one], pa.string())
        text = None
        if bloom_filter and self.known.filters:
            text = self.known.filters[0].with_keys(added).serialize() if len(added) else self.known.filter_text
        return FileKeys(key_range_of(bounds), text)


@contextmanager
def open_copied_groups(target: GroupTarget, path: str, positions: Integers | None) -> Iterator[CopiedGroups | None]:
    """Open the base file at *path* for the body, if row groups of it can be copied; else the body gets None.

    *positions* are the rows that changes touch, or NOT_IN_BASE_FILE for new rows, which go to the last row group; None
    if they are not known.

    Raises:
        CorruptTableError, DecodeError: the file is damaged.
        StorageError: the file cannot be read.
    """
    found = None if positions is None else _find_groups(target, path, positions)
    if found is None:
        yield None
        return
    chosen, count, known = found
    with target.storage.open_input(path) as opened:
        with convert_read_errors(path):
            source = ParquetSource.open(opened, path)
            is_alike = _is_alike(source, target.plan.schema.arrow_with_meta)
        yield CopiedGroups(source, count, chosen, known) if is_alike else None


def _find_groups(target: GroupTarget, path: str, positions: Integers) -> tuple[frozenset[int], int, FileKeys] | None:
    """Return the row groups that can be copied, how many the file has, and the keys of its footer; None if none can."""
    plan, storage = target.plan, target.storage
    needs_rows = plan.indexes is not None or plan.config.cdc_enabled or plan.history is not None
    is_parquet = format_named(plan.config.base_file_format) is PARQUET and not isinstance(storage, SourcedStorage)
    if needs_rows or not is_parquet or not plan.config.populate_meta_fields:
        return None
    with PARQUET.open(storage, path) as base:
        is_new = positions == NOT_IN_BASE_FILE
        ends = np.cumsum(base.group_rows)
        touched = {*np.searchsorted(ends, positions[~is_new], side="right").tolist()}
        if is_new.any():
            touched.add(len(ends) - 1)
        chosen = frozenset(range(len(ends))) - touched
        if not chosen:
            return None
        # The filter of the old file, if it fits still, is that of the next: its other keys are not read.
        known, rows = FileKeys.of(base.footer), int(sum(base.group_rows) + is_new.sum())
    fits = not plan.options.bloom_filter or known.filter_of(rows) is not None
    schema, codec = plan.schema.arrow_with_meta, plan.options.parquet_codec
    is_whole = known.key_range is not None and fits
    if not is_whole or not can_be_copied(storage, [path], schema, compression=codec, least_group=LEAST_GROUP):
        return None
    return chosen, len(ends), known


def _is_alike(source: ParquetSource, schema: pa.Schema) -> bool:
    """Return whether a file with *schema* that is written now can have row groups of *source* in it."""
    sink = pa.BufferOutputStream()
    pq.write_table(stored_schema(schema).empty_table(), sink, store_schema=False)
    return source.difference(ParquetSource.open(pa.BufferReader(sink.getvalue()), "a new file")) is None
