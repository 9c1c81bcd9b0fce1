"""Merge the log files of several slices at the same time: small blocks cost as many calls as large ones.  Pure.

Entries are matched by position.  The positions of each slice get a range of numbers of their own, so that the entries
of all slices are merged in one go, and the result is divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from hudiformat.codec.log.batches import GroupLimits
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType
from hudiformat.file_group.merging.candidates import (
    ages,
    has_positions,
    make_candidates,
    positions_of,
    read_all_deletes,
    read_records,
)
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.file_group.merging.slice import MergedLog, merge_log_entries

_RANGE = 40
"""Bits of a position: a base file has fewer rows than that."""
_LIMITS = GroupLimits(small=1 << 20)


@dataclass(frozen=True, slots=True)
class SliceLog:
    """The blocks of a slice that ``blocks_to_merge`` returned, and the instant of its base file."""

    blocks: Sequence[LogBlock]
    base_instant: str

    @property
    def has_positions(self) -> bool:
        """Whether the header of each block has positions in the base file."""
        return all(has_positions(block, self.base_instant) for block in self.blocks)


def merge_together(logs: Sequence[SliceLog], schema: pa.Schema, rule: MergeRule) -> list[MergedLog] | None:
    """Return the merged entries of each of *logs*, whose records have the columns of *schema*.

    Return None if they have to be merged one by one: positions are missing, or records have only some of the columns.
    Two slices, the first with records at the positions 3 and 7, the second with a record at 3 and a delete at 5, and
    ranges of 10 in place of 2**40::

        numbers of positions   [3, 7, 13, 15]     divided at 0, 10, 20: [3, 7] and [3, 5]
        rows of records        [0, 1, 2, -1]      rows of each slice: [0, 1] and [0, -1]

    Raises:
        DecodeError: the content of a block is damaged.
        SchemaError: the records of a block cannot be converted to *schema*.
    """
    blocks = [block for log in logs for block in log.blocks]
    data = [block for block in blocks if block.type is not BlockType.DELETE]
    found = [positions_of(block, log.base_instant) for log in logs for block in log.blocks]
    known = [part for part in found if part is not None]
    if len(known) < len(blocks) or any(block.is_partial for block in data):
        return None
    is_delete = np.array([block.type is BlockType.DELETE for block in blocks], np.bool_)
    deletes, sizes = read_all_deletes([block for block in blocks if block.type is BlockType.DELETE], schema, rule)
    counts = np.empty(len(blocks), np.int64)
    counts[is_delete], counts[~is_delete] = sizes, [block.num_records() for block in data]
    if counts.tolist() != [len(part) for part in known] or any((part >> _RANGE).any() for part in known):
        return None
    of_block = np.repeat(np.arange(len(logs)), [len(log.blocks) for log in logs])
    numbered = [part + (number << _RANGE) for part, number in zip(known, of_block.tolist(), strict=True)]
    order = np.argsort(is_delete, kind="stable").tolist()  # data blocks first, as in ages
    positions = np.concatenate([np.empty(0, np.int64), *(numbered[number] for number in order)])
    read = list(read_records(data, schema, limits=_LIMITS))
    records = [batch for batch, _ in read]
    entries = make_candidates(
        records, deletes, ages(counts, is_delete), rule, schema, written=[None] * len(read), positions=positions
    )
    rows = np.bincount(of_block[~is_delete], counts[~is_delete], len(logs)).astype(np.int64)
    return _divide(merge_log_entries(entries, rule), np.append(0, rows.cumsum()).tolist())


def _divide(logs: MergedLog, starts: Sequence[int]) -> list[MergedLog]:
    """Return the part of *logs* of each slice, whose records begin at *starts*."""
    table = pa.Table.from_batches(logs.records) if logs.records else None
    keys, integers = np.asarray(logs.keys), logs.ordering_integers()
    bounds = np.searchsorted(keys, np.arange(len(starts)) << _RANGE).tolist()
    divided = []
    for number, ((first, last), (start, end)) in enumerate(zip(pairwise(bounds), pairwise(starts), strict=True)):
        row = logs.row[first:last]
        divided.append(
            MergedLog(
                keys=keys[first:last] - (number << _RANGE),
                records=() if table is None else tuple(table.slice(start, end - start).to_batches()),
                row=np.where(row < 0, row, row - start),
                entry=logs.entry[first:last],
                ordering=logs.ordering,
                deleted=logs.deleted[first:last],
                resets=logs.resets[first:last],
                integers=None if integers is None else integers[first:last],
            )
        )
    return divided
