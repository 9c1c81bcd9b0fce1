"""Runs jobs in processes of their own, which may die or hang, and sums up what came of them."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.hostile.corpus import GOLDEN, MADE, build
from tests.hostile.jobs import Result

_ROOT = Path(__file__).parents[2]
WORKER = ["-m", "tests.hostile.worker"]
_HANGS = 60.0
"""Seconds after which a process is ended; more than a job may take, as a machine may be busy."""


SMALL = (("v6-mor-archived-h0150", "v9-mor-archived-h120", "v9-mor-hfilelog-plain-h120"), MADE[4:5])
"""Tables enough for a file of most kinds."""


def run(
    count: int, *, seed: int = 0, first: int = 0, workers: int = 2, small: bool = False, in_tables: float = 0.04
) -> list[Result]:
    """The results of *count* hostile files from the number *first* on; *small* leaves out most tables.

    *in_tables* is as for :class:`Jobs`.
    """
    golden, made = SMALL if small else (GOLDEN, MADE)
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        root = Path(folder) / "corpus"
        root.mkdir()
        build(root, golden=golden, made=made)
        with ThreadPoolExecutor(workers) as pool:
            parts = pool.map(
                lambda number: list(
                    _worker(root, Path(folder), seed, range(first + number, first + count, workers), in_tables)
                ),
                range(workers),
            )
            return sorted((result for part in parts for result in part), key=lambda result: result.number)


def _worker(root: Path, folder: Path, seed: int, numbers: range, in_tables: float) -> Iterator[Result]:
    """The results of *numbers*; a new process goes on where one died."""
    while numbers:
        with tempfile.TemporaryDirectory(prefix="worker-", dir=folder) as scratch:
            done, died = yield from _process(root, Path(scratch), seed, numbers, in_tables)
        if died is not None:
            yield Result(done, "?", foreign=[died])
        numbers = numbers[numbers.index(done) + 1 :]


def _process(
    root: Path, scratch: Path, seed: int, numbers: range, in_tables: float
) -> Generator[Result, None, tuple[int, str | None]]:
    """The results of one process; it returns the last number, and how the process ended if that was too early."""
    command = [sys.executable, *WORKER, str(root), str(scratch / "s"), str(seed)]
    command += [str(numbers.start), str(numbers.step), str(numbers.stop), str(in_tables)]
    errors = scratch / "stderr"
    with errors.open("wb") as log:
        process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=log)
    assert process.stdout is not None
    last, waits_for_result = numbers.start, False
    ended = "died"
    while True:
        ready, _, _ = select.select([process.stdout], [], [], _HANGS)
        line = process.stdout.readline() if ready else b""
        if not line:
            ended = "died" if ready else "hangs"
            break
        found = json.loads(line)
        if isinstance(found, int):
            last, waits_for_result = found, True
        else:
            waits_for_result = False
            yield Result(**found)
    process.kill()
    process.wait()
    process.stdout.close()
    if not waits_for_result and last == numbers[-1]:
        return last, None
    told = errors.read_text(errors="replace").strip().splitlines()
    return last, f"the process {ended} ({process.returncode}): {' | '.join([*told[:4], *told[-6:]])[:1200]}"


def table(results: Sequence[Result]) -> str:
    """The results by kind: files, errors by class, foreign ones, the slowest and the most memory."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.kind].append(result)
    lines = ["| kind | files | errors of the library | foreign | violations | slowest (s) | most memory (MB) |"]
    lines.append("|---|---:|---|---:|---:|---:|---:|")
    for kind, group in [*sorted(groups.items()), ("all", list(results))]:
        errors = Counter(name for result in group for name in set(result.errors))
        shown = ", ".join(f"{name} {count}" for name, count in errors.most_common(6))
        foreign, violations = (sum(bool(getattr(one, name)) for one in group) for name in ("foreign", "violations"))
        slowest, most = (max((getattr(one, name) for one in group), default=0) for name in ("seconds", "memory"))
        lines.append(
            f"| {kind} | {len(group)} | {shown} | {foreign} | {violations} | {slowest:.2f} | {most / 1e6:.0f} |"
        )
    return "\n".join(lines)


def findings(results: Sequence[Result]) -> list[str]:
    """What went wrong, the same findings together, with the first number of each."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for result in results:
        for what in {*result.foreign, *result.violations}:
            numbers[f"{result.kind}: {what}"].append(result.number)
    return [f"{len(found)} x {what} (first: {found[0]})" for what, found in sorted(numbers.items())]
