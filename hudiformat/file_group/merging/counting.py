"""Count the rows of a file slice without reading those of its base file, where positions and bounds tell it.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np
import pyarrow as pa

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType
from hudiformat.file_group.merging.candidates import positions_of, read_candidates, read_deletes
from hudiformat.file_group.merging.rule import Booleans, Integers, MergeRule
from hudiformat.file_group.merging.slice import merge_log_entries
from hudiformat.timeline.table_config import MergeMode


def count_by_position(
    blocks: Sequence[LogBlock], schema: pa.Schema, rule: MergeRule, *, base_instant: str, rows: int, highest: int
) -> int | None:
    """Return how many rows a base file of *rows* rows has with the *blocks* that ``blocks_to_merge`` returned.

    *schema* has the columns that merging reads.  *highest* is the highest value of the ordering field in the base file.
    Return None if rows have to be merged to tell: positions are missing, a record may be a delete by one of its
    columns, or a delete may lose to its row.

    A base file of five rows whose ordering values are at most 6, records at the positions 1 and 3, a delete at 4 with
    the ordering value 7::

        changed = [1, 3]   deleted = [4]   7 >= 6: the delete wins
        5 - 1 rows: whichever of the two rows with a position of a record wins, it is one row

    Records are decoded only if a position is in both lists and a delete has an ordering value.
    """
    if rule.merger is not None or rule.partial is not None or rule.columns != rule.ordering_fields:
        return None
    known = [positions for one in blocks if (positions := positions_of(one, base_instant)) is not None]
    if len(known) < len(blocks) or any(int(positions.max(initial=0)) >= rows for positions in known):
        return None
    is_delete = np.array([block.type is BlockType.DELETE for block in blocks], np.bool_)
    deletes = [read_deletes(block, schema, rule) for block in compress(blocks, is_delete)]
    sizes = iter([len(part) for part in deletes])
    counts = [next(sizes) if block.type is BlockType.DELETE else block.num_records() for block in blocks]
    if counts != [len(positions) for positions in known]:
        return None
    if rule.mode is not MergeMode.EVENT_TIME_ORDERING or all(np.asarray(part["resets"]).all() for part in deletes):
        return rows - _count_last(known, is_delete)
    changed, deleted = (
        np.concatenate([np.empty(0, np.int64), *compress(known, these)]) for these in (~is_delete, is_delete)
    )
    merged = blocks if np.isin(deleted, changed).any() else [*compress(blocks, is_delete)]
    logs = merge_log_entries(read_candidates(merged, schema, rule, base_instant=base_instant), rule)
    lowest = logs.lowest_ordering(logs.deleted)
    if lowest is None or (logs.ordering and lowest < highest):
        return None
    return rows - int(logs.deleted.sum())


def _count_last(known: Sequence[Integers], flags: Booleans) -> int:
    """Return how many distinct positions are, the last time that they come, in an array with a true flag.

    The arrays [1, 2], [2, 3] and [3] with the flags False, True and False: 1 and 3 come last in one without, 2 with.
    """
    newest_first = np.concatenate([np.empty(0, np.int64), *known])[::-1]
    _, first = np.unique(newest_first, return_index=True)
    return int(np.repeat(flags, [len(positions) for positions in known])[::-1][first].sum())
