"""``hudiformat simulate``: a workload played forward; settings compared, or varied over a grid."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hudiformat.api.reading import context_of
from hudiformat.api.simulate import simulate as simulate_empty
from hudiformat.api.table import open_table
from hudiformat.cli.printing import Column, Table, print_json, print_line, progress_bar
from hudiformat.cli.source import json_option, key_and_value, refuse_options
from hudiformat.errors import ArgumentError, StorageError, UnsupportedFeatureError
from hudiformat.numbers import count_text, size_text
from hudiformat.report.page import write_page
from hudiformat.report.simulated import page_of_simulations
from hudiformat.simulation.from_table import workload_from
from hudiformat.simulation.result import Simulation
from hudiformat.simulation.settings import Engine, Writing
from hudiformat.simulation.simulating import Point, choices, mark_best
from hudiformat.simulation.workload import Workload, workload_of
from hudiformat.timeline.table_config import TableType

_EPILOG = """\b
Examples:
  hudiformat simulate -w commits=10000 -w rows=5000 -w row_bytes=200
  hudiformat simulate -w updates=0.4 -w partitions.count=20 --table-type MERGE_ON_READ \\
      --vary hoodie.parquet.small.file.limit=0,50MB,100MB -o page.html
  hudiformat simulate --engine files --tasks 8 --vary auto-compaction=false,true
  hudiformat simulate TABLE --commits 5000 --compare a.properties --compare b.properties

\b
Parts of a workload (-w NAME=VALUE):
  commits, rows (of a commit), interval (seconds), row_bytes, log_row_bytes, file_bytes, block_bytes,
  updated_row_bytes, row_growth, updates, deletes (shares), update_spread (uniform, zipf, newest), update_skew,
  growth, curve (24 factors), burst_every, burst, trace (rows of each commit), partitions.count,
  partitions.spread (even, zipf, day), partitions.skew, partitions.late (a share), partitions.late_days
"""
_NUMBERS = (
    ("file groups", "file_groups", count_text),
    ("small", "small_file_groups", count_text),
    ("log files", "log_files", count_text),
    ("median file", "base_file_p50", size_text),
    ("written", "written_bytes", size_text),
)
_FACTORS = (("per byte", "write_amplification"), ("files read", "read_file_amplification"))
_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path(), required=False)
@click.option("-w", "--workload", "parts", metavar="NAME=VALUE", multiple=True, help="A part of the workload.")
@click.option(
    "--trace", metavar="FILE", type=click.Path(), help="A CSV file: the first number of a line is a commit's rows."
)
@click.option("--commits", type=click.IntRange(1), help="How many commits; -w commits=N is the same.")
@click.option(
    "--engine",
    type=click.Choice([one.value for one in Engine]),
    default=Engine.HUDIFORMAT.value,
    show_default=True,
    help="Whose writer is played.",
)
@click.option(
    "--table-type",
    type=click.Choice([one.value for one in TableType]),
    default=TableType.COPY_ON_WRITE.value,
    show_default=True,
    help="The type of the table, if none is given.",
)
@click.option(
    "--writing",
    type=click.Choice([one.value for one in Writing]),
    default=Writing.UPSERT.value,
    show_default=True,
    help="How new rows are written.",
)
@click.option(
    "--tasks",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Tasks of Flink, the file sink or a bulk insert.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same result.")
@click.option(
    "--option", "options", metavar="KEY=VALUE", multiple=True, help="One of Hudi's keys; of the file sink, Flink's."
)
@click.option(
    "--compare", metavar="FILE", type=click.Path(), multiple=True, help="A properties file of Hudi's keys; repeat it."
)
@click.option(
    "--vary",
    metavar="KEY=V1,V2",
    multiple=True,
    help="Values of one of Hudi's keys; sizes may have the units KB, MB, GB, of 1,024.",
)
@click.option(
    "-o", "--output", metavar="FILE", callback=refuse_options, help="Write a page with curves of all results."
)
@click.option("--force", is_flag=True, help="Replace a page that is there.")
@json_option
def simulate(
    table: str | None,
    *,
    parts: Sequence[str],
    trace: str | None,
    commits: int | None,
    engine: str,
    table_type: str,
    writing: str,
    tasks: int,
    seed: int,
    options: Sequence[str],
    compare: Sequence[str],
    vary: Sequence[str],
    output: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Play a workload forward by the rules of Hudi's writers, without rows, and say what files it leaves.

    It begins with an empty table, or with the file groups of TABLE, whose history then says what comes, but for the
    parts that -w names.  Nothing is written but the page.  With several settings, the results that are best in bytes
    written and files read are marked by *.
    """
    if output is not None and not force and Path(output).exists():
        raise StorageError(f"{output} exists: --force replaces it, -o names another file", path=output)
    known = dict(key_and_value(one, of="--option") for one in options)
    workload = _workload(parts, trace, commits, table, known)
    settings: dict[str, Any] = {"engine": engine, "writing": writing, "tasks": tasks, "seed": seed}

    def run(keys: Mapping[str, str]) -> Simulation:
        if table is None:
            return simulate_empty(workload or Workload(), options=keys, table_type=table_type, **settings)
        return open_table(table).simulate(workload, commits=commits or 1000, options=keys, **settings)

    chosen = list(_chosen(compare, vary))
    points = []
    with _counted(len(chosen)) as done:
        for number, (name, more) in enumerate(chosen):
            points.append(Point({"settings": name} if name else more, run({**known, **more})))
            done(number + 1)
    points = mark_best(points) if len(points) > 1 else points
    if output is not None:
        write_page(page_of_simulations(points), output, overwrite=force)
    for point in points:
        if as_json:
            print_json({"settings": dict(point.chosen), "is_best": point.is_best, **point.simulation.as_json()})
    if not as_json:
        _print(points)
        if output is not None:
            print_line(f"written: {output}")
    return 0


