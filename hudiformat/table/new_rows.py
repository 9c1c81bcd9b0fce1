"""The new rows of a partition -> the handles that they go to, as sizing plans it over their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from hudiformat.sizing import GroupVerdict, Kind, PartitionPlan, Verdict
from hudiformat.table.group_handles import GroupHandles, Handle
from hudiformat.table.keyed_rows import KeyedRows
from hudiformat.table.partition import PartitionIndex
from hudiformat.table.places import Integers, groups_of_codes
from hudiformat.table.plan import WritePlan


class NewRows:
    """Places new rows, as often as there are some: the groups are remembered as each plan leaves them."""

    def __init__(self, plan: WritePlan, partition_path: str, index: PartitionIndex, handles: GroupHandles) -> None:
        self._plan = plan
        self._path = partition_path
        self._index = index
        self._handles = handles
        self._groups: tuple[GroupVerdict, ...] | None = None
        self._opened = 0

    def placed(self, parts: Sequence[KeyedRows]) -> Iterator[tuple[Handle, KeyedRows]]:
        """The rows with the handles that they go to; which groups are rewritten is known when this returns."""
        if self._plan.sizing is None:
            handle = self._handles.of_new(0)
            return iter([(handle, part) for part in parts])
        rows = pa.Table.from_batches([part.rows for part in parts]).combine_chunks()
        keys = pa.chunked_array([part.keys for part in parts]).combine_chunks()
        looked_up = all(part.positions is not None for part in parts)
        plan = self._plan.sizing.plan(self._path, len(keys), self._fillable())
        self._handles.rewritten |= plan.candidates
        handles = self._handles_of(plan)
        placed = self._by_bucket(handles, rows, keys, plan.assign(keys))
        return ((handle, part.nowhere() if looked_up else part) for handle, part in placed)

    @staticmethod
    def _by_bucket(
        handles: list[Handle], rows: pa.Table, keys: pa.Array, buckets: Integers
    ) -> Iterator[tuple[Handle, KeyedRows]]:
        for bucket, chosen in groups_of_codes(buckets):
            places = pa.array(chosen)
            taken_keys = keys.take(places)
            taken = rows.take(places) if len(handles) > 1 else rows
            start = 0
            for batch in taken.combine_chunks().to_batches():
                yield handles[bucket], KeyedRows(batch, taken_keys.slice(start, batch.num_rows))
                start += batch.num_rows

    def _fillable(self) -> tuple[GroupVerdict, ...]:
        """The file groups as sizing sees them; a group that this write has given a log file is small no more."""
        assert self._plan.sizing is not None  # noqa: S101 - whoever asks has looked
        if self._groups is None:
            self._groups = self._plan.sizing.small_files(self._path, self._index.slices)
        if self._plan.sizing.kind is not Kind.MOR_BLIND:
            return self._groups
        return tuple(
            replace(group, verdict=Verdict.HAS_LOGS) if self._handles.appends(group.file_id) else group
            for group in self._groups
        )

    def _handles_of(self, plan: PartitionPlan) -> list[Handle]:
        """A handle for each bucket; the groups are remembered as they are after this plan, in case more rows come."""
        handles: list[Handle] = []
        opened: list[GroupVerdict] = []
        for bucket in plan.buckets:
            if bucket.file_id is not None:
                handles.append(self._handles.of(bucket.file_id))
                continue
            size = bucket.records * plan.record_size.size
            opened.append(GroupVerdict(str(self._opened), size, Verdict.SMALL))
            handles.append(self._handles.of_new(self._opened))
            self._opened += 1
        grown = [
            replace(group, size=group.size + group.records * plan.record_size.size, records=0, room=None)
            for group in plan.groups
        ]
        self._groups = (*grown, *opened)
        return handles
