"""What runs the parts of a service elsewhere, as the tasks of a cluster or in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")


class TaskAttempt(NamedTuple):
    """Numbers that no other attempt of a task of this executor has: they make the names of its files unique."""

    stage: int
    attempt: int


class Executor(Protocol):
    """Calls a function for each of several arguments; the function, the arguments and the results can be pickled."""

    def map(
        self, function: Callable[[Given, TaskAttempt], Result], given: Sequence[Given], *, name: str, alone: bool
    ) -> Iterable[Result]:
        """Yield the results of *function* for each of *given*, in their order; *name* describes the work to the user.

        With *alone*, each call is a task of its own: it takes long.
        """
        ...
