"""The stream of eight hours, at a small size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import stream_files
from benchmarks.stream_files import Course, main, rows_of, stream_to_sink
from tests.effort import only_long

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]


@only_long
def test_files_over_time_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "files.png"
    assert main(["--batches", "3", "--rows", "20", "--plot", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("sink, policy merge", "table, Spark's sizing", "ideal"))
    assert picture.read_bytes().startswith(b"\x89PNG")


@only_long
def test_the_policy_merge_leaves_few_files(tmp_path: Path) -> None:
    """Almost two hours, so that a partition is committed, gets late rows, and is committed again."""
    _, options, _ = stream_files.VARIANTS["sink, policy merge"]
    course = stream_to_sink(tmp_path, options, rows_of(7, 60), batches=110)
    assert course.files <= 1.3 * course.ideal
    assert len(course.sizes["hour=2024050608"]) == 5  # of which the last has the late rows
    assert course.numbers[70] < course.numbers[-1]
    assert list(course.numbers) == sorted(course.numbers)


def test_too_many_files_are_a_failure(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_files, "VARIANTS", {"few": (lambda *_, **__: Course((9,), {"p": [1] * 9}), {}, True)})
    assert main(["--batches", "1"]) == 1
    assert "few: expected at most 1.3 x 1 files, found 9" in capsys.readouterr().out
