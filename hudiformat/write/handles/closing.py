"""Closing the handles of a write: base files side by side, and small blocks of several file groups at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from hudiformat.blocks import LogBlock
from hudiformat.timeline import WriteStat
from hudiformat.write.handles.append import AppendHandle
from hudiformat.write.handles.append_new import AppendNewHandle
from hudiformat.write.handles.create import CreateHandle
from hudiformat.write.handles.merge import MergeHandle

Handle = AppendHandle | AppendNewHandle | CreateHandle | MergeHandle

_ENCODED_TOGETHER = 256
"""File groups whose small blocks are encoded together."""
_MOST_THREADS = 8


def close_handles(handles: Sequence[Handle], *, threads: int) -> list[WriteStat]:
    """Write what *handles* have left; the statistics of their files, in order.

    Base files are written by up to *threads* threads: most of that is compression, which goes on side by side.
    """
    base_files = [handle for handle in handles if isinstance(handle, CreateHandle | MergeHandle)]
    at_once = min(threads, len(base_files), _MOST_THREADS)
    if at_once <= 1:
        return [stat for stats in _closed(handles) for stat in stats]
    with ThreadPoolExecutor(at_once) as pool:
        written = {handle: pool.submit(handle.close) for handle in base_files}
        try:
            others = _closed([handle for handle in handles if handle not in written])
            found = [written[one].result() if one in written else next(others) for one in handles]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [stat for stats in found for stat in stats]


def _closed(handles: Sequence[Handle]) -> Iterator[list[WriteStat]]:
    for start in range(0, len(handles), _ENCODED_TOGETHER):
        some = handles[start : start + _ENCODED_TOGETHER]
        logged = [handle for handle in some if isinstance(handle, AppendHandle)]
        small = [(handle, rows) for handle in logged if (rows := handle.one_block()) is not None]
        blocks: dict[Handle, LogBlock] = {}
        if len(small) > 1:
            encoded = small[0][0].encode([rows for _, rows in small])
            blocks = {handle: block for (handle, _), block in zip(small, encoded, strict=True)}
        for handle in some:
            yield handle.close(blocks.get(handle)) if isinstance(handle, AppendHandle) else handle.close()
