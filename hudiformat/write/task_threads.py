"""The threads of a task: they split its rows, make its partitions, and write its base files, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TypeAlias, TypeVar

from hudiformat.codec.log.block import LogBlock
from hudiformat.storage.threads import WorkThreads
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.write.handles.append import AppendHandle
from hudiformat.write.handles.base_files import CreateHandle, close_together
from hudiformat.write.handles.merge import MergeHandle
from hudiformat.write.handles.merge_together import merge_together
from hudiformat.write.partition import Handle, PartitionWriter

ENCODED_TOGETHER = 256
"""File groups whose small blocks are encoded together."""
_SMALL_FILES_TOGETHER, _FAR_FILES_TOGETHER = 64, 4
"""Base files of few rows that are written together, by one thread: fewer if a storage has to be waited for."""
_FEW_BYTES, _FILES_OF_FEW_BYTES = 1 << 20, 256
"""So many new files are written together, as long as they have less than so many bytes."""
_ENTERED_TOGETHER = 16
"""Folders that one call makes partitions, if the storage need not be waited for."""

T = TypeVar("T")
_FileHandle = TypeVar("_FileHandle", CreateHandle, MergeHandle)
_SmallFiles: TypeAlias = list[tuple[PartitionWriter, _FileHandle, Future[list[WriteStat]]]]
"""Partitions, handles of small files, and what is to get the statistics of each."""


class TaskThreads:
    """Does the work of a task side by side: it splits rows, makes partitions, and closes the handles.

    Base files are written by *threads* threads: most of the time goes into compression, which releases the
    interpreter's lock, and into waiting for the storage.  Small blocks of log files, of up to *encoded_together*
    file groups, are encoded together, which hardly takes longer than one; log files are written side by side if the
    storage *is_far*.  Those ``threads`` that have no file help with the others.  The statistics of files come in the
    order of their handles.
    """

    def __init__(self, *, threads: int, is_far: bool = False, encoded_together: int = ENCODED_TOGETHER) -> None:
        self._is_far = is_far
        self._files_together = _FAR_FILES_TOGETHER if is_far else _SMALL_FILES_TOGETHER
        self._encoded_together = encoded_together
        self.threads = WorkThreads(threads)
        self._taken: set[Handle] = set()
        self._results: list[Future[list[WriteStat]]] = []
        self._small: _SmallFiles[CreateHandle] = []
        self._small_bytes = 0
        self._small_merges: _SmallFiles[MergeHandle] = []
        self._together: list[Future[None]] = []
        self._logged: list[tuple[Handle, Future[list[WriteStat]]]] = []

    def enter(self, partitions: Sequence[PartitionWriter]) -> None:
        """Make folders partitions by threads; a handle that needs one waits for it, and meets the same errors."""
        if self.threads.exist:
            together = 1 if self._is_far else _ENTERED_TOGETHER
            for start in range(0, len(partitions), together):
                self.threads.submit(partial(_enter, partitions[start : start + together]))

    def close(self, partition: PartitionWriter) -> None:
        """Close the handles of *partition*, which have all of their rows, now or before :meth:`finish` returns."""
        for handle in partition.take_handles():
            self._taken.add(handle)
            closed: Future[list[WriteStat]] = Future()
            if isinstance(handle, CreateHandle) and handle.few_rows is not None:
                self._small.append((partition, handle, closed))
                self._small_bytes += handle.size_with_meta
            elif isinstance(handle, MergeHandle) and not self._is_far and handle.is_small:
                self._small_merges.append((partition, handle, closed))
            elif isinstance(handle, CreateHandle | MergeHandle):
                closed = self.threads.submit(partial(_close_file, partition, handle))
            else:
                partition.enter()
                self._logged.append((handle, closed))
            self._results.append(closed)
        if self._is_enough or len(self._small_merges) >= self._files_together:
            self._close_small()
        if len(self._logged) >= self._encoded_together:
            self._close_logged()

    def finish(self) -> list[WriteStat]:
        """Wait until all handles are closed, and return the statistics of their files.

        Raises:
            HudiFormatError: a file cannot be written.
        """
        self._close_small()
        self._close_logged()
        for together in self._together:
            together.result()  # may raise an error, and then the single ones have no result
        stats = [stat for closed in self._results for stat in closed.result()]
        self._together, self._results, self._taken = [], [], set()
        return stats

    def flush(self, handles: Iterable[Handle]) -> None:
        """Have *handles* write what they have in memory."""
        begun = []
        for handle in handles:
            if isinstance(handle, CreateHandle):
                begun.append(self.threads.submit(handle.flush))
            else:  # those of one partition share what its index knows
                handle.flush()
        for one in begun:
            one.result()

    def stop(self) -> None:
        """Wait for the threads; handles that are not closed by then are abandoned, because the write has failed."""
        self.threads.stop()
        for handle in self._taken:
            handle.abandon()

    @property
    def _is_enough(self) -> bool:
        """Whether the new files so far are written together."""
        is_large = self._is_far or self._small_bytes >= _FEW_BYTES
        return len(self._small) >= (self._files_together if is_large else _FILES_OF_FEW_BYTES)

    def _close_small(self) -> None:
        self._close_together(self._small, close_together)
        self._close_together(self._small_merges, merge_together)
        self._small, self._small_bytes, self._small_merges = [], 0, []

    def _close_together(
        self,
        small: _SmallFiles[_FileHandle],
        close: Callable[[Sequence[_FileHandle]], Iterator[list[WriteStat]]],
    ) -> None:
        if small:
            self._together.append(self.threads.submit(partial(self._close_some, small, close)))

    def _close_some(
        self,
        files: _SmallFiles[_FileHandle],
        close: Callable[[Sequence[_FileHandle]], Iterator[list[WriteStat]]],
    ) -> None:
        for partition, _, _ in files:
            partition.enter()
        every = close([handle for _, handle, _ in files])
        for (_, handle, closed), stats in zip(files, every, strict=True):
            self._taken.discard(handle)
            closed.set_result(stats)

    def _close_logged(self) -> None:
        for close, closed in self._encode_logged():
            if self._is_far and self.threads.exist:
                self.threads.submit(close).add_done_callback(partial(_pass_on, closed))
            else:
                closed.set_result(close())

    def _encode_logged(self) -> Iterator[tuple[Callable[[], list[WriteStat]], Future[list[WriteStat]]]]:
        """Yield what closes each handle of log files, with its small block encoded together with others."""
        logged, self._logged = self._logged, []
        for start in range(0, len(logged), self._encoded_together):
            some = logged[start : start + self._encoded_together]
            blocks = _encode_together([handle for handle, _ in some])
            for handle, closed in some:
                close = partial(handle.close, blocks.get(handle)) if isinstance(handle, AppendHandle) else handle.close
                yield close, closed


def _enter(partitions: Iterable[PartitionWriter]) -> None:
    for partition in partitions:
        partition.enter()


def _pass_on(closed: Future[T], done: Future[T]) -> None:
    """Let *closed* end as *done* has ended."""
    if done.cancelled():  # the write has failed
        closed.cancel()
    elif (error := done.exception()) is not None:
        closed.set_exception(error)
    else:
        closed.set_result(done.result())


def _close_file(partition: PartitionWriter, handle: CreateHandle | MergeHandle) -> list[WriteStat]:
    partition.enter()
    return handle.close()


def _encode_together(handles: Sequence[Handle]) -> dict[Handle, LogBlock]:
    """Encode the blocks of the *handles* that have one small block each: all together take hardly longer than one."""
    logged = [handle for handle in handles if isinstance(handle, AppendHandle)]
    small = [(handle, rows) for handle in logged if (rows := handle.one_block()) is not None]
    if len(small) <= 1:
        return {}
    encoded = small[0][0].encode([rows for _, rows in small])
    return {handle: block for (handle, _), block in zip(small, encoded, strict=True)}
