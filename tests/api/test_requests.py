"""How many requests an operation makes to the storage: on an object store each is a round trip over the network.

An operation lists the timeline once and works with what it saw.  Listings beyond that cost time, and they may show
another timeline than the first one did (see ``test_read_races.py``).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import Table, create_table, open_storage, open_table
from hudiformat.storage.opening import Location
from hudiformat.storage.protocol import Storage
from hudiformat.write.commit import markers
from tests.effort import sample
from tests.racing import SHARED
from tests.requests import RecordingStorage, Request, data_files, summary, timeline_listings

pytestmark = pytest.mark.unmeasured

VERSIONS = (6, 8, 9)
TYPES = ("MERGE_ON_READ", "COPY_ON_WRITE")
SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int64())])
QUICK = {"hudiformat.sync": "false"}
CHANGES = {"hoodie.table.cdc.enabled": "true"}


@dataclass(frozen=True, slots=True)
class Operation:
    """What is done to a table, and the requests that it may make.

    ``fixed`` is the number of requests besides those that read or write data files; ``per_commit`` is added for each
    commit.
    """

    run: Callable[[Table], object]
    listings: int
    fixed: int
    per_commit: int = 0
    options: Mapping[str, str] | None = None
    changes: bool = False


def rows(*keys: str, ts: int) -> pa.Table:
    return pa.Table.from_pylist([{"k": key, "ts": ts, "p": "x", "v": ts} for key in keys], SCHEMA)


def upsert(table: Table) -> None:
    """Update a row."""
    table.upsert(rows("b", ts=9))


OPERATIONS = {
    "snapshot": Operation(lambda table: table.snapshot(), listings=1, fixed=5),
    "incremental": Operation(lambda table: table.incremental("000"), listings=1, fixed=6, per_commit=1),
    "cdc": Operation(lambda table: table.cdc("000"), listings=1, fixed=6, per_commit=1, changes=True),
    # The timeline is listed when the write starts, before it is published, and for the services that follow it.
    "upsert": Operation(upsert, listings=3, fixed=14),
    # It is listed once more under the lock, for conflicts with other writers.
    "upsert beside other writers": Operation(upsert, listings=4, fixed=20, options=SHARED),
}


@dataclass(frozen=True, slots=True)
class Made:
    """The requests that an operation made to a table of *version* with so many *commits*."""

    operation: Operation
    version: int
    commits: int
    requests: tuple[Request, ...]

    @property
    def listings(self) -> int:
        return timeline_listings(self.requests, self.version)

    @property
    def count(self) -> int:
        return len(self.requests)

    @property
    def allowed(self) -> int:
        return self.operation.fixed + len(data_files(self.requests)) + self.operation.per_commit * self.commits

    def __str__(self) -> str:
        return (
            f"{self.listings} timeline listings, {self.operation.listings} allowed; {self.count} requests, "
            f"{self.allowed} allowed; {self.commits} commits, {len(data_files(self.requests))} of data files\n"
            f"{summary(self.requests)}"
        )


def fill(path: Location, version: int, table_type: str, *, changes: bool = False) -> None:
    """A table of one partition with three commits, of which the last two update rows."""
    create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key=["k"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=table_type,
        version=version,
        options=CHANGES if changes else {},
    )
    table = open_table(path, options=QUICK)
    table.insert(rows("a", "b", "c", ts=1))
    table.upsert(rows("a", ts=2))
    table.upsert(rows("a", "b", ts=3))


def measure(storage: Storage, operation: Operation, version: int) -> Made:
    commits = len(open_table(storage).timeline.completed_writes)
    recording = RecordingStorage(storage)
    table = open_table(recording, options={**QUICK, **(operation.options or {})})
    recording.clear()
    operation.run(table)
    return Made(operation, version, commits, tuple(recording.requests))


Measure = Callable[[str, int, str], Made]


def _measured(folder: Path, known: dict[tuple[str, int, str], Made], name: str, version: int, table_type: str) -> Made:
    key = (name, version, table_type)
    if key not in known:
        operation = OPERATIONS[name]
        template = folder / f"{version}-{table_type}-{operation.changes}"
        if not template.exists():
            fill(template, version, table_type, changes=operation.changes)
        copy = shutil.copytree(template, folder / f"{version}-{table_type}-{name}")
        known[key] = measure(open_storage(copy), operation, version)
    return known[key]


@pytest.fixture(autouse=True)
def _single_markers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markers, "_MANY", 16)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Measure:
    """The requests of an operation on a table of a version and a type; each is measured once."""
    known: dict[tuple[str, int, str], Made] = {}
    return partial(_measured, tmp_path_factory.mktemp("requests"), known)


@pytest.mark.parametrize("table_type", TYPES)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", sample(OPERATIONS, of=5))
def test_an_operation_lists_the_timeline_no_more_often_than_it_has_to(
    made: Measure, name: str, version: int, table_type: str
) -> None:
    found = made(name, version, table_type)
    listings, allowed = found.listings, found.operation.listings
    assert listings <= allowed, str(found)


@pytest.mark.parametrize("table_type", TYPES)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_makes_few_requests_besides_those_for_data_files(
    made: Measure, name: str, version: int, table_type: str
) -> None:
    found = made(name, version, table_type)
    count, allowed = found.count, found.allowed
    assert count <= allowed, str(found)


@pytest.mark.parametrize("name", sample(OPERATIONS, of=2))
def test_an_operation_makes_no_more_requests_on_an_object_store(bucket: str, name: str) -> None:
    operation = OPERATIONS[name]
    storage = open_storage(f"{bucket}/table")
    fill(storage, 9, "MERGE_ON_READ", changes=operation.changes)
    found = measure(storage, operation, 9)
    listings, count, allowed = found.listings, found.count, found.allowed
    assert listings <= operation.listings, str(found)
    assert count <= allowed, str(found)


def test_each_way_to_the_storage_is_one_request(tmp_path: Path) -> None:
    storage = RecordingStorage(open_storage(tmp_path))
    storage.make_folder("x")
    storage.create("x/a", b"abc")
    with storage.open_new("x/b") as file:
        file.write(b"def")
        file.write(b"ghi")
        file.sync()
    storage.rename("x/b", "x/c")
    assert [info.name for info in storage.list("x")] == ["a", "c"]
    assert storage.exists("x/c")
    assert storage.read("x/c") == bytes(storage.map("x/c")) == b"defghi"
    with storage.open_input("x/c") as ranges:
        assert ranges.read_at(2, 0) + ranges.read_at(2, 4) == b"dehi"
    assert storage.delete("x/c")
    kinds = ["make_folder", "create", "open_new", "rename", "list", "exists", "read", "map", "open_input", "delete"]
    assert [request.kind for request in storage.requests] == kinds
    assert data_files(storage.requests) == []
    assert "   1 create x/a\n   2 open_new x/b\n   3 rename x/b\n" in summary(storage.requests)
