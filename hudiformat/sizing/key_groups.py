"""Find the Flink task that a text belongs to, by Flink's key groups, a column at a time.  Pure.

Flink hashes a key to one of the key groups, whose number is the maximal parallelism, and gives each task a range of
them.  Hudi's Flink writer sends a record to the assigner of its record key, and a file group to the writer of its file
id.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.errors import OptionError
from hudiformat.naming.bucket_hash import string_hashes

Hashes = npt.NDArray[np.uint32]

_LEAST_GROUPS = 128
_MOST_GROUPS = 1 << 15
_SIGN = np.uint32(0x80000000)


@dataclass(frozen=True, slots=True)
class Parallelism:
    """A number of tasks, and the number of key groups that they share (Flink: the maximal parallelism)."""

    tasks: int
    key_groups: int

    @classmethod
    def of(cls, tasks: int) -> Parallelism:
        """Return *tasks* with Flink's default number of key groups: 128, or more for more than 85 tasks.

        It is the lowest power of two that is not below 1.5 times the tasks: 86 tasks have 256 key groups.

        Raises:
            OptionError: there is no task, or there are more than 32,768.

        Source: KeyGroupRangeAssignment.computeDefaultMaxParallelism, Flink 1.20.
        """
        if not 0 < tasks <= _MOST_GROUPS:
            raise OptionError(
                f"hudiformat.sizing.tasks: expected 1 to {_MOST_GROUPS} tasks, found {tasks}",
                option="hudiformat.sizing.tasks",
            )
        wanted = tasks + tasks // 2
        return cls(tasks, min(max(1 << (wanted - 1).bit_length(), _LEAST_GROUPS), _MOST_GROUPS))

    def owners(self, texts: pa.Array) -> npt.NDArray[np.int64]:
        """Return the number of the task that each of *texts*, record keys or file ids, belongs to.

        Source: KeyGroupRangeAssignment.assignKeyToParallelOperator, Flink 1.20.
        """
        key_groups = murmur_hashes(string_hashes(texts)).astype(np.int64) % self.key_groups
        owners: npt.NDArray[np.int64] = key_groups * self.tasks // self.key_groups
        return owners

    def counts(self, texts: pa.Array) -> dict[int, int]:
        """Return how many of *texts* belong to each task that has any."""
        tasks, counts = np.unique(self.owners(texts), return_counts=True)
        return dict(zip(tasks.tolist(), counts.tolist(), strict=True))

    def owner(self, text: str) -> int:
        """Return the number of the task that *text* belongs to."""
        return int(self.owners(pa.array([text], pa.string()))[0])


def murmur_hashes(codes: Hashes) -> Hashes:
    """Return Flink's murmur hash of each 32-bit hash code; none has the highest bit set.

    The last step makes a signed number positive; the least number, which has no positive counterpart, becomes 0::

        mixed    0x00000005  0xFFFFFFFB (-5)  0x80000000 (the least number)
        result   5           5                0

    Source: org.apache.flink.util.MathUtils.murmurHash, Flink 1.20.
    """
    mixed = _rotate_left(codes * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mixed = _rotate_left(mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(4)
    mixed = (mixed ^ mixed >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ mixed >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    positive = np.where(mixed < _SIGN, mixed, ~mixed + np.uint32(1))
    hashes: Hashes = np.where(mixed == _SIGN, np.uint32(0), positive)
    return hashes


def _rotate_left(codes: Hashes, bits: int) -> Hashes:
    rotated: Hashes = codes << np.uint32(bits) | codes >> np.uint32(32 - bits)
    return rotated
