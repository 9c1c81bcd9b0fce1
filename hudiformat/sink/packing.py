"""Pack the new files of a partition, in the order of their paths, into groups that are merged to one file each.

Pure.  Rules and the worked example: spec/sink.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeVar

LOOK_BACK = 10
"""The number of groups that first-fit keeps open; if there is one more, the oldest is closed."""

T = TypeVar("T")


class Packing(Enum):
    """How files are packed into groups; the values are those of the option ``hudiformat.sink.packing``."""

    NEXT_FIT = "next-fit"
    """A group is closed by the first file that does not fit: the groups stay in the order of the files."""
    FIRST_FIT = "first-fit"
    """A file goes to the first open group that has room for it, as in Flink's code: there are fewer, fuller groups."""


def pack(items: Sequence[T], size: Callable[[T], int], target: int, packing: Packing) -> list[list[T]]:
    """Pack *items* into groups whose sizes add up to at most *target*; a larger item is alone in its group.

    The sizes 5, 4, 7 and 1 with the target 10::

        next-fit:  [5, 4], [7, 1]
        first-fit: [5, 4, 1], [7]

    Source: BinPacking.pack, Flink 1.12.0 to 1.20.0, for first-fit; FLINK-19345 for next-fit.
    """
    look_back = LOOK_BACK if packing is Packing.FIRST_FIT else 1
    closed: list[list[T]] = []
    groups: deque[list[T]] = deque()
    sizes: deque[int] = deque()
    for item in items:
        weight = size(item)
        index = next((i for i, taken in enumerate(sizes) if taken + weight <= target), None)
        if index is not None:
            groups[index].append(item)
            sizes[index] += weight
            continue
        groups.append([item])
        sizes.append(weight)
        if len(groups) > look_back:
            closed.append(groups.popleft())
            sizes.popleft()
    return closed + list(groups)
