"""What the next base file of a file group takes over as it is: row groups that no change touches, and record keys.

Row groups are copied byte for byte; only the column with the name of the file is written anew.  So an upsert of few
rows of a large base file decodes and compresses a part of it.  Where rows are only updated, none comes or goes, and
their keys and partition paths are copied with the other row groups, too.

Source: HoodieBinaryCopyHandle, Hudi 1.2.0, which copies whole files in this way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudiformat.codec.parquet.source import ParquetSource
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.assembled_groups import pays_off
from hudiformat.file_group.base_file.copying import LEAST_GROUP, can_be_mixed, has_large_groups
from hudiformat.file_group.base_file.file_indexes import FileKeys, key_range_of
from hudiformat.file_group.base_file.parquet import PARQUET, convert_read_errors
from hudiformat.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.rows import NOT_IN_BASE_FILE, Integers


@dataclass(frozen=True, slots=True)
class CopiedGroups:
    """The row groups ``chosen`` of the open base file ``source``, which has ``count`` of them.

    ``known`` are the keys of its footer.  ``kept`` are columns that the other row groups keep.
    """

    source: ParquetSource
    count: int
    chosen: frozenset[int]
    known: FileKeys
    kept: Sequence[str] = ()

    @property
    def row_size(self) -> int:
        """The bytes of a row in the file, on average."""
        return self.source.end // max(sum(self.source.group_rows), 1)

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
def open_copied_groups(
    target: GroupTarget, path: str, positions: Integers | None, *, only_updates: bool, key: str
) -> Iterator[CopiedGroups | None]:
    """Open the base file at *path* for the body, if parts of it can be copied; else the body gets None.

    *positions* are the rows that changes touch, or NOT_IN_BASE_FILE for new rows, which go to the last row group; None
    if they are not known.  If there are *only_updates*, each row group keeps its rows and their keys; the column *key*
    has the keys, too.

    Raises:
        CorruptTableError, DecodeError: the file is damaged.
        StorageError: the file cannot be read.
    """
    chosen = None
    if positions is not None and target.keeps_files_alone:
        chosen = _untouched(target, path, positions, only_updates=only_updates)
    if chosen is None or positions is None:
        yield None
        return
    with target.storage.open_input(path) as opened:
        with convert_read_errors(path):
            found = _open_source(target, opened, path, added=int((positions == NOT_IN_BASE_FILE).sum()))
        kept = dict.fromkeys((RECORD_KEY, PARTITION_PATH, key)) if only_updates else ()
        yield found and CopiedGroups(found[0], len(found[0].groups), chosen, found[1], tuple(kept))


def _untouched(target: GroupTarget, path: str, positions: Integers, *, only_updates: bool) -> frozenset[int] | None:
    """Return the row groups that no change touches; None if neither they nor columns of others are worth copying.

    Most files have one small row group, which is not.  Arrow tells that in a tenth of the time that parsing the footer
    here takes.
    """
    with PARQUET.open(target.storage, path) as base:
        rows, footer = base.group_rows, base.file.metadata
        if not has_large_groups(footer, LEAST_GROUP):
            return None
    ends = np.cumsum(rows)
    is_new = positions == NOT_IN_BASE_FILE
    touched = {*np.searchsorted(ends, positions[~is_new], side="right").tolist()}
    if is_new.any():
        touched.add(len(ends) - 1)
    chosen = frozenset(range(len(ends))) - touched
    if chosen or not (only_updates and rows):
        return chosen or None
    groups = len(rows)
    size = sum(footer.row_group(group).total_byte_size for group in range(groups)) // groups
    return chosen if pays_off(rows=sum(rows) // groups, columns=footer.num_columns, size=size) else None


def _open_source(
    target: GroupTarget, opened: pa.NativeFile, path: str, *, added: int
) -> tuple[ParquetSource, FileKeys] | None:
    """Return the file and the keys of its footer; None if nothing of it can be in a file that gets *added* new rows."""
    plan = target.plan
    try:
        source = ParquetSource.open(opened, path)
    except UnsupportedFeatureError:
        return None
    if not can_be_mixed(source, plan.schema.arrow_with_meta, compression=plan.options.parquet_codec):
        return None
    # The filter of the old file, if it fits still, is that of the next: its other keys are not read.
    known = FileKeys.of(source.metadata)
    fits = not plan.options.bloom_filter or known.filter_of(sum(source.group_rows) + added) is not None
    return (source, known) if known.key_range is not None and fits else None
