"""Make calls to a remote storage side by side: each waits for an answer, and takes no processor meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from hudiformat.storage.protocol import Storage

_AT_ONCE = 16

Given = TypeVar("Given")
Result = TypeVar("Result")


def side_by_side(
    storage: Storage, function: Callable[[Given], Result], given: Iterable[Given], *, at_once: int = _AT_ONCE
) -> Iterator[Result]:
    """Yield what *function*, which asks *storage*, returns for each of *given*, in their order.

    On a remote storage up to *at_once* calls are made at a time, in threads, and no more results wait to be taken; on
    any other, each is made when its result is asked for.  An error is raised in place of its result, as if the calls
    were made one after the other; those that come after it have no results then.
    """
    return map(function, given) if storage.capabilities.map else _in_threads(function, given, at_once)


def _in_threads(function: Callable[[Given], Result], given: Iterable[Given], at_once: int) -> Iterator[Result]:
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(at_once, thread_name_prefix="hudiformat-requests") as pool:
        try:
            for one in given:
                waiting.append(pool.submit(function, one))
                if len(waiting) >= at_once:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for call in waiting:
                call.cancel()
