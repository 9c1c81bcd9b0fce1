"""A run: a table that Hudi makes, and steps of both sides on it, each with all checks after it."""

from __future__ import annotations

from collections.abc import Callable

from tests.turns.change_data import ChangeDataMachine
from tests.turns.machine import Machine


def run(machine: Machine | ChangeDataMachine, *, steps: int, tell: Callable[[str], None] = lambda _: None) -> None:
    """Make so many steps on the table of *machine*; *tell* is told of each before its checks.

    Raises:
        AssertionError: a step or a check failed; the message names all steps.
    """
    try:
        machine.create()
        machine.check()
        for number in range(steps):
            tell(f"{number + 1} {machine.step()}")
            machine.check()
    except Exception as error:
        raise AssertionError(f"{machine.kind}, seed {machine.seed}, after {machine.done}: {error}") from error
