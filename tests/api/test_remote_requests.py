"""Operations do not ask a remote storage for one partition after the other: each request is a round trip.

What an operation asks for on its own thread is the same for 4 and for 10 partitions; all else is asked for by threads.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import Table, create_table, open_storage, open_table
from hudiformat.errors import StorageError, UnsupportedFeatureError
from tests.effort import sample
from tests.requests import RemoteStorage, nothing

pytestmark = [pytest.mark.unmeasured, pytest.mark.filterwarnings("ignore::hudiformat.errors.HudiFormatWarning")]

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int64())])
INDEXED = {"hoodie.metadata.enable": "true"}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "defaults": {},
    "BLOOM": {"hoodie.index.type": "BLOOM"},
    "GLOBAL_SIMPLE": {"hoodie.index.type": "GLOBAL_SIMPLE"},
    "BUCKET": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"},
    "RECORD_INDEX": {
        **INDEXED,
        "hoodie.index.type": "RECORD_INDEX",
        "hoodie.metadata.record.index.enable": "true",
    },
    "statistics": {**INDEXED, "hoodie.metadata.index.column.stats.enable": "true"},
    "change data": {"hoodie.table.cdc.enabled": "true"},
}
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")


def rows(partitions: int, prefix: str, ts: int) -> pa.Table:
    """Three rows in each partition."""
    numbers = range(3 * partitions)
    paths = [path(number % partitions) for number in numbers]
    return pa.table(
        {"k": [f"{prefix}{number}" for number in numbers], "ts": [ts] * len(numbers), "p": paths, "v": list(numbers)},
        schema=SCHEMA,
    )


def path(number: int) -> str:
    return f"p{number:04}"


def keys(partitions: int) -> pa.Table:
    return rows(partitions, "a", 5).select(["k", "p"])


OPERATIONS: Mapping[str, Callable[[Table, int], object]] = {
    "insert": lambda table, count: table.insert(rows(count, "c", 1)),
    "bulk_insert": lambda table, count: table.bulk_insert(rows(count, "c", 1)),
    "upsert": lambda table, count: table.upsert(rows(count, "a", 5)),
    "delete": lambda table, count: table.delete(keys(count)),
    "delete by a condition": lambda table, _: table.delete(where="v = 3 or v > 5"),
    "update": lambda table, _: table.update({"v": 7}, where="v >= 0"),
    "merge": lambda table, count: table.merge(rows(count, "a", 9)),
    "insert_overwrite": lambda table, count: table.insert_overwrite(rows(count, "d", 1)),
    "insert_overwrite_table": lambda table, count: table.insert_overwrite_table(rows(count, "d", 1)),
    "delete_partitions": lambda table, count: table.delete_partitions(list(map(path, range(count)))),
    "snapshot": lambda table, _: table.snapshot(),
    "read_optimized": lambda table, _: table.read_optimized(),
    "scan": lambda table, _: list(table.scan()),
    "explain": lambda table, _: table.scan(filter="v >= 0").explain(),
    "report": lambda table, _: table.report(),
    "lazy": lambda table, _: table.lazy(),
    "head": lambda table, _: table.head(1000),
    "count": lambda table, _: table.count(),
    "incremental": lambda table, _: table.incremental("000"),
    "cdc": lambda table, _: table.cdc("000"),
    "diff": lambda table, _: table.diff(table.timeline.completed[0].time),
    "file_slices": lambda table, _: table.file_slices(),
    "partitions": lambda table, _: table.partitions(),
    "history": lambda table, _: table.history(),
    "compact": lambda table, _: table.compact(),
    "log_compact": lambda table, _: table.log_compact(),
    "cluster": lambda table, _: table.cluster(),
    "clean": lambda table, _: table.clean(),
    "rollback": lambda table, _: table.rollback(table.timeline.completed[-1].time),
    "savepoint": lambda table, _: table.savepoint(table.timeline.completed[-1].time),
    "verify": lambda table, _: table.verify(),
    "repair": lambda table, _: table.repair(),
    "advise": lambda table, _: table.advise(),
}
EVERY = [(name, options, kind) for name in OPERATIONS for options in OPTIONS for kind in KINDS]


class Remote(RemoteStorage):
    """A remote storage that counts the requests of the thread that it is made by."""

    def __init__(self, folder: Path) -> None:
        super().__init__(open_storage(str(folder)), before=self._note)
        self.own = 0
        self._thread = threading.current_thread()

    def _note(self, _number: int) -> None:
        self.own += threading.current_thread() is self._thread


def own_requests(folder: Path, name: str, options: Mapping[str, str], kind: str, partitions: int) -> int:
    """The requests that an operation makes on its own thread, on a table with so many partitions."""
    create_table(
        folder,
        name="t",
        schema=SCHEMA,
        record_key=["k"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=kind,
        options=options,
    )
    table = open_table(folder, options=options)
    for ts, write in ((1, table.insert), (2, table.upsert), (3, table.upsert)):
        write(rows(partitions, "a", ts))
    remote = Remote(folder)
    table = open_table(remote, options=options)
    remote.own = 0
    OPERATIONS[name](table, partitions)
    shutil.rmtree(folder)
    return remote.own


@pytest.mark.parametrize(("name", "options", "kind"), sample(EVERY, of=24))
def test_partitions_are_not_asked_for_one_after_the_other(name: str, options: str, kind: str, tmp_path: Path) -> None:
    try:
        few, many = (own_requests(tmp_path / "t", name, OPTIONS[options], kind, count) for count in (4, 10))
    except UnsupportedFeatureError:
        return  # as the compaction of a copy-on-write table, or the clustering of one with buckets
    assert many <= few + 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 6])
def test_a_request_that_fails_in_a_thread_fails_the_write(kind: str, count: int, tmp_path: Path) -> None:
    """Of twelve partitions, several are being written when the request fails; others have not begun."""
    create_table(
        tmp_path, name="t", schema=SCHEMA, record_key=["k"], ordering=["ts"], partition_by=["p"], table_type=kind
    )
    open_table(tmp_path).insert(rows(12, "a", 1))
    remote = Remote(tmp_path)
    table, made = open_table(remote), 0

    def fail(number: int) -> None:
        nonlocal made
        if remote.requests[number].kind == "open_new" and remote.requests[number].is_of_data:
            made += 1
            if made >= count:
                raise StorageError("the store is gone")

    remote.before = fail
    with pytest.raises(StorageError, match="the store is gone"):
        table.upsert(rows(12, "a", 2))
    remote.before = nothing
    again = open_table(tmp_path)
    assert again.snapshot(columns=["ts"])["ts"].to_pylist() == [1] * 36
    again.upsert(rows(12, "a", 3))
    assert again.snapshot(columns=["ts"])["ts"].to_pylist() == [3] * 36
    assert list(again.verify()) == []
