"""A sample of the long run (``python -m tests.turns``), with real Hudi."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.hudi import RealHudi
from tests.effort import LONG, only_long, sample
from tests.turns.change_data import ChangeDataMachine, ChangeKind, kinds_of_change_data
from tests.turns.kinds import COW, LAYOUTS, MOR, OLD, Kind, kinds_of_layouts
from tests.turns.machine import Machine
from tests.turns.run import run

KINDS = [Kind(table_type, table) for table_type in (MOR, COW) for table in ("all", "default", "records")]
OTHERS = [kind for kind in kinds_of_layouts() if kind not in KINDS]
"""Tables of each layout, type and version."""


@only_long  # test_metadata_indexes.py takes some turns in any run
@pytest.mark.hudi
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_hudi_and_hudiformat_take_turns(hudi: RealHudi, tmp_path: Path, kind: Kind) -> None:
    machine = Machine(hudi, tmp_path / "t", kind, seed=1)
    run(machine, steps=15)
    machine.theirs.drop_table()


@only_long  # each layout has a test_both_write_in_turns, which takes some turns in any run
@pytest.mark.hudi
@pytest.mark.parametrize("kind", OTHERS, ids=str)
def test_they_take_turns_on_tables_of_every_layout(hudi: RealHudi, tmp_path: Path, kind: Kind) -> None:
    machine = Machine(hudi, tmp_path / "t", kind, seed=1)
    run(machine, steps=30)
    machine.theirs.drop_table()


WITH_OLD = [
    Kind(table_type, "default", layout, 6, OLD)
    for layout in ("plain", "structs", "no meta fields", "times", "custom times")
    for table_type in (MOR, COW)
    if (layout, table_type) != ("times", COW)
]
"""Hudi 0.15.0 fails on its own copy-on-write tables of times: it takes the numbers of the column for texts."""


@pytest.fixture(scope="module")
def old_hudi(hudi: RealHudi) -> Iterator[RealHudi]:
    """Real Hudi 0.15.0, after which ``hudi`` is named, so that no worker of its own begins it."""
    with RealHudi(OLD) as running:
        yield running


@only_long
@pytest.mark.hudi
@pytest.mark.parametrize("kind", WITH_OLD, ids=str)
def test_hudi_0_15_and_hudiformat_take_turns(old_hudi: RealHudi, tmp_path: Path, kind: Kind) -> None:
    machine = Machine(old_hudi, tmp_path / "t", kind, seed=1)
    run(machine, steps=30)
    machine.theirs.drop_table()


CHANGE_DATA = kinds_of_change_data()


@pytest.mark.hudi
@pytest.mark.parametrize("kind", sample(CHANGE_DATA, of=len(CHANGE_DATA)), ids=str)
def test_they_take_turns_on_tables_shaped_like_change_data(hudi: RealHudi, tmp_path: Path, kind: ChangeKind) -> None:
    machine = ChangeDataMachine(hudi, tmp_path / "t", kind, seed=1)
    run(machine, steps=30 if LONG else 4)
    machine.theirs.drop_table()


_ORC = LAYOUTS["orc"]
IN_ORC = kinds_of_change_data(_ORC.hudis, _ORC.settings, _ORC.hudi_cannot)


@only_long
@pytest.mark.hudi
@pytest.mark.parametrize("kind", IN_ORC, ids=str)
def test_they_take_turns_on_change_data_in_orc(hudi: RealHudi, tmp_path: Path, kind: ChangeKind) -> None:
    machine = ChangeDataMachine(hudi, tmp_path / "t", kind, seed=1)
    run(machine, steps=30)
    machine.theirs.drop_table()
