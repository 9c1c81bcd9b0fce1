"""A sample of the long run (``python -m tests.turns``), with real Hudi."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hudi import RealHudi
from tests.effort import only_long
from tests.turns.kinds import COW, MOR, Kind
from tests.turns.machine import Machine
from tests.turns.run import run

KINDS = [Kind(table_type, table) for table_type in (MOR, COW) for table in ("all", "default", "records")]


@only_long  # test_metadata_indexes.py takes some turns in any run
@pytest.mark.hudi
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_hudi_and_hudiformat_take_turns(hudi: RealHudi, tmp_path: Path, kind: Kind) -> None:
    machine = Machine(hudi, tmp_path / "t", kind, seed=1)
    run(machine, steps=15)
    machine.theirs.drop_table()
