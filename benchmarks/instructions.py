"""Instructions that a row costs, where ``perf`` can count them: a figure that a busy machine does not change."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmarks.large import command

FEW, MANY = 100_000, 500_000


class NoCounterError(Exception):
    """Instructions cannot be counted; the message says why."""


def per_row(operation: str, folder: Path) -> float:
    """Instructions in user space for one more row written or read: start and set-up cancel out.

    Raises:
        NoCounterError: there is no perf, or the machine does not let it count.
    """
    counts = {}
    for rows in (FEW, MANY):
        if operation == "read":
            _count(command("write", folder, rows, 1))
        counts[rows] = _count(command(operation, folder, rows, 1))
    return (counts[MANY] - counts[FEW]) / (MANY - FEW)


def _count(words: list[str]) -> int:
    if shutil.which("perf") is None:
        raise NoCounterError("there is no perf here")
    stat = ["perf", "stat", "-x", ",", "-e", "instructions:u", "--", *words]
    run = subprocess.run(stat, capture_output=True, text=True, check=False, timeout=600)
    return parse_count(run.stderr)


def parse_count(text: str) -> int:
    """The count in what ``perf stat -x ,`` writes.

    Raises:
        NoCounterError: there is none, as on machines that hide their counters.
    """
    for line in text.splitlines():
        value, *rest = line.split(",")
        if any("instructions" in item for item in rest):
            if value.isdecimal():
                return int(value)
            raise NoCounterError(f"perf says {value}")
    raise NoCounterError(f"perf says {text.strip()[-200:]}")
