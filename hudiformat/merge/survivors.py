"""What the log files of a slice leave of each key, ready to meet the rows of the base file.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudiformat.merge.candidates import Candidates
from hudiformat.merge.custom import fold_custom
from hudiformat.merge.fold import key_numbers, last_entries
from hudiformat.merge.keys import KeyIndex
from hudiformat.merge.partial import fold_columns
from hudiformat.merge.rule import Booleans, Integers, MergeRule
from hudiformat.timeline import MergeMode


@dataclass(frozen=True, slots=True)
class Survivors:
    """One row or delete per key.

    ``keys`` find record keys, or are positions of base rows, ascending.  ``row`` is a key's row in ``records``, or -1;
    that of a delete does not count.  ``ordering`` is that of ``Candidates``, where a key's values are at its ``entry``;
    ``resets`` is by key.  ``set`` says by column, where records may leave values as they were, which rows say what the
    value is; without an item all do.
    """

    keys: KeyIndex | Integers
    records: tuple[pa.RecordBatch, ...]
    row: Integers
    entry: Integers
    ordering: tuple[pa.ChunkedArray, ...]
    deleted: Booleans
    resets: Booleans
    set: Mapping[str, Booleans] | None = None

    def __len__(self) -> int:
        return len(self.row)


def survivors(logs: Candidates, rule: MergeRule) -> Survivors:
    """What is left of *logs* by *rule*."""
    numbers, keys = key_numbers(logs)
    by_event_time = rule.mode is MergeMode.EVENT_TIME_ORDERING and rule.merger is None
    if rule.merger is not None:
        row, deleted, records = fold_custom(numbers, logs, rule.merger)
        return Survivors(keys, records, row, row, (), deleted, deleted)
    entries = last_entries(numbers, len(keys), logs, by_event_time=by_event_time, deletes_win=rule.deletes_win)
    found = Survivors(
        keys=keys,
        records=logs.records,
        row=np.where(entries < logs.num_rows, entries, -1),
        ordering=logs.ordering if by_event_time else (),
        entry=entries,
        deleted=logs.deleted[entries],
        resets=(logs.deleted if rule.deletes_win else logs.resets)[entries],
    )
    if not logs.num_rows or (rule.partial is None and not any(logs.written)):
        return found
    row, records, is_set = fold_columns(numbers, logs, found.row, found.deleted, rule, by_event_time=by_event_time)
    return Survivors(keys, records, row, entries, found.ordering, found.deleted, found.resets, is_set)
