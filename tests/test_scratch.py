"""The folder in memory that a run's files are in."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.scratch import use_memory


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("TMPDIR", raising=False)
    return tmp_path


def test_temporary_files_of_a_process_and_of_its_own_are_there(memory: Path) -> None:
    made = use_memory(memory)
    assert made == memory / f"hudiformat-tests-{os.getpid()}"
    code = "import tempfile; print(tempfile.gettempdir())"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert Path(child.stdout.strip()) == Path(tempfile.gettempdir()) == made


def test_what_ended_runs_have_left_is_removed(memory: Path) -> None:
    gone, running = memory / "hudiformat-tests-999999999", memory / f"hudiformat-tests-{os.getppid()}"
    for folder in (gone, running):
        folder.mkdir()
    use_memory(memory)
    assert running.is_dir()
    assert not gone.exists()


def test_a_chosen_place_is_kept_to(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert use_memory(memory) is None


def test_without_room_files_are_where_they_would_be(memory: Path) -> None:
    assert use_memory(memory, least=1 << 60) is None
    assert "TMPDIR" not in os.environ
    assert list(memory.iterdir()) == []
