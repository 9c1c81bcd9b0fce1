"""Shapes of tables by hudiformat and by deltalake, what a Python user without Spark would pick instead.

    python -m benchmarks.shapes                                    # six shapes, three rounds: ten minutes
    python -m benchmarks.shapes --memory --shape rows --json rows.json
    python -m benchmarks.shapes --shape merge refresh files --size 0.1   # LHBench's, at a tenth of their size
    python -m benchmarks.shapes --with pyiceberg hudi-rs --size 0.1
    python -m benchmarks.shapes --option hoodie.parquet.compression.codec=snappy --kind COPY_ON_WRITE

The contenders play the steps of a shape by turns in one process, and the best round of each counts.  In a last round,
which is not timed, each step runs in a process of its own that has the libraries and the rows in memory: what it takes
above these is its peak.  Answers are compared.

deltalake syncs no file, and keeps no record keys, bloom filters or row ids: what hudiformat does more is in its time.
pyiceberg finds the rows of an upsert or a delete by a condition that names each key.  hudi-rs only reads:
hudiformat writes its table, copy-on-write, and its writes have no time.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.shape_cases import PUBLISHED, SHAPES, Shape, ShapeTable
from benchmarks.shape_tables import Delta, HudiRs, Iceberg, Ours
from benchmarks.timing import peak_mb

PEER = "deltalake"
OTHERS = ("pyiceberg", "hudi-rs")
"""Contenders that play if they are asked for."""
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
IN_MEMORY = Path("/dev/shm")
CODEC, ZSTD = "hoodie.parquet.compression.codec", "zstd"
_TIMEOUT = 600
_WIDTH = 130
"""Characters of a line where the output is no terminal, which would be taken for 80."""


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """What a step took by hudiformat, in a table of type *kind*, and by deltalake: seconds, and MB at the peak.

    ``others`` are the seconds of the other contenders that did the step, by their names.
    """

    shape: str
    step: str
    kind: str
    seconds: float
    peer_seconds: float
    peak_mb: float | None
    peer_peak_mb: float | None
    others: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """How many times faster than deltalake hudiformat is."""
        return self.peer_seconds / self.seconds


@dataclass(frozen=True, slots=True)
class Contender:
    """Who plays the shape *shape*: hudiformat is named by the type of its table."""

    shape: str
    size: float
    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def table(self, folder: Path, shape: Shape) -> ShapeTable:
        """Return its table in *folder*."""
        path = folder / self.name.lower()
        if self.name == "hudi-rs":
            return HudiRs(path, shape, self.options)
        if self.name == "pyiceberg":
            return Iceberg(path, shape)
        return Delta(path, shape) if self.name == PEER else Ours(path, shape, self.name, self.options)


def compare(
    name: str,
    size: float,
    *,
    kinds: Sequence[str],
    rounds: int,
    options: Mapping[str, str],
    place: Path | None,
    others: Sequence[str] = (),
) -> list[ShapeRow]:
    """Play the shape *name* by all contenders; tables are in a new folder of *place*, which is deleted."""
    shape = SHAPES[name](size)
    contenders = [Contender(name, size, one, options) for one in (PEER, *kinds, *others)]
    best: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        answers: dict[str, list[pa.Table | int | None]] = {}
        for one in contenders:
            with _folder(place) as folder:
                table = one.table(folder, shape)
                table.create()
                taken, answers[one.name] = _play(table, shape)
            for done, seconds in taken.items():
                best[one.name, done] = min(best.get((one.name, done), seconds), seconds)
        for one in contenders:
            for step, found, expected in zip(shape.steps, answers[one.name], answers[PEER], strict=True):
                _check(f"{name}, {one.name}, {step.name}", found, expected, shape.schema)
    peaks: dict[tuple[str, str], float | None] = {}
    for one in contenders[: 1 + len(kinds)]:
        with _folder(place) as folder:
            one.table(folder, shape).create()
            for number, step in enumerate(shape.steps):
                peaks[one.name, step.name] = _peak_apart(one, number, folder)
    return [
        ShapeRow(
            name,
            step.name,
            kind,
            best[kind, step.name],
            best[PEER, step.name],
            peaks[kind, step.name],
            peaks[PEER, step.name],
            {one: best[one, step.name] for one in others if (one, step.name) in best},
        )
        for step in shape.steps
        for kind in kinds
    ]


@contextmanager
def _folder(place: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="hudiformat-shapes-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _play(table: ShapeTable, shape: Shape) -> tuple[dict[str, float], list[pa.Table | int | None]]:
    """Return the seconds of each step, but of writes that another contender does, and what each step returned."""
    taken, answers = {}, []
    for step in shape.steps:
        gc.collect()
        start = time.perf_counter()
        answers.append(step.run(table))
        seconds = time.perf_counter() - start
        if table.writes or answers[-1] is not None:
            taken[step.name] = seconds
    return taken, answers


def _check(what: str, found: pa.Table | int | None, expected: pa.Table | int | None, schema: pa.Schema) -> None:
    """Raise an AssertionError if two answers differ, in whatever order their rows are."""
    same = found == expected
    if isinstance(found, pa.Table) and isinstance(expected, pa.Table):
        same = found.num_rows == expected.num_rows and _sorted(found, schema).equals(_sorted(expected, schema))
    if not same:
        raise AssertionError(f"{what}: expected {_size(expected)}, found {_size(found)}, or rows that differ")


def _sorted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    fields = [schema.field(name) for name in sorted(rows.column_names)]
    chosen = rows.select([one.name for one in fields]).cast(pa.schema(fields))
    key = "id" if "id" in chosen.column_names else chosen.column_names[0]
    return chosen.sort_by(key).combine_chunks()


def _size(answer: pa.Table | int | None) -> str:
    return f"{answer.num_rows} rows" if isinstance(answer, pa.Table) else str(answer)


def _peak_apart(contender: Contender, step: int, folder: Path) -> float | None:
    """Return what :func:`peak_of` returns in a process of its own."""
    given = json.dumps({"contender": asdict(contender), "step": step, "folder": str(folder)})
    command = [sys.executable, "-m", "benchmarks.shapes", "--peak-of", given]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT)
    found: float | None = json.loads(run.stdout.splitlines()[-1])
    return found


def peak_of(contender: Contender, step: int, folder: Path) -> float | None:
    """Run one step of a table that has been through the steps before it; return the MB that it takes at its peak.

    It is 0 if it takes less than its process has let go of meanwhile.
    """
    import pyarrow.dataset  # noqa: F401 - the libraries do not count, and both need it sooner or later

    shape = SHAPES[contender.shape](contender.size)
    table = contender.table(folder, shape)
    found = peak_mb(lambda: shape.steps[step].run(table))
    return None if found is None else max(found, 0.0)


def show(found: Sequence[ShapeRow], console: Console) -> None:
    """Print a row for each step and type of table."""
    table = Table()
    others = list(dict.fromkeys(name for one in found for name in one.others))
    headings = ("shape", "step", "table", "s", f"{PEER}, s", "times faster", "MB", f"{PEER}, MB")
    for heading in (*headings, *(f"{name}, s" for name in others)):
        table.add_column(heading, justify="left" if heading in ("shape", "step", "table") else "right", no_wrap=True)
    for one in found:
        peaks = ("" if peak is None else f"{peak:,.0f}" for peak in (one.peak_mb, one.peer_peak_mb))
        times = f"{one.seconds:.3f}", f"{one.peer_seconds:.3f}", f"{one.ratio:.2f} x"
        rest = (f"{one.others[name]:.3f}" if name in one.others else "" for name in others)
        table.add_row(one.shape, one.step, one.kind.replace("_", "-").lower(), *times, *peaks, *rest)
    console.print(table)


def _option(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, found {text!r}")
    return key, value


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the shapes and print what they took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--shape", nargs="*", choices=sorted(SHAPES), default=[one for one in SHAPES if one not in PUBLISHED]
    )
    parser.add_argument("--size", type=float, default=1.0, help="all numbers of rows times this (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts (%(default)s)")
    parser.add_argument("--with", nargs="*", choices=OTHERS, default=[], dest="others", help="further contenders")
    parser.add_argument("--kind", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--option", nargs="*", type=_option, default=[], help="of the tables, as KEY=VALUE")
    parser.add_argument("--memory", action="store_true", help=f"tables in {IN_MEMORY}, base files with {ZSTD}")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.peak_of is not None:
        given = json.loads(asked.peak_of)
        print(json.dumps(peak_of(Contender(**given["contender"]), given["step"], Path(given["folder"]))), flush=True)
        os._exit(0)  # deltalake's threads may abort the process while the interpreter ends
    options = ({CODEC: ZSTD} if asked.memory else {}) | dict(asked.option)
    console, found = Console(width=None if sys.stdout.isatty() else _WIDTH), []
    for name in asked.shape:
        place = IN_MEMORY if asked.memory else None
        how = {"kinds": asked.kind, "others": asked.others, "rounds": asked.rounds, "options": options}
        rows = compare(name, asked.size, **how, place=place)
        show(rows, console)
        found += rows
    if asked.json is not None:
        asked.json.write_text(json.dumps([{**asdict(one), "ratio": one.ratio} for one in found], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
