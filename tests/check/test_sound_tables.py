"""Sound tables of Hudi's: verify finds nothing, and repair has nothing to do; of broken ones it takes what it said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hudiformat as hf
from tests.check.repair.breaking import BREAKS, Break, age
from tests.effort import sample
from tests.tables import NAMES, tree, unpack

pytestmark = pytest.mark.unmeasured

UNSOUND = ("damaged", "inflight", "pending")
SOUND = [name for name in NAMES if not any(word in name for word in UNSOUND)]


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(SOUND, of=4))
def test_nothing_is_wrong_with_a_sound_table(name: str, tmp_path: Path) -> None:
    path = unpack(name, tmp_path).table
    age(path)
    assert hf.open_table(path).verify() == []
    before = tree(path)
    assert hf.repair_table(path, apply=True).steps == ()
    assert tree(path) == before


@pytest.mark.slow
@pytest.mark.parametrize("broken", sample(BREAKS, of=4), ids=lambda one: one.name)
def test_what_repair_takes_away_or_replaces_is_listed_and_kept(broken: Break, tmp_path: Path) -> None:
    path = broken.make(tmp_path)
    before = tree(path)
    done = hf.repair_table(path, apply=True, properties=broken.given)
    after = tree(path)
    listed: dict[str, str] = {}
    if done.taken_away is not None:
        listed = {one["from"]: one["to"] for one in json.loads(after[f"{done.taken_away}/taken.json"])["files"]}
    gone = {name for name in before if not name.endswith("/") and after.get(name) != before[name]}
    housekeeping = {name for name in gone if name.startswith((".hoodie/.temp/", ".hoodie/.heartbeat/"))}
    changed = {".hoodie/hoodie.properties"}
    assert gone - housekeeping - changed <= set(listed)
    assert all(after[to] == before[name] for name, to in listed.items() if name in gone)
