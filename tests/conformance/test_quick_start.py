"""Hudi's quick start: real Hudi answers what ``tests/quick_start.json`` says, which hudiformat answers too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hudi import RealHudi
from tests.effort import only_long
from tests.quick_start import KINDS, answers, run


@only_long
@pytest.mark.parametrize(("table_type", "has_key"), KINDS)
def test_hudis_answers_are_those_that_are_kept(
    hudi: RealHudi, tmp_path: Path, table_type: str, *, has_key: bool
) -> None:
    found = run(hudi.eval_, "hudi", tmp_path / "theirs", table_type, has_key=has_key)
    assert found == answers(table_type, has_key=has_key)
