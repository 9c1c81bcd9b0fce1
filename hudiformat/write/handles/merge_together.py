"""Merge changes with several small base files at the same time: small files cost as many calls as large ones.

The files are read one by one; their rows and their changes are merged as those of one file, which is divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from hudiformat.file_group.base_file.file_indexes import FileKeys
from hudiformat.file_group.base_file.read import to_base_rows
from hudiformat.schema.meta_fields import INSERTED, RECORD_KEY, UPDATED
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.commit.files import WriteCounts
from hudiformat.write.handles.file_changes import ChangedRows, replace_rows
from hudiformat.write.handles.merge import CollectedChanges, MergeHandle, add_meta_fields
from hudiformat.write.rows import Integers

_MOST_BYTES = 32 * 1024 * 1024
"""The bytes of rows in memory from which on the files that were read are merged."""


@dataclass(frozen=True, slots=True)
class _OldFile:
    """A base file that was read for its handle: its rows without the file's name, and the keys of its footer."""

    handle: MergeHandle
    rows: pa.Table
    known: FileKeys


def merge_together(handles: Sequence[MergeHandle]) -> Iterator[list[WriteStat]]:
    """Write the next base files of *handles* of one write, which are small, and yield the statistics of each.

    The files have the rows and the texts of the footer that they would have if the handles wrote them one by one.
    """
    files: list[_OldFile] = []
    size = 0
    for handle in handles:
        read = handle.read()
        if read is not None:
            files.append(_OldFile(handle, *read))
            size += read[0].nbytes
        if files and (read is None or size >= _MOST_BYTES):
            yield from _merge(files)
            files, size = [], 0
        if read is None:
            yield handle.close()
    if files:
        yield from _merge(files)


def _merge(files: Sequence[_OldFile]) -> Iterator[list[WriteStat]]:
    """Write the next files of those that were read.

    Two files with the rows a, b and c, d, e; b and d are updated, c is deleted, f and g are new rows of the first::

        base       a  b | c  d  e    ends = [2, 5]
        at         1  2  3           the rows of `base` that change, of the files 0, 1 and 1
        merged     a  b'| d' e       bounds = (0, 2), (2, 4)
        new        f  g |            bounds = (0, 2), (2, 2): the files are a b' f g, and d' e
    """
    lengths = [one.rows.num_rows for one in files]
    ends = np.cumsum(lengths)
    collected = CollectedChanges.of_files([one.handle.collected for one in files], (ends - lengths).tolist())
    numbering, changed = _Numbering(files), collected.compared()
    base = pa.concat_tables([one.rows for one in files]).combine_chunks()
    at = change = np.empty(0, np.int64)
    for part in to_base_rows(base.to_batches()):  # one, or none if no file has a row
        at, change, wins = changed.match(part)
        at, change = at[wins], change[wins]
    updated = ~changed.deleted[change]
    of_match = np.searchsorted(ends, at, side="right")
    newer = numbering.add_meta_fields(changed.rows.take(change[updated]), of_match[updated], UPDATED)
    merged = replace_rows(base, at, updated, newer)
    new, of_new = _new_rows(files, collected, changed)
    new = numbering.add_meta_fields(new, of_new, INSERTED)

    updates, deletes, inserts = (
        np.bincount(numbers, minlength=len(files)) for numbers in (of_match[updated], of_match[~updated], of_new)
    )
    bounds = pairwise(np.append(0, np.cumsum(lengths - deletes)).tolist())
    new_bounds = pairwise(np.append(0, inserts.cumsum()).tolist())
    row_size = (merged.nbytes + new.nbytes) / max(merged.num_rows + new.num_rows, 1)
    for number, (one, (start, end), (first, last)) in enumerate(zip(files, bounds, new_bounds, strict=True)):
        added = new.slice(first, last - first)
        rows = pa.concat_tables([merged.slice(start, end - start), added])
        counts = WriteCounts(updates=int(updates[number]), inserts=last - first, deletes=int(deletes[number]))
        keys = added[RECORD_KEY].combine_chunks()
        yield one.handle.close_with(rows, counts, known=one.known, added=keys, size=int(rows.num_rows * row_size))


def _new_rows(
    files: Sequence[_OldFile], collected: CollectedChanges, changed: ChangedRows
) -> tuple[pa.Table, Integers]:
    """Return the rows that no file has, sorted by file, and the number of the file of each.

    In each file, changes that match no row come before inserts.
    """
    sizes = np.array([one.handle.collected.sizes for one in files]).T
    changes, deletes, inserts = (np.repeat(np.arange(len(files)), counts) for counts in sizes)
    unmatched = changed.unmatched()
    of_row = np.append(np.append(changes, deletes)[unmatched], inserts)
    rows = pa.concat_tables([changed.rows.rows.filter(pa.array(unmatched)), collected.inserted()])
    order = np.argsort(of_row, kind="stable")
    return rows.take(pa.array(order)) if len(inserts) else rows, of_row[order]


class _Numbering:
    """Adds meta fields to rows of several files; the rows of each are numbered on from call to call."""

    def __init__(self, files: Sequence[_OldFile]) -> None:
        numbers = [one.handle.collected.numbers for one in files]
        self._numbers = np.concatenate(numbers)
        self._next = np.cumsum([0, *map(len, numbers)])[:-1]
        self._target = files[0].handle.target
        self._paths = pa.array([one.handle.target.partition_path for one in files])

    def add_meta_fields(self, rows: pa.Table, of_file: Integers, operation: str) -> pa.Table:
        """Return *rows* with all meta fields except the file's name; *of_file* ascends.

        The rows of the files 0, 0 and 2, whose next numbers are at 3, 5 and 6 of all numbers, get those at 3, 4 and 6.
        """
        counts = np.bincount(of_file, minlength=len(self._next))
        ranks = np.arange(len(of_file)) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers = self._numbers[self._next[of_file] + ranks]
        self._next = self._next + counts
        paths = self._paths.take(pa.array(of_file))
        return add_meta_fields(self._target, rows, numbers, operation, partition_path=paths)
