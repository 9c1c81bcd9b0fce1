"""A process that crashes at a given operation on its storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tests.faults import READS

T = TypeVar("T")


class Crash(BaseException):
    """The process has ended: no code handles this."""


class Countdown:
    """Counts operations that change something; at number *moment* the process crashes, and every later operation fails.

    ``before``: whether it crashes before or after the operation has its effect.
    """

    def __init__(self, moment: int | None, *, before: bool = True) -> None:
        self.moment = moment
        self.before = before
        self.count = 0

    def run(self, what: str, action: Callable[[], T]) -> T:
        if what.startswith(READS):
            return action()
        if self.moment is not None and self.count >= self.moment:
            raise Crash
        self.count += 1
        if self.count != self.moment:
            return action()
        if not self.before:
            action()
        raise Crash
