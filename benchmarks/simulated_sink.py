"""Hold the simulated file sink to the real one: cases of ``python -m benchmarks.simulated``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import hudiformat as hf
from hudiformat.simulation.result import Simulation
from hudiformat.sink import FileSink, TaskWriter, parse_sink_options
from hudiformat.storage.opening import open_storage

_SCHEMA = pa.schema([("text", pa.string()), ("number", pa.int64()), ("p", pa.string())])
_WIDTH = 60
_TASKS = 3
_AT_ONCE = 10_000  # rows, as Spark hands them over


@dataclass(frozen=True)
class SinkCase:
    """Batches of the file sink with options of Flink's."""

    workload: hf.Workload
    options: dict[str, str] = field(default_factory=dict)

    def play(self, load: hf.Workload) -> Simulation:
        """Return the simulation of *load*."""
        return hf.simulate(load, engine="files", options=self.options, tasks=_TASKS)


_BATCHES = hf.Workload(commits=60, rows=20_000, partitions=hf.Partitions(count=3, spread="zipf"))
SINK_CASES = {
    "file sink": SinkCase(replace(_BATCHES, commits=12, rows=200_000), {"sink.rolling-policy.file-size": "1mb"}),
    "file sink, merged in batches": SinkCase(_BATCHES, {"auto-compaction": "true"}),
    "file sink, merged by partition": SinkCase(
        _BATCHES,
        {
            "sink.partition-commit.policy.kind": "merge,success-file",
            "sink.partition-commit.delay": "20 min",
            "compaction.file-size": "3mb",
        },
    ),
}


def calibrated_sink(case: SinkCase, folder: Path) -> hf.Workload:
    """Return the workload of a case with the bytes of a row and of an empty file, from two files."""
    small, large = (
        write_sink(SinkCase(replace(case.workload, commits=1, rows=3 * count)), folder / str(count), one=True)[0][0]
        for count in (1000, 4000)
    )
    row_bytes = (large - small) / 3000
    return replace(case.workload, row_bytes=row_bytes, file_bytes=round(small - 1000 * row_bytes))


def write_sink(case: SinkCase, folder: Path, *, one: bool = False) -> tuple[list[int], int]:
    """Write the batches of a case; return the bytes of the visible files, sorted, and the bytes written.

    With *one*, all rows are of one partition.
    """
    load, options, storage = case.workload, parse_sink_options(case.options), open_storage(str(folder))
    now, random, written = [0], np.random.default_rng(7), 0
    sink = FileSink(storage, options, clock=lambda: now[0])
    for batch, rows in enumerate(load.rows_by_commit().tolist()):
        now[0] = round(batch * load.interval * 1000)
        messages = []
        for task in range(_TASKS):
            count = (task + 1) * rows // _TASKS - task * rows // _TASKS
            writer = TaskWriter(
                storage,
                _SCHEMA,
                task=task,
                batch=batch,
                tasks=_TASKS,
                partition_by="p",
                options=options,
                clock=lambda: now[0],
            )
            homes = np.zeros(count, int) if one else random.choice(3, count, p=load.partitions.shares())
            letters = random.integers(97, 123, count * _WIDTH, dtype=np.uint8).tobytes().decode()
            texts = [letters[at * _WIDTH : (at + 1) * _WIDTH] for at in range(count)]
            numbers = random.integers(0, 1 << 40, count)
            arrived = pa.record_batch([texts, numbers, [f"d{home}" for home in homes.tolist()]], schema=_SCHEMA)
            for first in range(0, count, _AT_ONCE):
                writer.write(arrived.slice(first, _AT_ONCE))
            messages.append(writer.finish())
        written += sum(file.size for message in messages for file in message.files)
        for message in messages:
            sink.report(message)
    sizes = sorted(path.stat().st_size for path in folder.rglob("*.parquet") if not path.name.startswith("."))
    merged = sum(path.stat().st_size for path in folder.rglob("compacted-part-*.parquet"))
    return sizes, written + merged
