"""The stream that shows how many files a sink leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.file_sink import main, run_stream
from hudiformat.sink import SinkOptions
from tests.effort import only_long

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]


def test_a_stream_without_compaction_leaves_a_file_for_each_task_and_batch(tmp_path: Path) -> None:
    outcome = run_stream(tmp_path, SinkOptions(), batches=2, rows=8)
    assert outcome.sizes == {}  # no partition is committed without a policy


@only_long
def test_the_table_compares_the_variants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "files.png"
    assert main(["--batches", "3", "--rows", "40", "--plot", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("hour=2024050608", "as written", "next-fit", "first-fit"))
    assert picture.read_bytes().startswith(b"\x89PNG")
