"""The command line, run in this process, and a log file for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat.cli.app import run
from tests.cli.support import Command, Result


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line, run with these arguments."""

    def call(*arguments: object) -> Result:
        code = run([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def log(tmp_path: Path) -> Callable[[bytes], Path]:
    """A log file of these bytes."""

    def write(data: bytes) -> Path:
        path = tmp_path / ".0a1b-0_20260101000000000.log.1_0-0-0"
        path.write_bytes(data)
        return path

    return write
