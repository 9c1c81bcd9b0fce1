"""File groups that many small inserts leave, with and without small files: ``python -m benchmarks.small_files``.

A month of flights out of New York comes in 300 batches of some 90 rows, a commit each.  File sizes are scaled down:
a file is full at 128 KB, and small below 118 KB.  By the proportion of Hudi's defaults it would be small below 107 KB,
and 1.2 times as many files as full ones the best that can be reached: none would grow beyond that.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

import hudiformat as hf
from examples.flights.source import read_flights

BATCHES = 300
FULL = 128_000
KEY = ["year", "month", "day", "carrier", "flight", "origin"]
SIZED = {
    "hoodie.parquet.max.file.size": str(FULL),
    "hoodie.parquet.small.file.limit": str(FULL * 92 // 100),
    "hoodie.copyonwrite.record.size.estimate": "40",
}
PLAIN = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hudiformat.sync": "false",
}


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to insert: the table's type and the options of its writer."""

    table_type: str
    options: Mapping[str, str]


VARIANTS = {
    "without": Variant("COPY_ON_WRITE", {**SIZED, "hoodie.parquet.small.file.limit": "0"}),
    "Spark's way, copy-on-write": Variant("COPY_ON_WRITE", SIZED),
    "Spark's way, merge-on-read": Variant("MERGE_ON_READ", SIZED),
    "Flink's way, copy-on-write": Variant("COPY_ON_WRITE", {**SIZED, "hudiformat.sizing": "flink"}),
}


def flights(month: int) -> pa.Table:
    """The flights of one month, in the order of their days."""
    table = read_flights()
    rows = table.filter(pc.field("month") == month).sort_by([(name, "ascending") for name in ("day", "sched_dep_time")])
    kept = rows.drop_columns([name for name in rows.column_names if pc.all(rows[name].is_null()).as_py()])
    return kept.combine_chunks()


def insert_batches(folder: Path, variant: Variant, rows: pa.Table, *, batches: int) -> list[list[int]]:
    """Insert *rows* into a new table in *folder*; the bytes of each file group after each commit."""
    table = _new_table(folder, variant, rows)
    sizes = []
    for number in range(batches):
        start, stop = (rows.num_rows * part // batches for part in (number, number + 1))
        table.insert(rows.slice(start, stop - start))
        sizes.append([group.size for group in table.file_slices()])
    if table.snapshot(columns=KEY).num_rows != rows.num_rows:
        raise AssertionError("the table has other rows than went in")
    return sizes


def _new_table(folder: Path, variant: Variant, rows: pa.Table) -> hf.Table:
    options = {**PLAIN, **variant.options}
    return hf.create_table(
        folder, name="flights", schema=rows.schema, record_key=KEY, table_type=variant.table_type, options=options
    )


def ideal_groups(folder: Path, rows: pa.Table) -> int:
    """How many full files hold *rows*: what a single bulk insert, which fills each file, has written."""
    table = _new_table(folder, Variant("COPY_ON_WRITE", SIZED), rows)
    return math.ceil(sum(stat.file_size_in_bytes for stat in table.bulk_insert(rows).stats) / FULL)


def show(found: Mapping[str, list[list[int]]], ideal: int, console: Console) -> None:
    """Print a row for each variant."""
    table = Table(
        title=f"file groups after {len(next(iter(found.values())))} inserts; {ideal} full files hold the rows"
    )
    for heading in ("small files", "file groups", "of ideal", "mean KB", "largest"):
        table.add_column(heading, justify="left" if heading == "small files" else "right", no_wrap=True)
    for name, commits in found.items():
        last = commits[-1]
        figures = (len(last), len(last) / ideal, sum(last) / len(last) / 1000, max(last) / 1000)
        table.add_row(name, str(figures[0]), f"{figures[1]:.2f} x", *(f"{figure:.0f}" for figure in figures[2:]))
    console.print(table)


def plot(found: Mapping[str, list[list[int]]], path: Path) -> None:
    """Draw the size of every file after every commit, a panel for each variant."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(found), figsize=(3 * len(found), 3.2), sharey=True)
    for panel, (name, commits) in zip(panels, found.items(), strict=True):
        points = [(number, size / 1000) for number, sizes in enumerate(commits, 1) for size in sizes]
        panel.scatter(*zip(*points, strict=True), s=1, linewidths=0, rasterized=True)
        panel.axhline(FULL / 1000, linewidth=0.8, color="gray", linestyle="--")
        panel.set_title(f"{name}: {len(commits[-1])}", fontsize=9)
        panel.set_xlabel("commits")
    panels[0].set_ylabel("KB of each file group")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Insert the month in each way and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--batches", type=int, default=BATCHES, help="commits (%(default)s)")
    parser.add_argument("--month", type=int, default=1, choices=range(1, 13), metavar="N", help="of 2013 (%(default)s)")
    parser.add_argument("--limit", type=int, help="only so many rows of the month")
    parser.add_argument("--plot", type=Path, help="also draw the sizes, to this file (needs matplotlib)")
    asked = parser.parse_args(arguments)
    rows = flights(asked.month).slice(0, asked.limit)
    with tempfile.TemporaryDirectory(prefix="hudiformat-small-files-") as name:
        folder = Path(name)
        ideal = ideal_groups(folder / "ideal", rows)
        found = {
            way: insert_batches(folder / str(number), variant, rows, batches=asked.batches)
            for number, (way, variant) in enumerate(VARIANTS.items())
        }
    show(found, ideal, Console())
    if asked.plot:
        plot(found, asked.plot)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
