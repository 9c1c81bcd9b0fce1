"""A base file's rows and the candidates of its log files -> the rows of the slice.  Pure.

Hudi merges in two steps, and so does this: the log files among themselves, key by key in block order, then what is
left of each key over the base row.  In each step the newer entry wins, under event time only when its ordering value
is not lower.  A delete without an ordering value wins over what came before, and loses to what comes after.
Source: BufferedRecordMergerFactory, KeyBasedFileGroupRecordBuffer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.merge.candidates import Candidates, MergeRule
from hudiformat.merge.ordering import comparable
from hudiformat.timeline import MergeMode

Booleans = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


def merge_slice(base: pa.Table | None, logs: Candidates, rule: MergeRule) -> pa.Table:
    """The rows of a slice: base rows that no log entry replaces, in file order, then the log's rows that win.

    *base* has the schema of ``logs.records``; None where the slice has no base file.
    """
    if not len(logs):
        return logs.records if base is None else base
    encoded = logs.keys.combine_chunks().dictionary_encode()
    codes = np.asarray(encoded.indices).astype(np.int64)
    base_rows, base_codes = _matching_base_rows(base, encoded.dictionary, rule)
    log_ranks, base_ranks = _ranks(base, base_rows, logs, rule)
    winners = _fold(codes, log_ranks, logs)
    replaced = _replaced_base_rows(winners, base_codes, logs, log_ranks, base_ranks)
    kept = np.ones(0 if base is None else base.num_rows, dtype=np.bool_)
    kept[base_rows[replaced]] = False
    lost = np.zeros(len(winners), dtype=np.bool_)
    lost[base_codes[~replaced]] = True
    rows = logs.row[winners[~lost & ~logs.deleted[winners]]]
    taken = logs.records.take(pa.array(np.sort(rows)))
    return taken if base is None else pa.concat_tables([base.filter(pa.array(kept)), taken])


def _matching_base_rows(base: pa.Table | None, keys: pa.Array, rule: MergeRule) -> tuple[Integers, Integers]:
    """The base rows whose key is among *keys*, and the index of that key.

    Of several base rows with one key only the first meets the log, as in Hudi, which takes a key off its map.
    """
    if base is None or not base.num_rows:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    found = np.asarray(pc.fill_null(pc.index_in(rule.keys(base), value_set=keys), -1)).astype(np.int64)
    rows = np.flatnonzero(found >= 0)
    codes, first = np.unique(found[rows], return_index=True)
    return rows[first], codes


def _ranks(base: pa.Table | None, rows: Integers, logs: Candidates, rule: MergeRule) -> tuple[Integers, Integers]:
    """Comparable integers for the log entries and for the base rows that meet them."""
    if rule.mode is MergeMode.COMMIT_TIME_ORDERING:
        return np.zeros(len(logs), np.int64), np.zeros(len(rows), np.int64)
    columns = logs.ordering
    if base is not None:
        taken = [base[name].take(pa.array(rows)) for name in rule.ordering_fields]
        columns = tuple(
            pa.chunked_array([*log.chunks, *part.chunks], log.type)
            for log, part in zip(logs.ordering, taken, strict=True)
        )
    ranks = comparable(columns, len(logs) + len(rows))
    return ranks[: len(logs)], ranks[len(logs) :]


def _fold(codes: Integers, ranks: Integers, logs: Candidates) -> Integers:
    """Per key, in the order of the codes, the log entry that is left after the log files were merged."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    position = np.arange(len(order))
    segment = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    resets = logs.resets[order]
    last_reset = np.maximum.reduceat(np.where(resets, position, -1), starts)[segment]
    alive = position >= last_reset
    if resets.any():
        # A delete block's entry right after a delete without ordering value changes nothing (deltaMergeDeleteRecord):
        # the state stays one that any record beats.
        is_record = (logs.row[order] >= 0) & (position > last_reset)
        first_record = np.minimum.reduceat(np.where(is_record, position, len(order)), starts)[segment]
        alive &= (last_reset < 0) | (position == last_reset) | (position >= first_record)
    left = order[alive]
    # After a reset the reset itself is the lowest of all.
    below = np.where(logs.resets[left], 0, 1)
    ranking = np.lexsort((position[alive], ranks[left], below, codes[left]))
    last = np.flatnonzero(np.diff(codes[left][ranking], append=-1))
    return left[ranking[last]]


def _replaced_base_rows(
    winners: Integers, base_codes: Integers, logs: Candidates, log_ranks: Integers, base_ranks: Integers
) -> Booleans:
    """Which of the base rows that meet a log entry lose to it."""
    entry = winners[base_codes]
    replaced: Booleans = logs.resets[entry] | (log_ranks[entry] >= base_ranks)
    return replaced
