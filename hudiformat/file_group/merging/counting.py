"""Count the rows of a file slice without reading those of its base file, where positions and bounds tell it.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType
from hudiformat.file_group.merging.candidates import positions_of, read_candidates
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.file_group.merging.slice import merge_log_entries


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

    Records are decoded only if a position is in both lists.
    """
    if rule.merger is not None or rule.partial is not None or rule.columns != rule.ordering_fields:
        return None
    deletes = [block for block in blocks if block.type is BlockType.DELETE]
    records = [block for block in blocks if block.type is not BlockType.DELETE]
    known = [positions for one in (*records, *deletes) if (positions := positions_of(one, base_instant)) is not None]
    if len(known) < len(blocks) or any(int(positions.max(initial=0)) >= rows for positions in known):
        return None
    if any(one.num_records() != len(positions) for one, positions in zip(records, known, strict=False)):
        return None
    if not deletes:
        return rows
    changed, deleted = known[: len(records)], known[len(records) :]
    both = np.isin(np.concatenate(deleted), np.concatenate([np.empty(0, np.int64), *changed]))
    merged = blocks if both.any() else deletes
    logs = merge_log_entries(read_candidates(merged, schema, rule, base_instant=base_instant), rule)
    lowest = logs.lowest_ordering(logs.deleted)
    if not logs.by_position or lowest is None or (logs.ordering and lowest < highest):
        return None
    return rows - int(logs.deleted.sum())
