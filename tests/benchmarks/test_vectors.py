"""The benchmark of vectors runs; its figures mean nothing here."""

from __future__ import annotations

import pytest

from benchmarks import vectors

pytestmark = pytest.mark.unmeasured


def test_vectors_are_written_and_read_by_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert vectors.main(["--rows", "50", "--dimension", "8", "--codec", "zstd", "--rounds", "1"]) == 0
    shown = capsys.readouterr().out
    assert "50 rows of 8 floats, zstd" in shown
    assert "pyarrow, lists" in shown
