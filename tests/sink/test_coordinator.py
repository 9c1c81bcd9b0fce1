"""From the messages of the tasks to visible files and committed partitions."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.errors import DataError, StorageError
from hudiformat.sink import (
    Compactor,
    FileSink,
    Layout,
    Packing,
    PolicyContext,
    SinkOptions,
    TaskCommit,
    TaskWriter,
    parse_sink_options,
)
from hudiformat.sink.layout import StagedFile
from hudiformat.sink.options import Policy, Trigger
from hudiformat.sink.plan import Progress
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from tests.memory_files import memory_files
from tests.sink.support import SCHEMA, files, ids, read, rows, visible, write

MERGING = SinkOptions(auto_compaction=True)
SUCCESS = SinkOptions(policies=(Policy.SUCCESS_FILE,))
MIB = 1 << 20


def on_s3(request: pytest.FixtureRequest) -> Storage:
    return open_storage(f"{request.getfixturevalue('bucket')}/output")


def on_disk(request: pytest.FixtureRequest) -> Storage:
    folder: Path = request.getfixturevalue("tmp_path")
    return LocalStorage(folder)


def in_memory(_: pytest.FixtureRequest) -> Storage:
    return memory_files()


@pytest.fixture(params=[on_disk, in_memory, pytest.param(on_s3, marks=pytest.mark.s3)])
def storage(request: pytest.FixtureRequest) -> Storage:
    make: Callable[[pytest.FixtureRequest], Storage] = request.param
    return make(request)


def journal(storage: Storage) -> list[str]:
    return [path.rsplit("/", 1)[1].lstrip("0") for path in files(storage, ".hudiformat-sink")]


def test_files_take_their_names_when_all_tasks_have_reported(storage: Storage) -> None:
    messages = write(storage, 0, [rows([1, 2]), rows([3], "2")], [rows([4])], attempt="a")
    commit = FileSink(storage).commit(messages)
    assert commit is not None
    assert (commit.batch, commit.partitions) == (0, ())
    assert list(commit.files) == visible(storage)
    assert visible(storage) == [
        "day=1/part-0000000000-00000-00000-a.parquet",
        "day=1/part-0000000000-00001-00000-a.parquet",
        "day=2/part-0000000000-00000-00001-a.parquet",
    ]
    assert ids(storage) == [1, 2, 4, 3]
    assert journal(storage) == [".done"]


def test_small_files_of_a_partition_are_merged_in_order_of_their_paths(storage: Storage) -> None:
    messages = write(storage, 3, [rows([1, 2]), rows([3], "2")], [rows([4])], [rows([5])], attempt="a")
    commit = FileSink(storage, MERGING).commit(list(reversed(messages)))
    assert commit is not None
    assert visible(storage) == [
        "day=1/compacted-part-0000000003-00000-00000-a.parquet",
        "day=2/part-0000000003-00000-00001-a.parquet",
    ]
    assert ids(storage) == [1, 2, 4, 5, 3]
    assert journal(storage) == ["3.done"]


def test_nothing_is_done_before_all_tasks_have_reported(storage: Storage) -> None:
    messages = write(storage, 0, [rows([1])], [rows([2])], [rows([3])])
    sink = FileSink(storage)
    with pytest.raises(DataError, match=r"batch 0: tasks \[0, 2\] have not reported"):
        sink.commit([messages[1]])
    assert sink.report(messages[2]) is None
    assert sink.report(messages[0]) is None
    assert sink.report(messages[0]) is None  # again
    assert visible(storage) == []
    commit = sink.report(messages[1])
    assert commit is not None
    assert ids(storage) == [1, 2, 3]


def test_an_engine_may_pass_the_batch_to_the_commit() -> None:
    storage, messages = memory_files(), []
    for task in range(2):
        with TaskWriter(storage, SCHEMA, task=task, partition_by=["day"], attempt="a") as writer:
            writer.write(rows([task]))
            messages.append(writer.finish())
    FileSink(storage).commit(messages, batch=12)
    assert visible(storage) == [f"day=1/part-0000000012-0000{task}-00000-a.parquet" for task in range(2)]
    assert journal(storage) == ["12.done"]


def test_batches_become_visible_in_their_order_whichever_is_reported_first(storage: Storage) -> None:
    sink = FileSink(storage)
    first, second = write(storage, 0, [rows([1])], [rows([2])]), write(storage, 1, [rows([3])], [rows([4])])
    assert sink.report(first[0]) is None
    assert sink.report(second[1]) is None
    assert sink.report(second[0]) is None
    assert ids(storage) == []
    commit = sink.report(first[1])
    assert commit is not None
    assert (commit.batch, len(commit.files)) == (1, 4)
    assert ids(storage) == [1, 2, 3, 4]
    assert journal(storage) == ["1.done"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_reports_in_any_order_lose_no_batch(seed: int) -> None:
    """All reports that come before the first batch's last one, and after it, in any order that begins with batch 0."""
    storage, chance = memory_files(), random.Random(seed)
    sink = FileSink(storage)
    messages = [write(storage, batch, [rows([10 * batch])], [rows([10 * batch + 1])]) for batch in range(4)]
    ahead, *others = [message for of_batch in messages for message in of_batch]
    chance.shuffle(others)
    sink.report(ahead)

    def report(message: TaskCommit) -> bool:
        try:
            sink.report(message)
        except DataError as error:
            return "was committed without it" in str(error)
        return False

    late = True in [report(message) for message in others]
    complete = {n for n in range(4) if {10 * n, 10 * n + 1} <= set(ids(storage))}
    assert late or complete == set(range(4))
    assert sorted(ids(storage)) == sorted(row for n in complete for row in (10 * n, 10 * n + 1))


