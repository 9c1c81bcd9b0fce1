"""The handles of one partition's file groups in a write: which kind each group has, and what all of them hold."""

from __future__ import annotations

from hudiformat.naming import WriteToken, new_file_id
from hudiformat.sizing import Kind
from hudiformat.storage import Storage
from hudiformat.table.append import AppendHandle
from hudiformat.table.create_handle import CreateHandle, new_group_uuid
from hudiformat.table.merge_handle import MergeHandle
from hudiformat.table.partition import PartitionIndex
from hudiformat.table.plan import REPLACING, WritePlan
from hudiformat.timeline import TableType, WriteStat

Handle = AppendHandle | CreateHandle | MergeHandle


class GroupHandles:
    """Opens the handle of each file group when it is first asked for.

    ``rewritten`` are the groups whose base file is rewritten though the table has log files: new rows fill them.
    """

    def __init__(
        self, storage: Storage, plan: WritePlan, token: WriteToken, partition_path: str, index: PartitionIndex
    ) -> None:
        self._storage = storage
        self._plan = plan
        self._token = token
        self._path = partition_path
        self._index = index
        self._handles: dict[str, Handle] = {}
        placed = plan.placements.get(partition_path)
        self.rewritten: frozenset[str] = placed.candidates if placed else frozenset()

    def __bool__(self) -> bool:
        return bool(self._handles)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of rows that are in memory."""
        return sum(handle.buffered_bytes for handle in self._handles.values())

    def of(self, file_id: str) -> Handle:
        """The handle of a file group: one that was there, or a bucket, or one that this write has opened."""
        if file_id not in self._handles:
            self._handles[file_id] = self._open(file_id)
        return self._handles[file_id]

    def of_new(self, number: int) -> Handle:
        """The handle of a new file group: its number is its name among the handles."""
        name = str(number)
        if name not in self._handles:
            group = new_group_uuid(self._plan.instant, self._path, self._token.partition, number)
            if self._kind is Kind.MOR:
                self._handles[name] = AppendHandle(
                    self._storage, self._plan, self._token, self._path, new_file_id(group)
                )
            else:
                self._handles[name] = CreateHandle(self._storage, self._plan, self._token, self._path, group)
        return self._handles[name]

    def appends(self, file_id: str) -> bool:
        """Whether a file group has been given a log file."""
        return isinstance(self._handles.get(file_id), AppendHandle)

    def flush(self) -> None:
        """Write what the handles can write before the end."""
        for handle in self._handles.values():
            handle.flush()

    def close(self) -> list[WriteStat]:
        """Write what is left; a statistic for every file."""
        stats = [stat for handle in self._handles.values() for stat in handle.close()]
        self._handles = {}
        return stats

    def abandon(self) -> None:
        """Leave everything for the write's rollback to take away."""
        for handle in self._handles.values():
            handle.abandon()

    @property
    def _kind(self) -> Kind | None:
        return self._plan.sizing.kind if self._plan.sizing else None

    def _open(self, file_id: str) -> Handle:
        is_cow = self._plan.config.table_type is TableType.COPY_ON_WRITE
        is_replacing = self._plan.operation in REPLACING  # which opens buckets anew
        if is_cow or is_replacing or (file_id in self.rewritten and self._kind is Kind.MOR_BLIND):
            base = next((item.base_file for item in self._index.slices if item.file_id == file_id), None)
            return MergeHandle(self._storage, self._plan, self._token, self._path, file_id=file_id, base=base)
        below = None
        if self._plan.config.cdc_enabled or self._plan.logs_name_slices:
            below = next((item for item in self._index.slices if item.file_id == file_id), None)
        return AppendHandle(
            self._storage,
            self._plan,
            self._token,
            self._path,
            file_id,
            below=below,
            base_instant=self._index.base_instants.get(file_id) if self._plan.writes_positions else None,
            partial=self._plan.partial,
        )
