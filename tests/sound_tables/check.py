"""What has to hold of a sound table, and of one with a fault: ``verify``, ``repair`` and the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

import hudiformat as hf
from tests.check.repair import breaking
from tests.tables import multiset, tree

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


def check_sound(path: Path) -> None:
    """Raise an AssertionError unless nothing is found, and nothing is done, though all writers are dead."""
    breaking.age(path)
    found = hf.open_table(path).verify()
    assert found == [], f"found {found}"
    before = tree(path)
    done = hf.repair_table(path, apply=True).steps
    assert done == (), f"done {done}"
    assert tree(path) == before, "files have changed"


def check_pending(path: Path) -> None:
    """Raise an AssertionError unless a plan is found that nobody has carried out, and nothing is left once it is."""
    breaking.age(path)
    found = hf.open_table(path).verify()
    assert {one.kind for one in found} == {hf.TableFindingKind.UNCOMMITTED}, f"found {found}"
    before = breaking.own_rows(hf.open_table(path))
    done = hf.repair_table(path, apply=True).steps
    assert {step.kind for step in done} == {hf.RepairKind.PENDING}, f"done {done}"
    left = hf.open_table(path).verify()
    assert left == [], f"left {left}"
    assert breaking.own_rows(hf.open_table(path)) == before, "rows have changed"


def check_what_is_taken(path: Path, given: Mapping[str, str]) -> None:
    """Raise an AssertionError unless a repair lists and keeps all that it takes away or replaces."""
    before = tree(path)
    done = hf.repair_table(path, apply=True, properties=given)
    after = tree(path)
    listed: dict[str, str] = {}
    if done.taken_away is not None:
        listed = {one["from"]: one["to"] for one in json.loads(after[f"{done.taken_away}/taken.json"])["files"]}
    # A checksum that Hadoop has put beside a file says nothing of the next file of that name.
    gone = {name for name in before if not name.endswith(("/", ".crc")) and after.get(name) != before[name]}
    housekeeping = {name for name in gone if name.startswith((".hoodie/.temp/", ".hoodie/.heartbeat/"))}
    changed = {".hoodie/hoodie.properties"}
    unlisted = gone - housekeeping - changed - set(listed)
    assert not unlisted, f"taken away and not listed: {sorted(unlisted)}"
    lost = [name for name, to in listed.items() if name in gone and after.get(to) != before[name]]
    assert not lost, f"listed and not kept: {lost}"


def _own_columns(rows: pa.Table, but: Sequence[str]) -> pa.Table:
    return rows.select([name for name in rows.column_names if not name.startswith("_hoodie_") and name not in but])


def check_rows(ours: pa.Table, theirs: pa.Table, *, but: Sequence[str] = ()) -> None:
    """Raise an AssertionError unless Hudi's snapshot has the same columns, *but* for some, and the same rows."""
    ours, theirs = _own_columns(ours, but), _own_columns(theirs, but)
    names = (sorted(ours.column_names), sorted(theirs.column_names))
    assert names[0] == names[1], f"columns {names[0]}, of Hudi {names[1]}"
    here, of_hudi = multiset(ours), multiset(theirs)
    assert here == of_hudi, f"here {dict(here - of_hudi)}, of Hudi {dict(of_hudi - here)}"