def test_files_of_a_batch_that_is_still_written_are_kept(storage: Storage) -> None:
    sink = FileSink(storage)
    (later,) = write(storage, 1, [rows([2])])
    sink.commit(write(storage, 0, [rows([1])]))
    sink.report(later)
    assert ids(storage) == [1, 2]
    write(storage, 2, [rows([3])])
    sink.recover()
    assert len(list(files(storage))) == 3


def test_a_batch_that_a_later_one_has_passed_is_an_error(storage: Storage) -> None:
    sink = FileSink(storage)
    sink.commit(write(storage, 0, [rows([1])]))
    sink.commit(write(storage, 3, [rows([2])]))
    for one in (sink, FileSink(storage)):
        with pytest.raises(DataError, match="batch 2: the later batch 3 was committed without it"):
            one.commit(write(storage, 2, [rows([3])]))
        with pytest.raises(DataError, match="batch 1: the later batch 3 was committed without it"):
            one.report(write(storage, 1, [rows([3])])[0])
    assert sink.commit(write(storage, 0, [rows([1])])) is None
    assert sink.report(write(storage, 4, [rows([4])])[0]) is not None
    assert ids(storage) == [1, 2, 4]


def test_a_batch_that_the_storage_fails_is_tried_again_before_later_ones(tmp_path: Path) -> None:
    class Refusing(LocalStorage):
        refuses = True

        def rename(self, source: str, target: str) -> None:
            if self.refuses:
                raise StorageError(f"cannot rename {source} to {target}")
            super().rename(source, target)

    storage = Refusing(tmp_path)
    sink = FileSink(storage)
    (first,), (second,) = write(storage, 0, [rows([1])]), write(storage, 1, [rows([2])])
    for message in (first, second):
        with pytest.raises(StorageError):
            sink.report(message)
    storage.refuses = False
    sink.report(second)
    assert ids(storage) == [1, 2]


def test_a_task_that_reports_another_number_of_tasks_begins_its_batch_anew(storage: Storage) -> None:
    sink = FileSink(storage)
    sink.report(write(storage, 0, [rows([1])], [rows([2])])[0])
    assert sink.report(write(storage, 0, [rows([1, 2])])[0]) is not None
    assert sorted(ids(storage)) == [1, 2]


