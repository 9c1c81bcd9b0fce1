"""Assign new rows to file groups by a plan of sizing, made when the rows of a partition are known or counted.

An existing file group is named by its file id.  A group that the write is going to open is named ``+`` and the file id
that the plan has chosen, or ``+`` and its number in its partition.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from hudiformat.file_group.merging.keys import key_hashes
from hudiformat.sizing.flink import FlinkTasks
from hudiformat.sizing.small_files import GroupVerdict, Kind, Verdict
from hudiformat.sizing.spark import PartitionPlan
from hudiformat.write.commit.plan import SizingProfile, WritePlan
from hudiformat.write.index.tagging import PartitionIndex
from hudiformat.write.rows import NOT_IN_BASE_FILE, Integers, LocatedRows, group_by_code

_NEW = "+"
_SPARE_BITS = np.uint64(64 - 53)  # of a hash, beyond what a float holds
FIRST_NEW = f"{_NEW}0"
"""The first file group that a write is going to open in a partition."""


LOG = logging.getLogger("hudiformat")


def log_plan(root: str, instant: str, plan: PartitionPlan) -> None:
    """Log at DEBUG why each file group of a partition takes new rows of a write or none; else nothing is computed."""
    if LOG.isEnabledFor(logging.DEBUG):
        path, reasons = plan.partition_path or ".", "; ".join(map(str, plan.explain()))
        LOG.debug("%s %s %s: %d new rows: %s", root, instant, path, plan.inserts, reasons)


def groups_of_new(plan: PartitionPlan, record_keys: pa.Array) -> pa.Array:
    """Return the file group of each new row of a partition, chosen by a hash of its key, with the weights of the plan.

    The hash is not Hudi's MD5, which takes ten times as long: nobody has to find a row's group by it later.
    """
    opened = iter(range(len(plan.buckets)))
    names = [one.file_id or f"{_NEW}{one.new_id or next(opened)}" for one in plan.buckets]
    if len(names) == 1:
        return pa.repeat(names[0], len(record_keys))
    shares = (key_hashes(pa.chunked_array([record_keys])) >> _SPARE_BITS) / np.float64(1 << 53)
    if plan.parallelism is None:
        buckets = plan.bucket_indices(shares)
    else:
        buckets = plan.assign_by_task(record_keys, lambda own, rows: own.bucket_indices(shares[rows]))
    return pa.array(names, pa.string()).take(pa.array(buckets))


def new_group(group: str) -> str | None:
    """Return the file id or the number of a file group that the write is going to open; None for an existing group."""
    return group.removeprefix(_NEW) if group.startswith(_NEW) else None


@dataclass(frozen=True, slots=True)
class Assignment:
    """New rows with their file groups: ``groups`` have rows, in the order of the plan; ``parts`` are the rows of each.

    ``rewritten`` are the groups whose base file is rewritten to take new rows, although the table has log files, in
    this assignment or an earlier one.
    """

    groups: tuple[str, ...]
    rewritten: frozenset[str]
    parts: Iterator[LocatedRows]


class NewRows:
    """Assigns the new rows of a partition, once or more often; a plan starts from the groups as the last left them."""

    def __init__(self, plan: WritePlan, path: str, index: PartitionIndex) -> None:
        self._plan = plan
        self._path = path
        self._index = index
        planned = plan.planned_inserts.get(path)
        self._rewritten: frozenset[str] = planned.candidates if planned else frozenset()
        self._groups: tuple[GroupVerdict, ...] | None = None
        self._opened = 0
        self._tasks: FlinkTasks | None = None

    def assign(self, parts: Sequence[LocatedRows], gets_log: Callable[[str], bool]) -> Assignment:
        """Assign the rows of *parts* to file groups; *gets_log* tells whether this write adds a log file to a group."""
        if not parts:
            return Assignment((), self._rewritten, iter(()))
        if self._plan.sizing is None:
            return Assignment((FIRST_NEW,), self._rewritten, (replace(part, groups=(FIRST_NEW,)) for part in parts))
        plan = self._plan_for(self._plan.sizing, parts, gets_log)
        log_plan(self._plan.root, self._plan.instant, plan)
        self._rewritten |= plan.candidates
        names = self._name_groups(plan)
        if plan.parallelism is not None:
            return self._assign_by_key(plan, parts, names)
        counts = [bucket.records for bucket in plan.buckets]
        return Assignment(tuple(names), self._rewritten, _split_in_order(parts, names, counts))

    def _assign_by_key(self, plan: PartitionPlan, parts: Sequence[LocatedRows], names: Sequence[str]) -> Assignment:
        """Assign rows whose keys decide which of Flink's tasks they belong to."""
        rows = pa.Table.from_batches([part.rows for part in parts]).combine_chunks()
        keys = _keys_of(parts)
        buckets = plan.assign(keys)
        groups = tuple(names[bucket] for bucket in np.flatnonzero(np.bincount(buckets)).tolist())
        return Assignment(
            groups, self._rewritten, self._split(rows, keys, buckets, names, looked_up=_are_looked_up(parts))
        )

    def _plan_for(
        self, sizing: SizingProfile, parts: Sequence[LocatedRows], gets_log: Callable[[str], bool]
    ) -> PartitionPlan:
        # Flink's tasks remember their groups from one plan to the next; Spark starts from the groups as they are.
        if sizing.parallelism is None:
            return sizing.plan(self._path, sum(map(len, parts)), self._fillable(sizing, gets_log))
        if self._tasks is None:
            self._tasks = sizing.tasks(self._plan.instant, self._path, lambda: self._fillable(sizing, gets_log))
        return self._tasks.plan(sizing.parallelism.counts(_keys_of(parts)))

    def _fillable(self, sizing: SizingProfile, gets_log: Callable[[str], bool]) -> tuple[GroupVerdict, ...]:
        """Return the file groups as sizing sees them.

        A group to which this write has added a log file is no longer small.
        """
        if self._groups is None:
            self._groups = sizing.small_files(self._path, self._index.slices)
        if sizing.kind is not Kind.MOR_BLIND:
            return self._groups
        return tuple(
            replace(group, verdict=Verdict.HAS_LOGS) if gets_log(group.file_id) else group for group in self._groups
        )

    def _name_groups(self, plan: PartitionPlan) -> list[str]:
        """Return the group of each bucket, and remember the groups as this plan leaves them, in case more rows come."""
        names: list[str] = []
        opened: list[GroupVerdict] = []
        for bucket in plan.buckets:
            if bucket.file_id is not None:
                names.append(bucket.file_id)
                continue
            if bucket.new_id is not None:  # its Flink task goes on filling it, and does not look at self._groups
                names.append(f"{_NEW}{bucket.new_id}")
                continue
            names.append(f"{_NEW}{self._opened}")
            opened.append(GroupVerdict(names[-1], bucket.records * plan.record_size.size, Verdict.SMALL))
            self._opened += 1
        grown = [
            replace(group, size=group.size + group.records * plan.record_size.size, records=0, room=None)
            for group in plan.groups
        ]
        self._groups = (*grown, *opened)
        return names

    def _split(
        self, rows: pa.Table, keys: pa.Array, buckets: Integers, names: Sequence[str], *, looked_up: bool
    ) -> Iterator[LocatedRows]:
        """Yield the rows of each bucket; if the keys were looked up, no base file has them."""
        for bucket, chosen in group_by_code(buckets):
            indices = pa.array(chosen)
            own = keys.take(indices)
            start = 0
            for batch in (rows.take(indices) if len(names) > 1 else rows).combine_chunks().to_batches():
                count = batch.num_rows
                positions = np.full(count, NOT_IN_BASE_FILE) if looked_up else None
                part = own.slice(start, count)
                yield LocatedRows(self._path, batch, part, (names[bucket],), positions=positions, is_new=True)
                start += count


