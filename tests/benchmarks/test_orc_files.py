"""The benchmark of ORC runs; its figures mean nothing here."""

from __future__ import annotations

import pytest

from benchmarks import orc_files

pytestmark = pytest.mark.unmeasured


def test_orc_is_written_and_read_by_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert orc_files.main(["--rows", "50", "--codec", "zstd", "--rounds", "1"]) == 0
    shown = capsys.readouterr().out
    assert "50 mixed rows, zstd" in shown
    assert "read ten columns" in shown
