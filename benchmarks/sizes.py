"""What happens at sizes that few people have: time, memory and requests, and how they grow.

    python -m benchmarks.sizes                 # all cases, up to their largest size: half an hour, 10 GB of disk
    python -m benchmarks.sizes --case columns --up-to 500 --json sizes.json

Each case is built and measured at sizes a decade apart, each work in a process of its own, so that memory can be told.
A work's cost is said to be linear if one unit costs at most 15 % more than at a tenth of the size.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import report
from benchmarks.results import Limit, Results, Sized
from benchmarks.size_cases import SIZE_CASES, SizeCase
from benchmarks.size_work import OpenFiles, Outcome
from benchmarks.timing import peak_mb

MOST_GROWTH = 15.0
LEAST_SECONDS = 0.05
"""Below, the fixed cost of a work hides what a unit costs."""
_TIMEOUT = 3000


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds of the clock and of the processor, MB above the libraries, requests to the storage, open files, bytes."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    requests: int | None
    open_files: int
    bytes: int | None


def measured(case: SizeCase, folder: Path, *, up_to: int | None = None) -> list[Sized]:
    """The works of *case* at each of its sizes."""
    found = []
    for size in case.sizes:
        if up_to is not None and size > up_to:
            break
        place = folder / f"size-{size}"
        place.mkdir()
        _apart("build", case.name, place, size)
        for work in case.works:
            one = Found(**_apart(work, case.name, place, size))
            found.append(Sized(case.name, work, size, case.unit, *astuple(one)))
        shutil.rmtree(place)
    return found


def limits(case: SizeCase, found: Sequence[Sized]) -> list[Limit]:
    """What the case promises of its largest size, and of the growth up to it."""
    kept = []
    for work, bounds in case.works.items():
        sizes = [one for one in found if one.work == work]
        last = sizes[-1]
        label = f"{case.name}, {last.size:,} {case.unit}, {work}"
        if last.size == case.sizes[-1]:
            kept += [Limit("sizes", f"{label}: {what}", _value(last, what), unit, most) for what, unit, most in bounds]
        if len(sizes) > 1 and last.seconds >= LEAST_SECONDS:
            more = 100 * (last.seconds / last.size / (sizes[-2].seconds / sizes[-2].size) - 1)
            kept.append(
                Limit("sizes", f"{label}: cost per unit over that of {sizes[-2].size:,}", more, "%", MOST_GROWTH)
            )
    return kept


def _value(one: Sized, what: str) -> float:
    return float(getattr(one, what) or 0)


def _apart(work: str, name: str, folder: Path, size: int) -> dict[str, Any]:
    words = [sys.executable, "-m", "benchmarks.sizes", "--work", work, "--case", name, "--folder", str(folder)]
    run = subprocess.run([*words, "--up-to", str(size)], capture_output=True, text=True, check=False, timeout=_TIMEOUT)
    if run.returncode:
        raise RuntimeError(f"{name}, {work}, {size}: {run.stderr}")
    answer: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answer


def run_work(case: SizeCase, work: str, folder: Path, size: int) -> Found | None:
    """Do one work of *case* in this process; ``build`` is not measured."""
    if work == "build":
        case.build(folder, size)
        return None
    works = case.prepare(folder, size)
    outcome = Outcome()
    times: list[float] = []

    def action() -> None:
        wall, processor = time.perf_counter(), time.process_time()
        works[work](outcome)
        times.extend((time.perf_counter() - wall, time.process_time() - processor))

    with OpenFiles() as files:
        above = peak_mb(action)
    return Found(times[0], times[1], above or 0.0, outcome.requests, files.most, outcome.bytes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the cases that are asked for, and print tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=sys.modules[__name__].__doc__)
    names = [case.name for case in SIZE_CASES]
    parser.add_argument("--case", action="append", choices=names, help="only this; may be given again")
    parser.add_argument("--up-to", type=int, help="the largest size")
    parser.add_argument("--folder", type=Path, help="where files go")
    parser.add_argument("--json", type=Path, help="save the results")
    parser.add_argument("--markdown", type=Path, help="save the tables")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    chosen = [case for case in SIZE_CASES if not asked.case or case.name in asked.case]
    if asked.work:
        pa.set_cpu_count(1)
        outcome = run_work(chosen[0], asked.work, asked.folder, asked.up_to)
        print(json.dumps(asdict(outcome) if outcome else {}))
        return 0
    results = Results({})
    with tempfile.TemporaryDirectory(prefix="hudiformat-sizes-", dir=asked.folder) as folder:
        for case in chosen:
            place = Path(folder) / case.name.replace(" ", "-")
            place.mkdir()
            found = measured(case, place, up_to=asked.up_to)
            results.sizes += found
            results.limits += limits(case, found)
            print(report.sized(found), flush=True)
    print(report.tables(results))
    if asked.json:
        asked.json.write_text(json.dumps(results.as_json(), indent=1), encoding="utf-8")
    if asked.markdown:
        asked.markdown.write_text(report.tables(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
