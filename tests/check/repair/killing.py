"""A storage whose process is killed before or in one of its changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tests.faults import READS

T = TypeVar("T")


class Killed(SystemExit):  # which ends a thread, such as one with a heartbeat, without a word
    """The process is no more; nothing that it does counts after that."""


@dataclass
class KilledAt:
    """Lets so many changes happen; the next one and all later ones do not."""

    left: int

    def run(self, what: str, action: Callable[[], T]) -> T:
        if what.split(" ", maxsplit=1)[0] not in READS:
            if self.left <= 0:
                raise Killed(what)
            self.left -= 1
        return action()
