"""Running the state machine until it has made a number of steps, which Hypothesis itself does not count."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import STEPS, Everything

_LENGTH = 40
"""The most steps of one table."""
_MOST_TABLES = 25
"""Tables of one run of Hypothesis, whose first one is the simplest that there is."""


def run(*, steps: int, number: int, shrinks: bool = True, machine: type[Everything] = Everything) -> None:
    """Run *machine* with seeds from *number* on, until it has made *steps* steps.

    What fails is shrunk first, which takes a minute or more.
    """
    wanted = STEPS.total() + steps
    while (left := wanted - STEPS.total()) > 0:
        length = min(left, _LENGTH)
        effort = settings(
            max_examples=min(left // length + 2, _MOST_TABLES),
            stateful_step_count=length,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(seeded(machine, number), settings=effort)
        number += 1


def seeded(machine: type[Everything], number: int) -> type[Everything]:
    """*machine* with its choices determined by *number*."""

    class Seeded(machine):  # type: ignore[misc, valid-type]  # a class that is made at run time
        pass

    return seed(number)(Seeded)
