"""Files that wait for the commit of their partition."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.errors import OptionError
from hudiformat.sink import FileSink, Format, Packing, PolicyContext, SinkOptions, TaskWriter, parse_sink_options
from hudiformat.sink import hidden_files as module
from hudiformat.sink.hidden_files import MAX_WAITING_FILES, arrange_files, with_batch
from hudiformat.sink.layout import StagedFile
from hudiformat.sink.options import Codec, Policy
from hudiformat.sink.plan import Progress
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage
from tests.effort import every, examples
from tests.faults import FaultyStorage
from tests.memory_files import memory_files
from tests.sink.crashing import Countdown, Crash
from tests.sink.support import files, ids, noise, read, rows, visible, write
from tests.sink.test_recovery import storage_of

pytestmark = pytest.mark.unmeasured

HOLDING = SinkOptions(policies=(Policy.MERGE, Policy.SUCCESS_FILE), delay=10)
TEN = SinkOptions(policies=(Policy.MERGE,), compaction_file_size=10)


def staged(*sizes: int, kind: str = "k") -> list[StagedFile]:
    return [
        StagedFile("p=1", f"{number}-{kind}.parquet", f"s{number}", size, 1, kind) for number, size in enumerate(sizes)
    ]


def sizes_of(groups: Sequence[Sequence[StagedFile]]) -> list[list[int]]:
    return [[file.size for file in group] for group in groups]


def test_full_groups_do_not_wait() -> None:
    found = arrange_files(staged(4, 5, 3, 4), TEN, is_due=False)
    assert sizes_of([*found.published, found.waiting]) == [[4, 5], [3, 4]]
    found = arrange_files(staged(4, 5, 3, 4), TEN, is_due=True)
    assert (sizes_of(found.published), found.waiting) == ([[4, 5], [3, 4]], ())
    assert sizes_of(arrange_files(staged(11), TEN, is_due=False).published) == [[11]]
    assert sizes_of(arrange_files(staged(4, 6), TEN, is_due=False).published) == [[4, 6]]


def test_the_packing_of_the_options_is_that_of_the_commit() -> None:
    first_fit = replace(TEN, packing=Packing.FIRST_FIT)
    assert sizes_of(arrange_files(staged(6, 5, 4), first_fit, is_due=True).published) == [[6, 4], [5]]
    assert sizes_of(arrange_files(staged(6, 5, 4), first_fit, is_due=False).published) == [[6]]


def test_files_of_different_schemas_are_not_put_together() -> None:
    mixed = [file for pair in zip(staged(1, 2), staged(3, 4, kind="other"), strict=True) for file in pair]
    assert sizes_of(arrange_files(mixed, TEN, is_due=True).published) == [[1, 2], [3, 4]]


def test_many_waiting_files_are_merged_in_their_order() -> None:
    options = replace(TEN, compaction_file_size=10_000)
    waiting = staged(*[1] * (MAX_WAITING_FILES - 1))
    assert arrange_files(waiting, options, is_due=False).merged == ()
    found = arrange_files(
        [replace(staged(99)[0], merged=True), *staged(*[1] * MAX_WAITING_FILES)], options, is_due=False
    )
    assert sizes_of([*found.merged, found.waiting]) == [[1] * MAX_WAITING_FILES, [99]]


def test_a_file_has_its_batch_in_its_name() -> None:
    assert with_batch(staged(1)[0], 7).name == "0000000007-0-k.parquet"


def run(storage: Storage, moments: Sequence[int], options: SinkOptions = HOLDING, *, first: int = 0) -> None:
    """Write a batch with two tasks at each moment, from batch *first* on."""
    now = [0]
    for batch, moment in enumerate(moments, first):
        now[0] = moment
        sink = FileSink(storage, options, clock=lambda: now[0])
        sink.commit(write(storage, batch, [rows([2 * batch])], [rows([2 * batch + 1])], options=options, attempt="a"))


def test_files_of_several_batches_become_one_at_the_commit_of_their_partition() -> None:
    storage = memory_files()
    run(storage, [0, 5, 9])
    assert visible(storage) == []
    run(storage, [11], first=3)
    assert visible(storage) == ["day=1/compacted-part-0000000000-00000-00000-a.parquet"]
    assert ids(storage) == list(range(8))
    kept = [f".hudiformat-sink/default/journal/{3:020d}.done", "day=1/_SUCCESS", *visible(storage)]
    assert sorted(files(storage)) == sorted(kept)


def test_files_after_a_commit_wait_for_the_next_and_visible_files_stay() -> None:
    storage = memory_files()
    run(storage, [0, 11, 20, 25])
    first = visible(storage)
    assert ids(storage) == list(range(4))
    run(storage, [31], first=4)
    assert set(first) < set(visible(storage))
    assert [read(storage, path)["id"].to_pylist() for path in visible(storage)] == [list(range(4)), list(range(4, 10))]


def test_a_partition_that_is_due_waits_as_long_as_is_asked() -> None:
    storage, now = memory_files(), [0]
    options = parse_sink_options(
        {
            "sink.partition-commit.policy.kind": "merge,success-file",
            "sink.partition-commit.trigger": "partition-time",
            "hudiformat.sink.merge.wait": "30 ms",
        }
    )
    found = []
    for batch, moment in enumerate([0, 20, 31, 40, 50, 71]):
        now[0] = moment
        sink = FileSink(storage, options, clock=lambda: now[0])
        commit = sink.commit(write(storage, batch, [rows([batch], "1970-01-01")], watermark=1))
        assert commit is not None
        found.append([read(storage, path)["id"].to_pylist() for path in commit.files])
    assert found == [[], [], [[0, 1, 2]], [], [], [[3, 4, 5]]]


def test_full_files_are_visible_before_the_commit() -> None:
    storage = memory_files()
    options = replace(HOLDING, compaction_file_size=250_000)
    for batch in range(4):
        FileSink(storage, options, clock=lambda: 0).commit(write(storage, batch, [noise(200, batch)], options=options))
    sizes = [entry.size for entry in storage.list("day=1")]
    assert len(sizes) == 3
    assert not storage.exists("day=1/_SUCCESS")
    assert FileSink(storage, options).end() == ["day=1"]
    assert len(ids(storage)) == 800


def test_an_output_without_partitions_waits_for_the_delay() -> None:
    storage, now = memory_files(), [0]
    options = replace(HOLDING, policies=(Policy.MERGE,))
    sink = FileSink(storage, options, clock=lambda: now[0])
    for batch, moment in enumerate([0, 10, 11]):
        now[0] = moment
        sink.commit(write(storage, batch, [rows([batch])], partition_by=[]))
        assert len(visible(storage)) == (moment > 10)
    assert ids(storage) == [0, 1, 2]
    sink.commit(write(storage, 3, [rows([3])], partition_by=[]))
    assert sink.end() == []
    assert ids(storage) == [0, 1, 2, 3]


def test_the_end_of_the_input_shows_all_and_commits_all() -> None:
    storage = memory_files()
    run(storage, [0, 1])
    assert FileSink(storage, HOLDING).end() == ["day=1"]
    assert FileSink(storage, HOLDING).end() == []
    assert (ids(storage), len(visible(storage))) == ([0, 1, 2, 3], 1)
    assert storage.exists("day=1/_SUCCESS")
    run(storage, [2, 13], first=2)
    assert ids(storage) == [0, 1, 2, 3, 4, 5, 6, 7]


def test_hidden_files_become_visible_when_the_policy_is_given_up() -> None:
    storage = memory_files()
    run(storage, [0, 1])
    FileSink(storage).commit(write(storage, 2, [rows([4])]))
    assert (ids(storage), len(visible(storage))) == ([0, 1, 2, 3, 4], 1)


@pytest.mark.parametrize("kind", list(Format))
def test_many_hidden_files_are_merged_before_they_are_visible(kind: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING_FILES", 4)
    storage, options = memory_files(), replace(HOLDING, format=kind, avro_codec=Codec.NULL)
    for batch in range(5):
        run_one = FileSink(storage, options, clock=lambda: 0)
        run_one.commit(write(storage, batch, [rows([2 * batch])], [rows([2 * batch + 1])], options=options))
    staging = list(files(storage, ".hudiformat-sink/default/staging"))
    assert len(staging) == 4  # of 4 batches, and 2 files of the last one
    done = Progress.from_json(storage.read(f".hudiformat-sink/default/journal/{4:020d}.done"))
    assert sorted(file.path for file in done.held) == staging
    actual = {f"{entry.name}": entry.size for entry in storage.list(".hudiformat-sink/default/staging")}
    assert {file.path.rpartition("/")[2]: file.size for file in done.held} == actual
    FileSink(storage, options).end()
    assert (ids(storage), len(visible(storage))) == (list(range(10)), 1)


def test_files_of_two_schemas_wait_together_and_are_merged_apart() -> None:
    storage = memory_files()
    wider = pa.RecordBatch.from_pydict({"id": [9], "day": ["1"], "text": ["x"], "more": [1]})
    for batch, data in enumerate([rows([1]), wider, rows([2]), wider]):
        with TaskWriter(storage, data.schema, batch=batch, task=0, tasks=1, partition_by=["day"]) as writer:
            writer.write(data)
            FileSink(storage, HOLDING, clock=lambda: 0).commit([writer.finish()])
    FileSink(storage, HOLDING).end()
    assert sorted(read(storage, path)["id"].to_pylist() for path in visible(storage)) == [[1, 2], [9, 9]]


def test_files_of_two_formats_wait_together_and_are_merged_apart() -> None:
    storage = memory_files()
    for batch, kind in enumerate([Format.PARQUET, Format.AVRO] * 2):
        options = replace(HOLDING, format=kind, avro_codec=Codec.NULL)
        FileSink(storage, options, clock=lambda: 0).commit(write(storage, batch, [rows([batch])], options=options))
    FileSink(storage, HOLDING).end()
    assert {path[-4:]: read(storage, path)["id"].to_pylist() for path in visible(storage)} == {
        "quet": [0, 2],
        "avro": [1, 3],
    }


def test_merge_comes_first() -> None:
    for text in ("success-file,merge", "merge,merge"):
        with pytest.raises(OptionError, match="merge once, as the first policy"):
            parse_sink_options({"sink.partition-commit.policy.kind": text})


class Once:
    """A policy that must find each row once."""

    def commit(self, context: PolicyContext) -> None:
        found = Counter(i for path in context.files() for i in read(context.storage, path)["id"].to_pylist())
        assert set(found.values()) == {1}


BATCHES = 4


def crash_and_go_on(storage: Storage, countdown: Countdown, done: list[int]) -> None:
    """Run the query from the batch that its engine knows; the clock is the number of the batch."""
    faulty, now = FaultyStorage(storage, countdown), [0]
    options = replace(HOLDING, delay=1, policies=(Policy.MERGE, Policy.CUSTOM))
    sink = FileSink(faulty, options, custom=Once(), clock=lambda: now[0])
    sink.recover()
    for batch in range(done[0], BATCHES):
        now[0] = batch
        sink.commit(write(faulty, batch, [rows([2 * batch])], [rows([2 * batch + 1], "2")], options=options))
        done[0] = batch + 1
    sink.end()


def check_no_row_is_twice(storage: Storage) -> None:
    assert max(Counter(ids(storage)).values(), default=0) <= 1


@pytest.fixture
def _merges_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING_FILES", 2)


@pytest.mark.slow
@pytest.mark.usefixtures("_merges_early")
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("kind", ["files", "object store"])
def test_a_crash_at_any_operation_shows_no_row_twice_and_loses_none(kind: str, *, before: bool) -> None:
    for moment in itertools.count(1, every(9)):
        died, done = False, [0]
        with storage_of(kind) as storage:
            try:
                crash_and_go_on(storage, Countdown(moment, before=before), done)
            except Crash:
                died = True
                check_no_row_is_twice(storage)
                crash_and_go_on(storage, Countdown(None), done)
            assert sorted(ids(storage)) == list(range(2 * BATCHES))
            assert len(list(files(storage))) == len(visible(storage)) + 1
        if not died:
            break
    assert moment > 60


@pytest.mark.usefixtures("_merges_early")
@settings(max_examples=examples(20), deadline=None)
@given(crashes=st.lists(st.tuples(st.integers(1, 90), st.booleans()), max_size=6))
def test_any_number_of_crashes_shows_no_row_twice_and_loses_none(crashes: list[tuple[int, bool]]) -> None:
    with storage_of("object store") as storage:
        done = [0]
        for moment, before in crashes:
            with contextlib.suppress(Crash):
                crash_and_go_on(storage, Countdown(moment, before=before), done)
            check_no_row_is_twice(storage)
        crash_and_go_on(storage, Countdown(None), done)
        assert sorted(ids(storage)) == list(range(2 * BATCHES))


class Watched(LocalStorage):
    """A folder that a reader reads after every rename and deletion: it sees each row once, from then on always."""

    seen: frozenset[int] = frozenset()

    def look(self) -> None:
        found = ids(LocalStorage(self.root))
        assert len(found) == len(set(found))
        assert self.seen <= set(found)
        self.seen = frozenset(found)

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        self.look()

    def delete(self, path: str) -> bool:
        deleted = super().delete(path)
        self.look()
        return deleted


@pytest.mark.usefixtures("_merges_early")
def test_a_reader_sees_no_row_twice_and_none_that_is_gone_again(tmp_path: Path) -> None:
    storage, chance, now = Watched(tmp_path), random.Random(3), [0]
    options = replace(HOLDING, delay=3, compaction_file_size=9000)
    sink = FileSink(storage, options, clock=lambda: now[0])
    for batch in range(12):
        now[0] = batch
        tasks = [
            [rows(range(start, start + 5), str(chance.randint(1, 3)))] for start in (100 * batch, 100 * batch + 50)
        ]
        sink.commit(write(storage, batch, *tasks, options=options))
    sink.end()
    assert len(ids(storage)) == 120
