"""Sound tables of Hudi's: verify finds nothing, and repair has nothing to do; of broken ones it takes what it said."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import hudiformat as hf
from tests.check.repair import breaking
from tests.check.repair.breaking import BREAKS, Break, age
from tests.effort import sample
from tests.foreign import foreign_tables
from tests.tables import NAMES, tree, unpack

pytestmark = pytest.mark.unmeasured

UNSOUND = ("damaged", "inflight", "pending")
SOUND = [name for name in NAMES if not any(word in name for word in UNSOUND)]


FOREIGN = foreign_tables.names("")
FAULTS: tuple[Callable[[Path], None], ...] = (
    breaking.half_properties,
    breaking.empty_commit,
    breaking.cut_commit,
    breaking.unmarked_partition,
    breaking.damaged_partition,
    breaking.leftovers,
    breaking.cut_log,
    breaking.damaged_base,
    breaking.missing_base,
    breaking.only_base_damaged,
    breaking.missing_log,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", sample([*SOUND, *FOREIGN], of=8))
def test_nothing_is_wrong_with_a_sound_table(name: str, tmp_path: Path) -> None:
    path = foreign_tables.unpack(name, tmp_path).path if name in FOREIGN else unpack(name, tmp_path).table
    age(path)
    assert hf.open_table(path).verify() == []
    before = tree(path)
    assert hf.repair_table(path, apply=True).steps == ()
    assert tree(path) == before


@pytest.mark.slow
@pytest.mark.parametrize("broken", sample(BREAKS, of=4), ids=lambda one: one.name)
def test_what_repair_takes_away_or_replaces_is_listed_and_kept(broken: Break, tmp_path: Path) -> None:
    check_what_is_taken(broken.make(tmp_path), broken.given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "name"), sample(list(product(FAULTS, FOREIGN)), of=64), ids=lambda one: getattr(one, "__name__", one)
)
def test_so_it_is_with_tables_that_have_something_of_their_own(
    fault: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    path = foreign_tables.unpack(name, tmp_path).path
    try:
        fault(path)
    except (StopIteration, ValueError, IndexError):
        return  # the table has no such file
    age(path)
    check_what_is_taken(path, {})


def check_what_is_taken(path: Path, given: dict[str, str]) -> None:
    before = tree(path)
    done = hf.repair_table(path, apply=True, properties=given)
    after = tree(path)
    listed: dict[str, str] = {}
    if done.taken_away is not None:
        listed = {one["from"]: one["to"] for one in json.loads(after[f"{done.taken_away}/taken.json"])["files"]}
    gone = {name for name in before if not name.endswith("/") and after.get(name) != before[name]}
    housekeeping = {name for name in gone if name.startswith((".hoodie/.temp/", ".hoodie/.heartbeat/"))}
    changed = {".hoodie/hoodie.properties"}
    assert gone - housekeeping - changed <= set(listed)
    assert all(after[to] == before[name] for name, to in listed.items() if name in gone)
