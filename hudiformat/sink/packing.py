"""Which files are merged into one: a partition's new files, in order of their paths, packed to a target size.

Pure.  Rules and the worked example: spec/sink.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeVar

LOOK_BACK = 10
"""Groups that first-fit keeps open: with one more the oldest is closed."""

T = TypeVar("T")


class Packing(Enum):
    """How files become groups; the values are those of the option ``hudiformat.sink.packing``."""

    NEXT_FIT = "next-fit"
    """A group is closed by the first file that does not fit: the groups stay in the order of the files."""
    FIRST_FIT = "first-fit"
    """A file goes to the first open group that has room for it, as in Flink's code: fewer and fuller groups."""


def pack(items: Sequence[T], size: Callable[[T], int], target: int, packing: Packing) -> list[list[T]]:
    """*items* in groups of at most *target* in all; an item that is larger by itself is alone in its group.

    Source: BinPacking.pack, Flink 1.12.0 to 1.20.0, for first-fit; FLINK-19345 for next-fit.
    """
    look_back = LOOK_BACK if packing is Packing.FIRST_FIT else 1
    closed: list[list[T]] = []
    groups: deque[list[T]] = deque()
    sizes: deque[int] = deque()
    for item in items:
        weight = size(item)
        place = next((i for i, taken in enumerate(sizes) if taken + weight <= target), None)
        if place is not None:
            groups[place].append(item)
            sizes[place] += weight
            continue
        groups.append([item])
        sizes.append(weight)
        if len(groups) > look_back:
            closed.append(groups.popleft())
            sizes.popleft()
    return closed + list(groups)
