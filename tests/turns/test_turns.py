"""A sample of the long run (``python -m tests.turns``): few steps on each table, with real Hudi."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hudi import RealHudi
from tests.effort import LONG
from tests.turns.kinds import COW, MOR, Kind
from tests.turns.machine import Machine
from tests.turns.run import run

FIRST = [Kind(MOR, "all")]
OTHERS = [Kind(COW, "default"), Kind(COW, "all"), Kind(MOR, "default"), Kind(MOR, "records"), Kind(COW, "records")]


@pytest.mark.hudi
@pytest.mark.parametrize("kind", FIRST + OTHERS if LONG else FIRST, ids=str)
def test_hudi_and_hudiformat_take_turns(hudi: RealHudi, tmp_path: Path, kind: Kind) -> None:
    machine = Machine(hudi, tmp_path / "t", kind, seed=1)
    run(machine, steps=100 if LONG else 2)
    machine.theirs.drop_table()
