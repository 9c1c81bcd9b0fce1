"""Files per partition that a stream leaves, with and without compaction: ``python -m benchmarks.file_sink``.

Eight hours in batches of a minute, four tasks whose shares differ; a partition is an hour.  A tenth of the rows are
up to half an hour late.  Nothing is measured but files, so the stream runs as fast as it can.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from hudiformat.sink import FileSink, SinkOptions, TaskWriter, parse_sink_options
from hudiformat.storage.local import LocalStorage

BATCHES = 8 * 60
TASKS = 4
START = datetime(2024, 5, 6, 8)
SCHEMA = pa.schema([("id", pa.int64()), ("hour", pa.string()), ("payload", pa.binary())])
PAYLOAD = 200  # bytes, which do not compress
LATE = 0.1
MINUTE = 60_000
COMMIT = {
    "sink.partition-commit.trigger": "partition-time",
    "sink.partition-commit.delay": "1 h",
    "sink.partition-commit.policy.kind": "success-file",
    "partition.time-extractor.timestamp-formatter": "yyyyMMddHH",
}
VARIANTS = {
    "as written": {},
    "next-fit": {"auto-compaction": "true"},
    "first-fit": {"auto-compaction": "true", "hudiformat.sink.packing": "first-fit"},
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stream has left: sizes in bytes by partition, and how often each partition was committed."""

    sizes: dict[str, list[int]]
    commits: Counter[str]


def run_stream(folder: Path, options: SinkOptions, *, batches: int, rows: int) -> Outcome:
    """Run a stream of about *rows* rows per task and batch into *folder*."""
    storage = LocalStorage(folder)
    sink = FileSink(storage, options)
    commits: Counter[str] = Counter()
    chance = np.random.default_rng(7)
    for batch in range(batches):
        messages = []
        for task in range(TASKS):
            with TaskWriter(
                storage, SCHEMA, batch=batch, task=task, tasks=TASKS, partition_by=["hour"], options=options
            ) as writer:
                writer.write(batch_rows(batch, int(chance.integers(rows // 4, rows * 2)), chance))
                messages.append(writer.finish(watermark(batch)))
        commit = sink.commit(messages)
        commits.update(commit.partitions if commit else ())
    commits.update(sink.end())
    return Outcome({name: _sizes(storage, name) for name in sorted(commits)}, commits)


def batch_rows(batch: int, count: int, chance: np.random.Generator) -> pa.RecordBatch:
    """Return *count* rows of a batch's minute, some of them late."""
    late = np.where(chance.random(count) < LATE, chance.integers(0, 30, count), 0)
    hours = [f"{START + timedelta(minutes=batch - int(minutes)):%Y%m%d%H}" for minutes in late]
    noise = chance.bytes(count * PAYLOAD)
    payload = [noise[i * PAYLOAD : (i + 1) * PAYLOAD] for i in range(count)]
    return pa.RecordBatch.from_pydict({"id": range(count), "hour": hours, "payload": payload}, schema=SCHEMA)


def watermark(batch: int) -> int:
    """The end of the batch's minute, less a quarter of an hour: rows that are later come after their hour's commit."""
    return int((START - datetime(1970, 1, 1)).total_seconds()) * 1000 + (batch + 1 - 15) * MINUTE


def _sizes(storage: LocalStorage, partition: str) -> list[int]:
    return [entry.size for entry in storage.list(partition) if entry.name.endswith(".parquet")]


def show(outcomes: dict[str, Outcome], console: Console) -> None:
    """Print a row for each partition: how many files it has, their mean size in KiB, and its commits."""
    first = next(iter(outcomes.values()))
    table = Table(title="files and their mean size in KiB")
    for heading in ("partition", *outcomes, "commits"):
        table.add_column(heading, justify="right", no_wrap=True)
    for partition, commits in first.commits.items():
        table.add_row(partition, *(_cell(outcome.sizes[partition]) for outcome in outcomes.values()), str(commits))
    total = [_cell([size for sizes in outcome.sizes.values() for size in sizes]) for outcome in outcomes.values()]
    table.add_row("all", *total, str(sum(first.commits.values())))
    console.print(table)


def _cell(sizes: Sequence[int]) -> str:
    return f"{len(sizes)} x {sum(sizes) / len(sizes) / 1024:5.1f}"


def plot(outcomes: dict[str, Outcome], path: Path) -> None:
    """Draw the files of each partition as bars."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4))
    width = 0.8 / len(outcomes)
    for place, (name, outcome) in enumerate(outcomes.items()):
        at = np.arange(len(outcome.sizes)) + place * width
        axes.bar(at, [len(sizes) for sizes in outcome.sizes.values()], width, label=name)
    axes.set_xticks(np.arange(len(first := next(iter(outcomes.values())).sizes)) + 0.4 - width / 2)
    axes.set_xticklabels([name.removeprefix("hour=") for name in first], rotation=30)
    axes.set_ylabel("files")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the stream in each variant and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--batches", type=int, default=BATCHES, help="of a minute each (%(default)s)")
    parser.add_argument("--rows", type=int, default=200, help="of a task in a batch, about (%(default)s)")
    parser.add_argument("--target", default="100 kb", help="compaction.file-size (%(default)s)")
    parser.add_argument("--plot", type=Path, help="also draw the table, to this file (needs matplotlib)")
    asked = parser.parse_args(arguments)
    outcomes = {}
    for name, variant in VARIANTS.items():
        options = parse_sink_options({**COMMIT, "compaction.file-size": asked.target, **variant})
        with tempfile.TemporaryDirectory(prefix="hudiformat-sink-") as folder:
            outcomes[name] = run_stream(Path(folder), options, batches=asked.batches, rows=asked.rows)
    show(outcomes, Console())
    if asked.plot:
        plot(outcomes, asked.plot)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