def _split_in_order(parts: Sequence[LocatedRows], names: Sequence[str], counts: Sequence[int]) -> Iterator[LocatedRows]:
    """Yield the rows of each group in turn, as many as *counts* has for it, without copying them.

    Parts of 3 and 2 rows, and groups that take 2 and 3 rows::

        group 0: rows 0 and 1 of the first part
        group 1: row 2 of the first part, then both rows of the second

    So rows that follow each other stay together: whoever has sorted them finds them in few files.  The bounds of these
    files are as narrow as the order allows.  Hudi's Spark writer would spread them by the hashes of their keys, which
    no reader relies on.
    """
    rest, looked_up = iter(parts), _are_looked_up(parts)
    part = next(rest)
    for name, count in zip(names, counts, strict=True):
        wanted = count
        while wanted:
            if not len(part):
                part = next(rest)
            taken = part if len(part) <= wanted else part.slice(0, wanted)
            wanted -= len(taken)
            yield taken.in_group(name, looked_up=looked_up)
            part = part.slice(len(taken), len(part) - len(taken))


def _keys_of(parts: Sequence[LocatedRows]) -> pa.Array:
    return pa.chunked_array([part.keys for part in parts]).combine_chunks()


def _are_looked_up(parts: Sequence[LocatedRows]) -> bool:
    """Return whether the keys of all *parts* were looked up: then no base file has them."""
    return all(part.positions is not None for part in parts)
