"""Run the benchmarks: ``python -m benchmarks``.  See benchmarks/README.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from benchmarks import report
from benchmarks.cases import MIXED
from benchmarks.java import BEST, DEFAULT, NoJavaPeerError
from benchmarks.large import SIZES
from benchmarks.results import Results
from benchmarks.sections import SECTIONS
from benchmarks.suite import Run
from hudiformat.kernels import VARIABLE
from tools.kernels import KernelsError, build_package

ROUNDS = 5
QUICK_ROWS = 50_000
QUICK_ROUNDS = 2
QUICK_SIZES = (1_000, 100_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for and print it."""
    asked = _parser().parse_args(arguments)
    asked.rows = asked.rows or (QUICK_ROWS if asked.quick else MIXED.rows)
    asked.rounds = asked.rounds or (QUICK_ROUNDS if asked.quick else ROUNDS)
    pa.set_cpu_count(1)  # one thread, as Java
    os.environ[VARIABLE] = "0"  # sections turn kernels on where they measure them
    with suppress(KernelsError):  # else those of numba are measured
        sys.path.append(str(build_package()))
    start = time.monotonic()
    results = Results(_conditions(asked))
    with tempfile.TemporaryDirectory(prefix="hudiformat-bench-", dir=asked.folder) as folder:
        run = Run(
            results,
            Path(folder),
            scale=asked.rows / MIXED.rows,
            rounds=asked.rounds,
            sizes=QUICK_SIZES if asked.quick else SIZES,
            settings=() if asked.no_java else (DEFAULT, replace(BEST, flags=tuple(asked.java_flags.split()))),
        )
        for name in asked.case or SECTIONS:
            print(f"{time.monotonic() - start:4.0f} s  {name}", file=sys.stderr, flush=True)
            _measure(name, run)
    results.conditions["Took"] = f"{time.monotonic() - start:.0f} s"
    _save(results, asked)
    return 0


def _measure(name: str, run: Run) -> None:
    """A section of which Java cannot do its part is left out from there on."""
    try:
        SECTIONS[name](run)
    except NoJavaPeerError as error:
        run.results.missing[f"Java in {name}"] = str(error)


def _save(results: Results, asked: argparse.Namespace) -> None:
    text = report.tables(results)
    print(text)
    if asked.markdown:
        asked.markdown.write_text(text, encoding="utf-8")
    if asked.json:
        asked.json.write_text(json.dumps(results.as_json(), indent=1), encoding="utf-8")
    if asked.plot:
        report.plot(results, asked.plot)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=sys.modules["benchmarks"].__doc__)
    parser.add_argument("--rows", type=int, help="mixed rows; the other cases go with it (1,000,000)")
    parser.add_argument("--rounds", type=int, help="rounds, of which the best counts (5)")
    parser.add_argument("--case", action="append", choices=SECTIONS, help="only this; may be given again")
    parser.add_argument("--no-java", action="store_true", help="without Java's writer and reader")
    parser.add_argument("--java-flags", default=" ".join(BEST.flags), help="the JVM's best flags (%(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows, 2 rounds, no large files")
    parser.add_argument("--folder", type=Path, help="where files go: 5 GB (the system's temporary folder)")
    parser.add_argument("--json", type=Path, help="save the results")
    parser.add_argument("--markdown", type=Path, help="save the tables")
    parser.add_argument("--plot", type=Path, help="draw the ratios (.png, .svg, .pdf); needs the extra bench")
    return parser


def _conditions(asked: argparse.Namespace) -> dict[str, str]:
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "numpy", "fastavro"))
    return {
        "Machine": f"{_processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start",
        "Software": f"{platform.system()}, Python {platform.python_version()}, {packages}",
        "Peers": "Hudi 1.2.0; " + f"{DEFAULT.name}: {' '.join(DEFAULT.flags)}; {BEST.name}: {asked.java_flags}",
        "Rows": f"{asked.rows:,} mixed ones, other cases in proportion; the best of {asked.rounds} rounds, in turns",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    sys.exit(main())
