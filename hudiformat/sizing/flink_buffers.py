"""The buffers of Hudi's Flink writer: in how many parts a task writes the rows of a checkpoint.  Pure.

A task buffers rows by file group until the checkpoint.  A buffer that has more than ``write.batch.size`` is written at
once; if all buffers together have no memory left, the largest is.  Each part is a log file of its own, or another
version of the base file, which replaces the one before.

Source: StreamWriteFunction.bufferRecord, RowDataBucket, TotalSizeTracer, MemorySegmentPoolFactory,
FlinkWriteHandleFactory, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hudiformat.errors import OptionError

Numbers = npt.NDArray[np.int64]

_MIB = 1 << 20
_READER = 100 * _MIB
"""What a task keeps for the reader of a merge."""
_KEYS = {
    "write.batch.size": "batch",
    "write.task.max.size": "task",
    "write.merge.max_memory": "merge",
    "write.log_block.size": "block",
    "write.log.max.size": "log",
}
"""Flink's keys, in MB, and the fields that they set."""
_WITHOUT_EFFECT = frozenset({"write.memory.segment.page.size"})
"""Keys of the buffers that change no file."""


@dataclass(frozen=True, slots=True)
class FlinkBuffers:
    """The bytes that a task buffers of a file group, and in all; of ``task``, ``merge`` is left for merging.

    A part is written to a log file in blocks of so many bytes, and to another file after the block with which the file
    has more than ``log``.
    """

    batch: int = 256 * _MIB
    task: int = 1024 * _MIB
    merge: int = 100 * _MIB
    block: int = 128 * _MIB
    log: int = 1024 * _MIB

    @property
    def pool(self) -> int:
        """The bytes of all buffers of a task."""
        return self.task - self.merge - _READER

    @property
    def largest_log(self) -> int:
        """The bytes of a log file to which no further block is added."""
        return (self.log // self.block + 1) * self.block

    def part_size(self, task_bytes: Numbers, groups: int, *, logs: bool) -> Numbers:
        """Return how large a part of a file group is if a task gets so many bytes for so many file groups.

        With *logs*, parts are log files.

        If they do not fit into memory, the largest buffer is written whenever it is full.  In the long run, buffers of
        equal file groups are then between empty and twice the mean::

            pool 800, four groups, 3,000 bytes: buffers have 200 on average, a part has 400 bytes
        """
        largest = min(self.batch, self.largest_log) if logs else self.batch
        crowded = min(largest, max(2 * self.pool // max(groups, 1), 1))
        return np.where(task_bytes > self.pool, crowded, largest)


def parts_of(size: Numbers, part_size: Numbers | int) -> Numbers:
    """Return in how many parts rows of so many bytes are written; at least one."""
    found: Numbers = np.maximum(-(-size // part_size), 1)
    return found


def take_flink_keys(options: Mapping[str, str]) -> tuple[dict[str, str], FlinkBuffers]:
    """Return the options that are not Flink's keys of buffers, and the buffers.

    Raises:
        OptionError: a value is no size in MB, or nothing is left for the buffers.
    """
    found = FlinkBuffers()
    for key, name in _KEYS.items():
        if key in options:
            found = replace(found, **{name: _megabytes(key, options[key])})
    if found.pool <= 0:
        raise OptionError(
            f"write.task.max.size: expected more than write.merge.max_memory and 100 MB, found {found.task // _MIB} MB",
            option="write.task.max.size",
        )
    return {key: value for key, value in options.items() if key not in _WITHOUT_EFFECT and key not in _KEYS}, found


def _megabytes(key: str, value: str) -> int:
    try:
        size = float(value)
    except ValueError:
        size = 0.0
    if not 0 < size < 1 << 30:
        raise OptionError(f"{key}: expected a number of MB, found {value!r}", option=key)
    return max(int(size * _MIB), 1)
