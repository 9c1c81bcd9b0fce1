"""The page of the first hour has the steps of the script, in their order; tests/test_docs.py takes them again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.first_hour import PAGE, STEPS, Session, command
from tools.package import PackageError

pytestmark = pytest.mark.unmeasured


def test_the_page_has_the_steps_in_their_order() -> None:
    text, position = PAGE.read_text("utf-8"), 0
    for step in STEPS:
        for part in (step.words, step.python, *(f"$ {line}\n" for line in step.commands)):
            position = text.find(part, position)
            assert position >= 0, f"run python -m tools.first_hour: {part}"


def test_a_session_keeps_its_names_and_gives_back_what_is_printed(tmp_path: Path) -> None:
    session = Session(Path(sys.executable), tmp_path)
    assert session.run("import os; n = 2") == ""
    assert session.run("print(n, os.getcwd())") == f"2 {tmp_path}\n"
    session.close()


def test_a_command_that_fails_ends_the_hour(tmp_path: Path) -> None:
    program = tmp_path / "ends"
    program.write_text("#!/bin/sh\necho $1  >&2\nexit $1\n")
    program.chmod(0o755)
    assert command(tmp_path / "python", tmp_path, "ends 1") == "1\n"
    with pytest.raises(PackageError, match="ends 2 ended with 2: 2"):
        command(tmp_path / "python", tmp_path, "ends 2")