def test_a_message_without_a_batch_cannot_be_reported(storage: Storage) -> None:
    with pytest.raises(DataError, match="have no batch or no number of tasks"):
        FileSink(storage).report(TaskCommit(None, 0, None, ()))


def test_a_batch_without_rows_is_finished_too(storage: Storage) -> None:
    commit = FileSink(storage, SUCCESS).commit(write(storage, 5, [], []))
    assert commit is not None
    assert (commit.files, commit.partitions) == ((), ())
    assert list(files(storage)) == [f".hudiformat-sink/default/journal/{5:020d}.done"]


def test_a_repeated_batch_is_recognised_and_its_files_are_deleted(storage: Storage) -> None:
    FileSink(storage).commit(write(storage, 4, [rows([1])]))
    for batch in (4, 3):
        assert FileSink(storage).commit(write(storage, batch, [rows([1])])) is None
    assert ids(storage) == [1]
    assert journal(storage) == ["4.done"]


def test_a_half_written_journal_is_deleted(storage: Storage) -> None:
    storage.create(f"{Layout().journal}/.hudiformat-half", b"{")
    FileSink(storage).commit(write(storage, 0, [rows([1])]))
    assert journal(storage) == [".done"]


def test_sinks_of_two_names_write_into_one_folder(storage: Storage) -> None:
    for name in ("a", "b"):
        layout = Layout(name)
        FileSink(storage, layout=layout).commit(write(storage, 0, [rows([1])], layout=layout))
    assert ids(storage) == [1, 1]


def test_compactors_can_be_sent_elsewhere_and_run_several_times_at_once(tmp_path: Path) -> None:
    storage, ran = LocalStorage(tmp_path), []

    def run(compactors: Sequence[Compactor]) -> None:
        copies: list[Compactor] = [pickle.loads(pickle.dumps(one)) for one in compactors for _ in range(3)]
        ran.extend([one.number for one in compactors])
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda one: one(), copies))

    messages = write(storage, 0, [rows([1]), rows([2], "2")], [rows([3]), rows([4], "2")])
    FileSink(storage, replace(MERGING, compaction_parallelism=5), run=run).commit(messages)
    assert ran == [0, 1]  # only those that have something to do
    assert ids(storage) == [1, 3, 2, 4]
    assert journal(storage) == [".done"]


def test_a_merged_file_that_cannot_take_its_name_is_an_error(tmp_path: Path) -> None:
    class Refusing(LocalStorage):
        def rename(self, source: str, target: str) -> None:
            raise StorageError(f"cannot rename {source} to {target}")

    messages = write(LocalStorage(tmp_path), 0, [rows([1])], [rows([2])])
    with pytest.raises(StorageError, match="cannot rename .*merging-0"):
        FileSink(Refusing(tmp_path), MERGING).commit(messages)


def file_of(size: int, name: str) -> pa.Table:
    """A row whose Parquet file has *size* MiB, and a little less than a page more."""
    return pa.table({"name": [name], "noise": [random.Random(name).randbytes(size * MIB - 2048)]})


@pytest.mark.parametrize(
    ("packing", "expected"),
    [(Packing.NEXT_FIT, ["ab", "c", "d", "efg"]), (Packing.FIRST_FIT, ["ab", "ce", "d", "fg"])],
)
def test_the_worked_example_with_files_of_its_sizes(tmp_path: Path, packing: Packing, expected: list[str]) -> None:
    storage, staged = LocalStorage(tmp_path), []
    (tmp_path / Layout().staging).mkdir(parents=True)
    for name, size in {"a": 5, "b": 4, "c": 7, "d": 11, "e": 2, "f": 3, "g": 4}.items():
        path = Layout().staged(f"{name}.parquet")
        pq.write_table(
            file_of(size, name), tmp_path / path, compression="none", use_dictionary=False, write_statistics=False
        )
        actual = (tmp_path / path).stat().st_size
        assert size * MIB - 2048 < actual <= size * MIB
        staged.append(StagedFile("day=1", f"{name}.parquet", path, actual, 1))
    options = SinkOptions(auto_compaction=True, compaction_file_size=10 * MIB, packing=packing)
    FileSink(storage, options).commit([TaskCommit(0, 0, 1, tuple(staged))])
    found = {"".join(read(storage, path)["name"].to_pylist()): path.split("/")[1] for path in visible(storage)}
    kinds = {group: "part" if len(group) == 1 else "compacted-part" for group in expected}
    names = {group: f"{kind}-0000000000-{group[0]}.parquet" for group, kind in kinds.items()}
    assert found == names


