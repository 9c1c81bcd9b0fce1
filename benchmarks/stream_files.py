"""Files that a stream of eight hours leaves, as plain files and in tables: ``python -m benchmarks.stream_files``.

480 batches of a minute, four tasks, hourly partitions; a tenth of the rows are up to half an hour late.  A file is full
at 1 MB.  A stream is fine if, after maintenance, it has at most 1.3 times as many files as full
ones hold its bytes, partition by partition; else the command ends with 1.  Nothing is measured but files.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import hudiformat as hf
from benchmarks.file_sink import BATCHES, COMMIT, MINUTE, SCHEMA, TASKS, batch_rows, watermark
from hudiformat.sink import FileSink, TaskWriter, parse_sink_options
from hudiformat.storage.local import LocalStorage

FULL = 1_000_000
MOST = 1.3
ROWS = 200
TABLE = {
    "hoodie.parquet.max.file.size": str(FULL),
    "hoodie.copyonwrite.record.size.estimate": "230",
    "hoodie.clustering.plan.strategy.target.file.max.bytes": str(FULL),
    "hoodie.metadata.enable": "false",
    "hudiformat.sync": "false",
}
FILLED = {"hoodie.parquet.small.file.limit": str(FULL * 100 // 120)}  # Hudi's proportion
CLUSTERED = {
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "30",
    "hoodie.clustering.plan.strategy.small.file.limit": str(FULL * 9 // 10),
    "hoodie.clustering.plan.strategy.max.num.groups": "100",
}
Batches = Callable[[int], list[pa.RecordBatch]]
"""Returns the rows of each task of a batch."""


@dataclass(frozen=True, slots=True)
class Course:
    """The files that readers see: their number after each batch, and at last the sizes in bytes by partition."""

    numbers: tuple[int, ...]
    sizes: Mapping[str, Sequence[int]]

    @property
    def files(self) -> int:
        """The number of files after maintenance."""
        return sum(map(len, self.sizes.values()))

    @property
    def ideal(self) -> int:
        """The number of full files that hold the bytes of each partition."""
        return sum(math.ceil(sum(sizes) / FULL) for sizes in self.sizes.values())


def rows_of(seed: int, rows: int) -> Batches:
    """Return the same rows for every run: ids that differ, and about *rows* of them for a task in a batch."""

    def tasks(batch: int) -> list[pa.RecordBatch]:
        chance = np.random.default_rng([seed, batch])
        found = []
        for task in range(TASKS):
            data = batch_rows(batch, int(chance.integers(rows // 4, rows * 2)), chance)
            ids = pa.array(np.arange(data.num_rows) + ((batch * TASKS + task) << 20))
            found.append(data.set_column(0, SCHEMA.field(0), ids))
        return found

    return tasks


def stream_to_sink(folder: Path, options: Mapping[str, str], data: Batches, *, batches: int) -> Course:
    """Write the stream with the file sink; the clock is that of the stream."""
    storage, parsed, now = LocalStorage(folder), parse_sink_options(options), [0]
    sink = FileSink(storage, parsed, clock=lambda: now[0])
    numbers = []
    for batch in range(batches):
        now[0] = (batch + 1) * MINUTE
        messages = []
        for task, rows in enumerate(data(batch)):
            with TaskWriter(
                storage, SCHEMA, batch=batch, task=task, tasks=TASKS, partition_by=["hour"], options=parsed
            ) as writer:
                writer.write(rows)
                messages.append(writer.finish(watermark(batch)))
        sink.commit(messages)
        numbers.append(sum(map(len, _visible(folder).values())))
    sink.end()
    return Course(tuple(numbers), _visible(folder))


def _visible(folder: Path) -> dict[str, list[int]]:
    return {
        part.name: [path.stat().st_size for path in part.glob("[!._]*.parquet")]
        for part in sorted(folder.glob("hour=*"))
    }


def stream_to_table(folder: Path, options: Mapping[str, str], data: Batches, *, batches: int) -> Course:
    """Write the stream into a copy-on-write table, a commit for each batch; cluster at the end if options say so."""
    table = hf.create_table(
        folder,
        name="stream",
        schema=SCHEMA,
        record_key=["id"],
        partition_by=["hour"],
        table_type="COPY_ON_WRITE",
        options={**TABLE, **options},
    )
    numbers, rows = [], 0
    for batch in range(batches):
        own = pa.Table.from_batches(data(batch))
        table.insert(own)
        rows += own.num_rows
        numbers.append(len(table.file_slices()))
    if "hoodie.clustering.inline" in options:
        table.cluster()
    if table.snapshot(columns=["id"]).num_rows != rows:
        raise AssertionError("the table has other rows than went in")
    sizes: dict[str, list[int]] = {}
    for group in table.file_slices():
        sizes.setdefault(group.partition_path, []).append(group.size)
    return Course(tuple(numbers), sizes)


Stream = Callable[..., Course]
MERGED = {"sink.partition-commit.policy.kind": "merge,success-file", "hudiformat.sink.merge.wait": "30 min"}
SINK = {**COMMIT, "compaction.file-size": f"{FULL} b"}
VARIANTS: dict[str, tuple[Stream, dict[str, str], bool]] = {
    "sink, as written": (stream_to_sink, SINK, False),
    "sink, merged in batches": (stream_to_sink, {**SINK, "auto-compaction": "true"}, False),
    "sink, policy merge": (stream_to_sink, {**SINK, **MERGED}, True),
    "table, Spark's sizing": (stream_to_table, FILLED, True),
    "table, Flink's sizing": (stream_to_table, {**FILLED, "hudiformat.sizing": "flink"}, True),
    "table, Spark's, clustered": (stream_to_table, CLUSTERED, True),
    "table, Flink's, clustered": (stream_to_table, {**CLUSTERED, "hudiformat.sizing": "flink"}, True),
}
"""How the stream is written, with which options, and whether its files are to be few at the end."""


def show(found: Mapping[str, Course], console: Console) -> None:
    """Print a row for each variant."""
    table = Table(title=f"files after {len(next(iter(found.values())).numbers)} batches and maintenance")
    for heading in ("stream", "most", "files", "ideal", "ratio", "mean KB"):
        table.add_column(heading, justify="left" if heading == "stream" else "right", no_wrap=True)
    for name, course in found.items():
        mean = sum(map(sum, course.sizes.values())) / course.files / 1000
        ratio = f"{course.files / course.ideal:.2f} x"
        table.add_row(name, str(max(course.numbers)), str(course.files), str(course.ideal), ratio, f"{mean:.0f}")
    console.print(table)


def plot(found: Mapping[str, Course], path: Path) -> None:
    """Draw the number of files over time, a panel for plain files and one for tables."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4))
    for name, course in found.items():
        panel = panels[1 if name.startswith("table") else 0]
        hours = np.arange(1, len(course.numbers) + 2) / 60
        panel.plot(hours, [*course.numbers, course.files], label=f"{name}: {course.files}", linewidth=1.2)
    for panel, kind in zip(panels, ("sink", "table"), strict=True):
        ideal = max(course.ideal for name, course in found.items() if name.startswith(kind))
        panel.axhline(ideal, color="gray", linestyle="--", linewidth=0.8, label=f"full files: {ideal}")
        panel.set_xlabel("hours")
        panel.legend(fontsize=8)
    panels[0].set_yscale("log")
    panels[0].set_ylabel("files that readers see")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the stream in each variant and print the table; 1 if a variant leaves too many files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--batches", type=int, default=BATCHES, help="of a minute each (%(default)s)")
    parser.add_argument("--rows", type=int, default=ROWS, help="of a task in a batch, about (%(default)s)")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="only this one (may be repeated)")
    parser.add_argument("--plot", type=Path, help="also draw the numbers, to this file (needs matplotlib)")
    asked = parser.parse_args(arguments)
    found, too_many = {}, []
    for name in asked.variant or VARIANTS:
        stream, options, has_limit = VARIANTS[name]
        with tempfile.TemporaryDirectory(prefix="hudiformat-stream-") as folder:
            found[name] = stream(Path(folder) / "out", options, rows_of(7, asked.rows), batches=asked.batches)
        if has_limit and found[name].files > max(found[name].ideal * MOST, found[name].ideal + 1):
            too_many.append(name)
    show(found, Console())
    if asked.plot:
        plot(found, asked.plot)
    for name in too_many:
        print(f"{name}: expected at most {MOST} x {found[name].ideal} files, found {found[name].files}")
    return bool(too_many)


if __name__ == "__main__":
    raise SystemExit(main())
