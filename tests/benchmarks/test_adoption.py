"""The benchmark of adoption runs; its figures mean nothing here."""

from __future__ import annotations

import pytest

from benchmarks import adoption

pytestmark = pytest.mark.unmeasured


def test_both_take_the_files_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert adoption.main(["--files", "3", "--rows", "5", "--rounds", "1"]) == 0
    assert capsys.readouterr().out.startswith("3 files of 5 rows: hudiformat ")