def by_time(**more: str) -> SinkOptions:
    given = {
        "sink.partition-commit.trigger": "partition-time",
        "sink.partition-commit.delay": "1 d",
        "sink.partition-commit.policy.kind": "custom",
    }
    return parse_sink_options({**given, **more})


class Commits:
    def __init__(self) -> None:
        self.found: list[str] = []

    def commit(self, context: PolicyContext) -> None:
        assert context.files() == [path for path in visible(context.storage) if path.startswith(context.partition)]
        self.found.append(context.partition)


DAY = 86_400_000


def test_partitions_are_committed_when_the_watermark_has_passed_and_late_data_commits_them_again() -> None:
    storage, commits = memory_files(), Commits()
    steps: list[tuple[list[pa.RecordBatch], int | None, list[str]]] = [
        ([rows([1], "1970-01-01"), rows([2], "1970-01-02")], DAY // 2, []),
        ([rows([3], "1970-01-02")], DAY + 1, ["day=1970-01-01"]),
        ([], None, []),  # the watermark stays
        ([rows([4], "1970-01-01")], DAY // 3, ["day=1970-01-01"]),  # late, and the watermark does not go back
        ([], 2 * DAY + 1, ["day=1970-01-02"]),
        ([rows([5], "1970-01-09")], None, []),
    ]
    for batch, (data, watermark, expected) in enumerate(steps):
        sink = FileSink(storage, by_time(), custom=commits)
        commit = sink.commit(write(storage, batch, data, watermark=watermark))
        assert commit is not None
        assert list(commit.partitions) == expected
    assert commits.found == ["day=1970-01-01", "day=1970-01-01", "day=1970-01-02"]
    assert FileSink(storage, by_time(), custom=commits).end() == ["day=1970-01-09"]
    assert commits.found[3:] == ["day=1970-01-09"]
    assert FileSink(storage, by_time(), custom=commits).end() == []


def test_by_process_time_a_partition_is_pending_from_its_first_file_on() -> None:
    storage, now = memory_files(), [0]
    options = replace(SUCCESS, trigger=Trigger.PROCESS_TIME, delay=10)
    sink = FileSink(storage, options, clock=lambda: now[0])
    found = []
    for batch, (time, data) in enumerate([(0, [rows([1])]), (5, [rows([2])]), (10, []), (11, []), (12, [rows([3])])]):
        now[0] = time
        commit = sink.commit(write(storage, batch, data))
        assert commit is not None
        found.append(list(commit.partitions))
    assert found == [[], [], [], ["day=1"], []]
    assert storage.exists("day=1/_SUCCESS")


def test_without_partitions_and_without_policies_nothing_is_committed() -> None:
    storage = memory_files()
    FileSink(storage, SUCCESS).commit(write(storage, 0, [rows([1])], partition_by=[]))
    assert ids(storage) == [1]
    assert not any(path.endswith("_SUCCESS") for path in files(storage))
    FileSink(storage, SinkOptions(delay=5)).commit(write(storage, 1, [rows([1])]))
    done = Progress.from_json(storage.read(f".hudiformat-sink/default/journal/{1:020d}.done"))
    assert done == Progress(1, None, {})


def test_a_partition_without_a_time_is_refused_before_the_batch_is_decided() -> None:
    storage, commits = memory_files(), Commits()
    with pytest.raises(DataError, match="partition day=tuesday: expected a time"):
        FileSink(storage, by_time(), custom=commits).commit(write(storage, 0, [rows([1], "tuesday")]))
    assert visible(storage) == []
    FileSink(storage, by_time(), custom=commits).recover()
    assert list(files(storage)) == []