def _workload(
    parts: Sequence[str], trace: str | None, commits: int | None, table: str | None, options: Mapping[str, str]
) -> Workload | None:
    """Return the workload that is asked for; None if it is that of the *table*, whose parts it has otherwise.

    Raises:
        ArgumentError: there is no such part, or it has a bad value, or a table is to have other partitions.
    """
    given = dict(key_and_value(one, of="-w") for one in parts)
    if trace is not None:
        given["trace"] = ",".join(_read_trace(trace))
    if table is not None and not given:
        return None
    if commits is not None:
        given["commits"] = str(commits)
    if table is None:
        return workload_of(given)
    if other := [name for name in given if name.startswith("partitions.")]:
        raise ArgumentError(
            f"{other[0]}: expected no partitions with a table, as its new rows go to its own; leave it out",
            argument=other[0],
        )
    own = {key: value for key, value in options.items() if not key.startswith("write.")}  # without Flink's buffers
    try:
        known = workload_from(context_of(open_table(table, options=own)).state(), commits=1000)
    except UnsupportedFeatureError:  # no commit says what comes to the table
        known = Workload()
    return workload_of(given, known)


def _read_trace(path: str) -> list[str]:
    """Return the first number of each line of a CSV file; a first line without numbers is a header.

    Raises:
        ArgumentError: a line has no number.
        StorageError: the file cannot be read.
    """
    found: list[str] = []
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.reader(file)):
                values = [value.strip() for value in row if value.strip().isdigit()]
                if values:
                    found.append(values[0])
                elif number and any(row):
                    raise ArgumentError(f"{path}, line {number + 1}: expected a number of rows", argument="trace")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"{path}: cannot be read: {error}", path=path) from error
    return found


def _chosen(compare: Sequence[str], vary: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the settings to play, each with its name, which is empty for a point of a grid."""
    varied = {}
    for one in vary:
        key, values = key_and_value(one, of="--vary")
        varied[key] = [_with_unit(value.strip()) for value in values.split(",")]
    grid = list(choices(varied))
    if not compare:
        yield from (("", point) for point in grid)
    for path in compare:
        own = _read_properties(path)
        for point in grid:
            name = ", ".join([Path(path).name, *(f"{key}={value}" for key, value in point.items())])
            yield name, {**own, **point}


def _with_unit(value: str) -> str:
    unit = value[-2:].upper()
    if unit in _UNITS and value[:-2].strip().isdigit():
        return str(int(value[:-2]) * _UNITS[unit])
    return value


def _read_properties(path: str) -> dict[str, str]:
    """Return the keys of a properties file.

    Raises:
        StorageError: it cannot be read.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"{path}: cannot be read: {error}", path=path) from error
    lines = (line.strip() for line in text.splitlines())
    return dict(key_and_value(line, of=path) for line in lines if line and not line.startswith(("#", "!")))


@contextmanager
def _counted(count: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of results so far; a bar is shown for several, on a terminal."""
    if count == 1:
        yield lambda _: None
        return
    scale = 1 << 30  # a bar is for bytes, and shown for many
    with progress_bar("simulating", count * scale) as done:
        yield lambda number: done(number * scale)


def _print(points: Sequence[Point]) -> None:
    if len(points) == 1 and not points[0].chosen:
        _print_one(points[0].simulation)
        return
    columns = [Column(title, 12, right=True) for title, *_ in (*_NUMBERS, *_FACTORS)]
    rows = Table(Column("", 1), *columns, Column("settings"))
    for point in points:
        summary = point.simulation.summary
        cells = [as_text(int(summary[name])) for _, name, as_text in _NUMBERS]
        cells += [f"{summary[name]:.1f}" for _, name in _FACTORS]
        said = ", ".join(value if key == "settings" else f"{key}={value}" for key, value in point.chosen.items())
        rows.row("*" if point.is_best else "", *cells, said)


def _print_one(simulation: Simulation) -> None:
    for name, value in simulation.summary.items():
        text = size_text(int(value)) if "bytes" in name or "base_file_p" in name else ""
        number = f"{value:.2f}" if isinstance(value, float) else count_text(value)
        print_line(f"{name.replace('_', ' ')}: {text or number}")
