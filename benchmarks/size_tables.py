"""Tables of large sizes, see :mod:`benchmarks.size_cases`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa

import hudiformat as hf
from benchmarks import listing as large_listing
from benchmarks import slices
from benchmarks.size_work import Outcome, Work, expect, recorded
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.archive.archived import ArchivedInstant
from hudiformat.timeline.archive.history import add_history
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.timeline import Action, Instant, State

_SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("value", pa.float64()), ("part", pa.string())])
_MEGABYTE = 1 << 20
_ARCHIVED_PER_FILE = 1_000
_FILES_PER_PARTITION = 100
_BUCKETS = 1_000
_ROWS_PER_BUCKET = 20
_ALONE = {"hoodie.metadata.enable": "false"}
_LISTED = {"hoodie.metadata.enable": "true"}
_ROWS_PER_PARTITION = 10


def _rows(count: int, partitions: int, *, ordering: int = 1) -> pa.Table:
    numbers = np.arange(count)
    parts = pa.array([f"p{n:05d}" for n in range(partitions)]).take(pa.array(numbers % partitions))
    columns = [pa.array(numbers).cast(pa.string()), pa.array(np.full(count, ordering)), pa.array(numbers / 7), parts]
    return pa.table(columns, schema=_SCHEMA)


def build_empty(folder: Path, _size: int) -> None:
    """A table without rows."""
    hf.create_table(folder, name="sizes", schema=_SCHEMA, record_key="id", ordering="ts", partition_by="part")


def build_large_keys(folder: Path, _size: int) -> None:
    """A table without rows and without partitions."""
    hf.create_table(folder, name="sizes", schema=_SCHEMA, record_key="id", ordering="ts")


def large_keys(folder: Path, count: int) -> Mapping[str, Work]:
    """Rows whose record keys have a megabyte each, upserted twice, and read."""
    keys = [f"{number:04d}" + "k" * _MEGABYTE for number in range(count)]
    rows = _rows(count, 1).set_column(0, "id", pa.array(keys))

    def upsert(_outcome: Outcome) -> None:
        table = hf.open_table(folder, options=_ALONE)
        table.upsert(rows)
        table.upsert(rows.set_column(1, "ts", pa.array(np.full(count, 2))))

    def read(_outcome: Outcome) -> None:
        found = hf.open_table(folder, options=_ALONE).snapshot(columns=["ts"])
        expect(found["ts"].to_pylist(), [2] * count)

    return {"upsert": upsert, "read": read}


def build_log_files(folder: Path, count: int) -> None:
    """A file slice of a base file and that many log files of a hundred rows each."""
    slices.make_pieces(folder, count, files=True)


def log_files(folder: Path, count: int) -> Mapping[str, Work]:
    """Read the slice, merged."""

    def snapshot(outcome: Outcome) -> None:
        storage = recorded(folder)
        expect(hf.open_table(storage, options=_ALONE).snapshot().num_rows, count * slices.ROWS_PER_FILE)
        outcome.requests = len(storage.requests)

    return {"snapshot": snapshot}


def build_listing(folder: Path, files: int) -> None:
    """A table of which only one partition is there: the metadata table names a hundred files in each of the others."""
    large_listing.build_named(folder, files // _FILES_PER_PARTITION, _FILES_PER_PARTITION)


def listing(folder: Path, files: int) -> Mapping[str, Work]:
    """Read one partition, and list all."""

    def snapshot(outcome: Outcome) -> None:
        storage = recorded(folder)
        found = hf.open_table(storage, options=_LISTED).snapshot(filter=f"p = '{large_listing.REAL}'")
        expect(found.num_rows, large_listing.REAL_ROWS)
        outcome.requests = len(storage.requests)

    def list_all(outcome: Outcome) -> None:
        storage = recorded(folder)
        found = hf.open_table(storage, options=_LISTED).file_slices()
        expect(sum((one.base_file is not None) + len(one.log_files) for one in found), files + 1)
        outcome.requests = len(storage.requests)

    def rewrite(outcome: Outcome) -> None:
        outcome.bytes = large_listing.rewrite_named(files // _FILES_PER_PARTITION, _FILES_PER_PARTITION)

    return {"snapshot of one partition": snapshot, "list all": list_all, "rewrite the listing": rewrite}


def build_archived(folder: Path, count: int) -> None:
    """A table with rows whose archived timeline has that many delta commits, of two files each."""
    build_empty(folder, count)
    hf.open_table(folder, options=_ALONE).insert(_rows(1_000, 1))
    storage = LocalStorage(folder)
    config = load_table_config(storage)
    first = datetime(2020, 1, 1, tzinfo=timezone.utc)

    def named(number: int) -> str:
        return (first + timedelta(seconds=number)).strftime("%Y%m%d%H%M%S") + "000"

    for start in range(0, count, _ARCHIVED_PER_FILE):
        instants = [
            Instant(named(number), Action.DELTA_COMMIT, State.COMPLETED, completion_time=named(number)[:-3] + "500")
            for number in range(start, min(start + _ARCHIVED_PER_FILE, count))
        ]
        add_history(storage, config, [ArchivedInstant(one, CommitMetadata("UPSERT")) for one in instants])


def archived(folder: Path, _count: int) -> Mapping[str, Work]:
    """Open the table and read it; write to it until instants are archived."""
    hf.open_table(folder, options=_ALONE).snapshot()  # what a first snapshot imports is not measured

    def open_and_read(outcome: Outcome) -> None:
        storage = recorded(folder)
        expect(hf.open_table(storage, options=_ALONE).snapshot().num_rows, 1_000)
        outcome.requests = len(storage.requests)

    def commit(_outcome: Outcome) -> None:
        limits = {
            "hoodie.keep.min.commits": "2",
            "hoodie.keep.max.commits": "3",
            "hoodie.cleaner.commits.retained": "1",
        }
        table = hf.open_table(folder, options=_ALONE | limits)
        for number in range(4):
            table.upsert(_rows(10, 1, ordering=number + 2))

    return {"open and read": open_and_read, "commits that archive": commit}


def partitions(folder: Path, count: int) -> Mapping[str, Work]:
    """Ten rows into each partition, in one commit, and all of them read."""
    rows = _rows(count * _ROWS_PER_PARTITION, count)

    def upsert(outcome: Outcome) -> None:
        storage = recorded(folder)
        hf.open_table(storage, options=_ALONE).upsert(rows)
        outcome.requests = len(storage.requests)

    def snapshot(outcome: Outcome) -> None:
        storage = recorded(folder)
        expect(hf.open_table(storage, options=_ALONE).snapshot().num_rows, rows.num_rows)
        outcome.requests = len(storage.requests)

    return {"upsert": upsert, "snapshot": snapshot}


def build_buckets(folder: Path, files: int) -> None:
    """A table without rows, of a thousand buckets in each partition."""
    hf.create_table(
        folder, name="sizes", schema=_SCHEMA, record_key="id", ordering="ts", partition_by="part", options=_by(files)
    )


def buckets(folder: Path, files: int) -> Mapping[str, Work]:
    """One commit that writes a log file for each bucket; all files listed after it."""
    rows = _rows(files * _ROWS_PER_BUCKET, max(files // _BUCKETS, 1))

    def upsert(outcome: Outcome) -> None:
        storage = recorded(folder)
        commit = hf.open_table(storage, options=_ALONE | _by(files)).upsert(rows)
        expect(commit.num_writes, rows.num_rows)
        outcome.requests = len(storage.requests)
        [completed] = folder.glob(".hoodie/timeline/*_*.deltacommit")
        outcome.bytes = completed.stat().st_size

    def list_all(outcome: Outcome) -> None:
        storage = recorded(folder)
        expect(len(hf.open_table(storage, options=_ALONE).file_slices()), files)
        outcome.requests = len(storage.requests)

    return {"upsert": upsert, "list all": list_all}


def _by(files: int) -> dict[str, str]:
    return {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": str(min(files, _BUCKETS))}
