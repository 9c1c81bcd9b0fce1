"""Small upserts into a large table by several indexes, what keeping indexes up costs, and a point query.

    python -m benchmarks.indexes upserts FOLDER INDEX ROUNDS
    python -m benchmarks.indexes cost FOLDER ROWS ROUNDS

FOLDER is what :func:`prepare` has made.  Each runs in a process of its own, with one of Arrow's threads, so that memory
can be told.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import hudiformat as hf
from benchmarks.spark_job import KEY, ORDERING, PARTITION, SUMMED
from benchmarks.timing import peak_mb
from hudiformat.storage.local import LocalStorage
from tests.requests import RecordingStorage

TABLE, BATCH = "table", "batch-{}.parquet"
UPSERTED = 1_000
"""Rows of each upsert."""

INDEXES = ("RECORD_INDEX", "SIMPLE", "BLOOM")
INDEXED = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
DEFAULTS = {"hoodie.metadata.enable": "true"}
"""What Hudi keeps up by default: ``files``, ``column_stats`` and ``partition_stats``."""

POINT_FILES = 200
_PARTITIONS = 4
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SCHEMA = pa.schema(
    [
        pa.field(KEY, pa.string()),
        pa.field(ORDERING, pa.int64()),
        pa.field(PARTITION, pa.string()),
        pa.field(SUMMED, pa.int32()),
        *(pa.field(f"number_{n}", pa.float64()) for n in range(3)),
        *(pa.field(f"text_{n}", pa.string()) for n in range(3)),
    ]
)

Found = dict[str, float]
"""``seconds`` and ``cpu_seconds`` of the best round, and ``peak_mb`` above the interpreter and its libraries."""


def rows_of(numbers: np.ndarray, ordering: int, *, partitions: int = _PARTITIONS) -> pa.Table:
    """Rows with these numbers: keys in no order, as of hashes, and cells that follow from number and *ordering*."""
    spread = numbers.astype(np.uint64) * _FACTOR  # an odd factor: all differ
    words = (numbers + ordering).astype(np.uint64) * _FACTOR
    keys = np.frombuffer(spread.astype(">u8").tobytes().hex().encode(), "S16")
    columns = {
        KEY: pa.array(keys).cast(pa.string()),
        ORDERING: pa.array(np.full(len(numbers), ordering)),
        PARTITION: pa.array([f"part-{n}" for n in range(partitions)]).take(pa.array(numbers % partitions)),
        SUMMED: pa.array((words >> np.uint64(40)).astype(np.int32)),
        **{f"number_{n}": pa.array((words >> np.uint64(11 + n)).astype(np.float64)) for n in range(3)},
        **{
            f"text_{n}": pc.cast(pa.array((words >> np.uint64(44 + n)).astype(np.int64)), pa.string()) for n in range(3)
        },
    }
    return pa.table(columns, schema=_SCHEMA)


def create(path: Path, options: Mapping[str, str]) -> None:
    """A merge-on-read table for rows of :func:`rows_of`."""
    hf.create_table(
        path,
        name="rows",
        schema=_SCHEMA,
        record_key=[KEY],
        ordering=[ORDERING],
        partition_by=[PARTITION],
        options=dict(options),
    )


def prepare(folder: Path, count: int, rounds: int) -> None:
    """A table of *count* rows, made by a bulk insert, with all indexes; and batches of rows that it has, to upsert."""
    create(folder / TABLE, INDEXED)
    hf.open_table(folder / TABLE, options=INDEXED).bulk_insert(rows_of(np.arange(count), 1))
    random = np.random.default_rng(7)
    for number in range(rounds + 1):
        chosen = random.choice(count, min(UPSERTED, count), replace=False)
        batch = rows_of(chosen, number + 2)
        pq.write_table(batch, folder / BATCH.format(number), store_schema=False)


def upserts(folder: Path, index: str, rounds: int) -> Found:
    """Upserts by *index*, after one that does not count, into a copy of the table."""
    path = folder / f"copy-{index}"
    shutil.copytree(folder / TABLE, path)
    batches = [pq.read_table(folder / BATCH.format(number)) for number in range(rounds + 1)]
    taken: list[tuple[float, float]] = []

    def all_rounds() -> None:
        for batch in batches:
            start, computed = time.perf_counter(), time.process_time()
            commit = hf.open_table(path, options={"hoodie.index.type": index}).upsert(batch)
            taken.append((time.perf_counter() - start, time.process_time() - computed))
            if sum(stat.num_inserts for stat in commit.stats):
                raise AssertionError("a key was not found")

    megabytes = peak_mb(all_rounds)
    shutil.rmtree(path)
    seconds, cpu = (min(column) for column in zip(*taken[1:], strict=True))
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": megabytes or 0.0}


def cost(folder: Path, count: int, rounds: int) -> dict[str, float]:
    """What writing takes with Hudi's default indexes, in per cent more than without, and the most MB above that.

    A bulk insert of *count* rows, upserts of a tenth of them, and of :data:`UPSERTED`: each write goes to a table with
    indexes, and to one without, in turn.  All rounds count, because a compaction of the metadata table is in some.
    """
    found = {}
    random = np.random.default_rng(7)
    tables = {name: folder / f"cost-{name}" for name in ("off", "on")}
    for name, path in tables.items():
        shutil.rmtree(path, ignore_errors=True)
        create(path, DEFAULTS if name == "on" else {})
    opened = {name: hf.open_table(path) for name, path in tables.items()}
    works: list[tuple[str, str, Iterator[pa.Table]]] = [
        (f"bulk insert of {count:,}", "bulk_insert", iter([rows_of(np.arange(count), 1)])),
        (f"upsert of {count // 10:,}", "upsert", _chosen(random, count, count // 10, max(rounds // 4, 1))),
        (f"upsert of {UPSERTED:,}", "upsert", _chosen(random, count, min(UPSERTED, count), rounds)),
    ]
    for label, operation, batches in works:
        taken = dict.fromkeys(tables, 0.0)
        for batch in batches:
            for name, table in opened.items():
                start = time.perf_counter()
                getattr(table, operation)(batch)
                taken[name] += time.perf_counter() - start
        found[label] = 100 * (taken["on"] / taken["off"] - 1)
    return found


def _chosen(random: np.random.Generator, count: int, size: int, rounds: int) -> Iterator[pa.Table]:
    for number in range(rounds):
        yield rows_of(random.choice(count, size, replace=False), number + 2)


def point_query(folder: Path) -> tuple[int, float]:
    """How many of a table's 200 files, one in each partition, a query by key opens, and its seconds."""
    path = folder / "point"
    create(path, {**INDEXED, "hoodie.index.type": "RECORD_INDEX"})
    rows = rows_of(np.arange(POINT_FILES * 100), 1, partitions=POINT_FILES)
    hf.open_table(path).bulk_insert(rows)
    storage = RecordingStorage(LocalStorage(path))
    asked = hf.open_table(storage)
    wanted = rows[KEY][POINT_FILES * 50]
    storage.clear()
    start = time.perf_counter()
    found = asked.snapshot(filter=pc.field(KEY) == wanted)
    seconds = time.perf_counter() - start
    if found.num_rows != 1:
        raise AssertionError("the key was not found")
    return len({one.path for one in storage.requests if one.is_of_data and one.kind != "list"}), seconds


def apart(*words: object) -> dict[str, float]:
    """What this module, run with *words*, prints."""
    command = [sys.executable, "-m", "benchmarks.indexes", *map(str, words)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=3_600)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


def main(what: str, folder: str, of: str, rounds: str) -> dict[str, float]:
    """One of the measurements that run in processes of their own."""
    pa.set_cpu_count(1)
    if what == "cost":
        return cost(Path(folder), int(of), int(rounds))
    return upserts(Path(folder), of, int(rounds))


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
