"""The process crashes at any operation on the storage, and is started again."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

from hudiformat.sink import FileSink, PolicyContext, SinkOptions
from hudiformat.sink.options import Codec, Format, Policy
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from tests.effort import every, examples
from tests.faults import FaultyStorage
from tests.memory_files import memory_files
from tests.sink.crashing import Countdown, Crash
from tests.sink.support import files, ids, read, rows, visible, write

pytestmark = pytest.mark.unmeasured

OPTIONS = SinkOptions(auto_compaction=True, policies=(Policy.SUCCESS_FILE,))
AVRO = replace(OPTIONS, format=Format.AVRO, avro_codec=Codec.NULL)
BATCHES = [
    [[rows([1, 2]), rows([3], "2")], [rows([4]), rows([5], "3")]],  # partition 1 has something to merge
    [[rows([6])], [rows([7]), rows([8], "3")]],
]
ALL = list(range(1, 9))


class Query:
    """An engine: it repeats every batch whose commit has not returned, whatever the sink has done about it."""

    def __init__(self, storage: Storage, options: SinkOptions = OPTIONS) -> None:
        self.storage = storage
        self.options = options
        self.committed = 0

    def run(self, countdown: Countdown) -> None:
        storage = FaultyStorage(self.storage, countdown)
        sink = FileSink(storage, self.options)
        sink.recover()
        for batch in range(self.committed, len(BATCHES)):
            sink.commit(write(storage, batch, *BATCHES[batch], options=self.options))
            self.committed = batch + 1


def check_what_is_visible(query: Query) -> None:
    """No row twice, whole batches as far as their commits have returned, and no half file."""
    found = Counter(ids(query.storage))
    assert max(found.values(), default=0) <= 1
    assert set(found) >= {
        i for batch in BATCHES[: query.committed] for task in batch for data in task for i in data["id"].to_pylist()
    }


def check_the_end(query: Query) -> None:
    assert sorted(ids(query.storage)) == ALL
    seen = visible(query.storage)
    kept = {f".hudiformat-sink/default/journal/{1:020d}.done", *(f"day={day}/_SUCCESS" for day in (1, 2, 3))}
    assert set(files(query.storage)) == {*seen, *kept}
    by_file = {path: read(query.storage, path)["id"].to_pylist() for path in seen}
    merged = sorted(found for path, found in by_file.items() if "compacted-" in path)
    assert merged == [[1, 2, 4], [6, 7]]


@contextlib.contextmanager
def storage_of(kind: str) -> Iterator[Storage]:
    if kind == "object store":
        storage = memory_files()
        yield storage
        storage.delete_folder("")  # all of them share one dict, and listings go through it
        return
    with tempfile.TemporaryDirectory() as folder:
        yield open_storage(folder, filesystem=fs.LocalFileSystem())


def test_without_a_crash_all_is_well() -> None:
    query = Query(memory_files())
    query.run(Countdown(None))
    check_the_end(query)


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(
    ("kind", "options"),
    [("files", OPTIONS), ("object store", OPTIONS), ("object store", AVRO)],
    ids=["files", "object store", "avro"],
)
def test_a_crash_at_any_operation_loses_and_doubles_no_row_and_leaves_nothing(
    kind: str, options: SinkOptions, *, before: bool
) -> None:
    for moment in itertools.count(1, every(7)):
        died = False
        with storage_of(kind) as storage:
            query = Query(storage, options)
            try:
                query.run(Countdown(moment, before=before))
            except Crash:
                died = True
                check_what_is_visible(query)
                query.run(Countdown(None))
            check_the_end(query)
        if not died:
            break
    assert moment > 40


@settings(max_examples=examples(30), deadline=None)
@given(crashes=st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=6))
def test_any_number_of_crashes_loses_and_doubles_no_row(crashes: list[tuple[int, bool]]) -> None:
    with storage_of("object store") as storage:
        query = Query(storage)
        for moment, before in crashes:
            with contextlib.suppress(Crash):
                query.run(Countdown(moment, before=before))
            check_what_is_visible(query)
        query.run(Countdown(None))
        check_the_end(query)


def test_the_files_of_an_undecided_batch_are_deleted_at_the_start() -> None:
    storage = memory_files()
    write(storage, 0, [rows([1])])
    FileSink(storage).recover()
    assert list(files(storage)) == []


def test_a_batch_that_was_decided_is_finished_at_the_start_without_its_messages() -> None:
    query = Query(memory_files())
    first = write(query.storage, 0, *BATCHES[0], options=OPTIONS)
    with pytest.raises(Crash):
        FileSink(FaultyStorage(query.storage, Countdown(2)), OPTIONS).commit(first)
    assert ids(query.storage) == []
    FileSink(query.storage, OPTIONS).recover()
    assert sorted(ids(query.storage)) == [1, 2, 3, 4, 5]


def test_a_batch_is_finished_in_the_format_that_it_was_decided_in() -> None:
    storage = memory_files()
    first = write(storage, 0, *BATCHES[0], options=AVRO)
    with pytest.raises(Crash):
        FileSink(FaultyStorage(storage, Countdown(2)), AVRO).commit(first)
    FileSink(storage, OPTIONS).recover()
    assert [path.rpartition(".")[2] for path in visible(storage)] == ["avro"] * 3
    assert sorted(ids(storage)) == [1, 2, 3, 4, 5]


def test_pending_partitions_are_kept() -> None:
    storage, now = memory_files(), [0]
    waiting = SinkOptions(policies=(Policy.SUCCESS_FILE,), delay=10)
    FileSink(storage, waiting, clock=lambda: now[0]).commit(write(storage, 0, [rows([1])]))
    with pytest.raises(Crash):
        FileSink(FaultyStorage(storage, Countdown(2)), waiting, clock=lambda: now[0]).commit(write(storage, 1, []))
    now[0] = 11
    FileSink(storage, waiting, clock=lambda: now[0]).recover()
    assert storage.exists("day=1/_SUCCESS")


class Merging:
    """A policy that puts all files of a partition into one, and deletes them: the same, however often it is run."""

    def commit(self, context: PolicyContext) -> None:
        storage, paths = context.storage, context.files()
        found = {row["id"]: row for path in paths for row in read(storage, path).to_pylist()}
        sink, target = pa.BufferOutputStream(), f"{context.partition}/all.parquet"
        pq.write_table(pa.Table.from_pylist(list(found.values())), sink)
        storage.create(target, sink.getvalue().to_pybytes(), overwrite=True)
        for path in paths:
            if path != target:
                storage.delete(path)


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("kind", ["files", "object store"])
def test_a_crash_beside_a_policy_that_deletes_files_is_recovered_from(kind: str, *, before: bool) -> None:
    options = SinkOptions(policies=(Policy.CUSTOM,))
    for moment in itertools.count(1, every(3)):
        died = False
        with storage_of(kind) as storage:
            try:
                sink = FileSink(FaultyStorage(storage, Countdown(moment, before=before)), options, custom=Merging())
                sink.commit(write(storage, 0, *BATCHES[0]))
            except Crash:
                died = True
            sink = FileSink(storage, options, custom=Merging())
            if sink.recover() < 0:
                sink.commit(write(storage, 0, *BATCHES[0]))
            sink.commit(write(storage, 1, *BATCHES[1]))
            assert sorted(ids(storage)) == ALL
            assert len(list(files(storage))) == len(visible(storage)) + 1
        if not died:
            break
    assert moment > 10
