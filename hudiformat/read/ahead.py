"""Read parts of a query side by side in threads, and yield what they hold in order.

Arrow lets go of the interpreter while it decodes, so that threads of Python decode at the same time.  No thread ever
waits for the caller: a part that has been read far enough is put down until it is its turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

_MOST_BEGUN = 2
"""Parts for each thread: while one of them takes long, the others go on."""

Item = TypeVar("Item")
Items: TypeAlias = Generator[Item, None, None]


@dataclass(frozen=True, slots=True)
class Part(Generic[Item]):
    """A part of a query: ``read`` yields its items, ``cost`` estimates the bytes of memory that reading it takes."""

    read: Callable[[], Items[Item]]
    cost: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is read at the same time: by ``threads``, in parts whose costs sum up to at most ``cost``.

    ``held`` are the bytes of items after which a part is put down.  With None it is read to its end, for a caller who
    keeps all items.  ``together`` are the most small things that are one part.
    """

    threads: int
    cost: int
    held: int | None
    together: int = 1


def read_in_order(parts: Iterable[Part[Item]], bounds: Bounds, size: Callable[[Item], int]) -> Items[Item]:
    """Yield the items of *parts*, in their order; *size* returns the bytes of an item.

    An error is raised where it would be if the parts were read one after the other.  Nothing is read ahead before the
    second item is asked for, unless the caller keeps all.  Whoever closes it waits until the threads have
    ended, each at its next item.
    """
    if bounds.threads <= 1:
        for part in parts:
            with closing(part.read()) as items:
                yield from items
        return
    ahead = _Ahead(iter(parts), bounds, size)
    try:
        if bounds.held is not None:
            yield from ahead.first()
        while ahead.fill():
            yield from ahead.take()
    finally:
        ahead.close()


@dataclass(frozen=True, slots=True)
class _Taken(Generic[Item]):
    """Some items of a part, whether they are its last, and the error that comes after them."""

    items: list[Item]
    is_last: bool
    error: Exception | None = None


class _Reading(Generic[Item]):
    """A part that has been begun; ``step`` is what a thread reads of it now, None if nothing has been asked yet."""

    def __init__(self, part: Part[Item]) -> None:
        self.cost = part.cost
        self.items = part.read()
        self.step: Future[_Taken[Item]] | None = None
        self.error: Exception | None = None


class _Ahead(Generic[Item]):
    """The parts that have been begun, the first of which is the one whose turn it is.  Only one thread uses it."""

    def __init__(self, parts: Iterator[Part[Item]], bounds: Bounds, size: Callable[[Item], int]) -> None:
        self._parts = parts
        self._next = next(parts, None)
        self._bounds = bounds
        self._size = size
        self._begun: deque[_Reading[Item]] = deque()
        self._pool = ThreadPoolExecutor(bounds.threads, thread_name_prefix="hudiformat-read")

    def first(self) -> list[Item]:
        """Return the first item, read by this thread; none if the first part is empty."""
        if self._next is None:
            return []
        reading = self._begin(self._next)
        return self._note(reading, _take(reading.items, 0, self._size))

    def fill(self) -> bool:
        """Read on in the part whose turn it is, and begin others within the bounds; return whether there is one."""
        if self._begun:
            if self._begun[0].error is not None:
                raise self._begun[0].error
            if self._begun[0].step is None:
                self._go_on(self._begun[0])
        while self._next is not None and self._has_room(self._next):
            self._go_on(self._begin(self._next))
        return bool(self._begun)

    def take(self) -> list[Item]:
        """Return the next items of the part whose turn it is, which a thread reads on meanwhile."""
        reading = self._begun[0]
        if reading.step is None:
            raise AssertionError("fill() is called first")
        taken = reading.step.result()
        if not taken.is_last and taken.error is None:
            self._go_on(reading)
        return self._note(reading, taken)

    def _note(self, reading: _Reading[Item], taken: _Taken[Item]) -> list[Item]:
        """Return the items of *taken*; the part is left if they are its last, and an error is kept until they are."""
        reading.error = taken.error
        if taken.is_last:
            self._begun.popleft()
        return taken.items

    def close(self) -> None:
        """Wait for the threads, and close what was read in part."""
        self._pool.shutdown(cancel_futures=True)
        for reading in self._begun:
            reading.items.close()

    def _begin(self, part: Part[Item]) -> _Reading[Item]:
        reading = _Reading(part)
        self._begun.append(reading)
        self._next = next(self._parts, None)
        return reading

    def _has_room(self, part: Part[Item]) -> bool:
        if not self._begun:
            return True
        cost = part.cost + sum(one.cost for one in self._begun)
        return len(self._begun) < _MOST_BEGUN * self._bounds.threads and cost <= self._bounds.cost

    def _go_on(self, reading: _Reading[Item]) -> None:
        reading.step = self._pool.submit(_take, reading.items, self._bounds.held, self._size)


def _take(items: Items[Item], most: int | None, size: Callable[[Item], int]) -> _Taken[Item]:
    """Return the next items, of about *most* bytes."""
    taken: list[Item] = []
    held = 0
    try:
        for item in items:
            taken.append(item)
            held += size(item)
            if most is not None and held >= most:
                return _Taken(taken, is_last=False)
    except Exception as error:  # noqa: BLE001 - raised where it would be without threads: see fill
        return _Taken(taken, is_last=False, error=error)
    return _Taken(taken, is_last=True)
