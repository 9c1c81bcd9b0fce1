"""Sound tables of Hudi's: verify finds nothing, and repair has nothing to do; of broken ones it takes what it said.

``python -m tests.sound_tables`` has real Hudi make more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.check.repair.breaking import BREAKS, Break, age
from tests.effort import sample
from tests.foreign import foreign_tables
from tests.sound_tables.check import FAULTS, check_sound, check_what_is_taken
from tests.tables import NAMES, unpack

pytestmark = pytest.mark.unmeasured

UNSOUND = ("-cut-mid-block", "-flip-", "-garbage-", "inflight", "pending")
SOUND = [name for name in NAMES if not any(word in name for word in UNSOUND)]
FOREIGN = foreign_tables.names("")
LIES = foreign_tables.names("wrong-labels")
"""Tables with times whose label is wrong, which verify finds (test_label_check.py)."""


def unpacked(name: str, root: Path) -> Path:
    return foreign_tables.unpack(name, root).path if name in FOREIGN else unpack(name, root).table


@pytest.mark.slow
@pytest.mark.parametrize("name", sample([*SOUND, *(name for name in FOREIGN if name not in LIES)], of=8))
def test_nothing_is_wrong_with_a_sound_table(name: str, tmp_path: Path) -> None:
    check_sound(unpacked(name, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("broken", sample(BREAKS, of=4), ids=lambda one: one.name)
def test_what_repair_takes_away_or_replaces_is_listed_and_kept(broken: Break, tmp_path: Path) -> None:
    check_what_is_taken(broken.make(tmp_path), broken.given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "name"),
    sample(list(product(FAULTS, [*SOUND, *FOREIGN])), of=128),
    ids=lambda one: getattr(one, "__name__", one),
)
def test_so_it_is_with_tables_that_have_something_of_their_own(
    fault: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    path = unpacked(name, tmp_path)
    try:
        fault(path)
    except (StopIteration, ValueError, IndexError):
        return  # the table has no such file
    age(path)
    check_what_is_taken(path, {})
