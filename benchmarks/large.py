"""Log files of any size, in a process of its own, so that memory can be told: what a row costs, and the peak.

    python -m benchmarks.large write|read FOLDER ROWS ROUNDS

Blocks are of 50,000 rows, and read or written one after the other.  What the interpreter and its libraries take is
measured first; it is not counted, the rows to be written are.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import hudiformat as hf
from benchmarks import ours
from benchmarks.cases import MIXED
from benchmarks.results import Growth
from benchmarks.timing import peak_mb, resident_mb

SIZES = tuple(10**exponent for exponent in range(3, 8))

_TIMED_ROWS = 1_000_000
_LEAST_REPEATS, _MOST_REPEATS = 2, 100


def growth(sizes: tuple[int, ...], folder: Path) -> list[Growth]:
    """The cost per row and the peak of memory for files of so many rows, written and read."""
    found = []
    for rows in sizes:
        repeats = min(max(_LEAST_REPEATS, _TIMED_ROWS // rows), _MOST_REPEATS)
        found += [_measured(operation, folder, rows, repeats) for operation in ("write", "read")]
        ours.empty(folder / "large")
    return found


def _measured(operation: str, folder: Path, rows: int, repeats: int) -> Growth:
    words = command(operation, folder, rows, repeats)
    run = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600)
    answer = json.loads(run.stdout)
    return Growth(operation, rows, answer["seconds"] / rows * 1e9, answer["peak_mb"])


def command(operation: str, folder: Path, rows: int, repeats: int) -> list[str]:
    """What runs this module."""
    return [sys.executable, "-m", "benchmarks.large", operation, str(folder), str(rows), str(repeats)]


class _Repeated:
    """The blocks of *count* rows, made from the same 50,000 again and again."""

    def __init__(self, count: int) -> None:
        self._rows = ours.prepare(MIXED, min(count, MIXED.block_rows))
        self._blocks = -(-count // MIXED.block_rows)

    def blocks(self) -> Iterator[hf.LogBlock]:
        for _ in range(self._blocks):
            yield from self._rows.blocks()


def main(operation: str, folder: Path, rows: int, repeats: int) -> dict[str, float]:
    """Seconds of the fastest run, and MB above what was there before the first."""
    _load_libraries()
    before = resident_mb("VmRSS")
    target = folder / "large"
    fastest = float("inf")

    def run() -> None:
        nonlocal fastest
        source = _Repeated(rows) if operation == "write" else None
        for _ in range(repeats):
            if source is not None:
                ours.empty(target)
            start = time.perf_counter()
            if source is None:
                ours.decode(target / ours.NAME)
            else:
                ours.write(source.blocks, target)
            fastest = min(fastest, time.perf_counter() - start)

    above = peak_mb(run)
    return {"seconds": fastest, "peak_mb": above or 0.0, "libraries_mb": before}


def _load_libraries() -> None:
    """Whatever is imported or set up at the first use, at little cost in memory."""
    rows = ours.prepare(MIXED, 100)
    with tempfile.TemporaryDirectory() as folder:
        ours.decode(ours.write(rows.blocks, Path(folder)))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
