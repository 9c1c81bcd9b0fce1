"""The file sink as an engine: what is played is what the sink does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hudiformat import Partitions, UnsupportedFeatureError, Workload, simulate
from hudiformat.errors import OptionError
from hudiformat.simulation.batches import Batches
from hudiformat.simulation.files import FilesRun
from hudiformat.simulation.settings import Settings
from hudiformat.sink import FileSink, TaskWriter, parse_sink_options
from hudiformat.storage.opening import open_storage
from tests.simulation.support import written_table

MERGE = {"sink.partition-commit.policy.kind": "merge,success-file"}
PACKED = {"auto-compaction": "true", "compaction.file-size": "10b"}
TO_150_KB = {"compaction.file-size": "150kb"}
DAYS = Partitions(spread="day", late=0.25, late_days=2)


def test_each_task_writes_a_file_in_each_partition() -> None:
    load = Workload(commits=6, rows=1200, row_bytes=10.0, file_bytes=7, partitions=Partitions(count=3))
    found = simulate(load, engine="files", tasks=4)
    assert found.sizes.to_pydict() == {"bytes": [1007], "files": [6 * 3 * 4]}
    assert found.summary["written_bytes"] == found.summary["base_bytes"] == 72 * 1007
    assert found.summary["small_file_groups"] == found.summary["read_files"] == 72
    assert found.layout["rows"].to_pylist()[-1] == 7200


def test_files_roll_over_by_size_and_by_time() -> None:
    load = Workload(commits=1, rows=100_000, row_bytes=100.0, file_bytes=0, interval=600.0)
    by_size = simulate(load, engine="files", options={"sink.rolling-policy.file-size": "2500000b"})
    assert by_size.sizes.to_pydict() == {"bytes": [1_000_000, 3_000_000], "files": [1, 3]}
    by_time = simulate(load, engine="files", options={"sink.rolling-policy.rollover-interval": "5 min"})
    assert by_time.sizes.to_pydict() == {"bytes": [5_000_000], "files": [2]}


def test_each_task_rolls_over_by_its_own_rows() -> None:
    """Of five rows the first task gets two and the second three; nine tenths of these are one row and two."""
    load = Workload(commits=1, rows=5, row_bytes=1.0, file_bytes=0, interval=600.0)
    found = simulate(load, engine="files", tasks=2, options={"sink.rolling-policy.rollover-interval": "9 min"})
    assert found.sizes.to_pydict() == {"bytes": [1, 2], "files": [3, 1]}


def test_the_files_of_a_batch_are_merged() -> None:
    """The sizes of ten files of 3 bytes, packed to 10: three, three, three and one."""
    load = Workload(commits=2, rows=30, row_bytes=1.0, file_bytes=0)
    found = simulate(load, engine="files", options=PACKED, tasks=10)
    assert found.sizes.to_pydict() == {"bytes": [3, 9], "files": [2, 6]}
    assert found.commits["written_bytes"].to_pylist() == [30, 30]
    assert found.commits["compacted_bytes"].to_pylist() == found.commits["old_bytes"].to_pylist() == [27, 27]
    assert found.summary["write_amplification"] == pytest.approx(57 / 30)


def test_a_merged_file_has_one_footer() -> None:
    load = Workload(commits=1, rows=20, row_bytes=1.0, file_bytes=5)
    found = simulate(load, engine="files", options={"auto-compaction": "true"}, tasks=2)
    assert found.sizes.to_pydict() == {"bytes": [25], "files": [1]}


def test_files_wait_until_their_partition_is_committed() -> None:
    """A day's partition is committed by the first batch after its end: until then its files are hidden."""
    load = Workload(
        commits=13, rows=100, interval=7200.0, row_bytes=1.0, file_bytes=0, partitions=Partitions(spread="day")
    )
    options = {**MERGE, "sink.partition-commit.trigger": "partition-time", "sink.partition-commit.delay": "1 d"}
    found = simulate(load, engine="files", options=options)
    assert found.sizes.to_pydict() == {"bytes": [], "files": []}
    assert found.commits["kept_bytes"].to_pylist()[-1] == found.summary["kept_bytes"] == 1300
    longer = simulate(replace(load, commits=14), engine="files", options=options)
    assert longer.sizes.to_pydict() == {"bytes": [1200], "files": [1]}
    assert longer.summary["kept_bytes"] == 200
    assert longer.summary["stored_bytes_most"] == 1400


def test_many_files_that_wait_are_merged_while_they_wait() -> None:
    load = Workload(commits=70, rows=10, row_bytes=1.0, file_bytes=0)
    options = {**MERGE, "sink.partition-commit.delay": "10 h"}
    found = simulate(load, engine="files", options=options)
    assert found.commits["kept_files"].to_pylist()[62:65] == [63.0, 1.0, 2.0]
    assert found.summary["kept_bytes"] == 700


def test_with_the_policy_merge_nothing_is_lost() -> None:
    load = Workload(commits=60, rows=100, row_bytes=1.0, file_bytes=0, interval=7200.0, partitions=DAYS)
    found = simulate(load, engine="files", options=MERGE, tasks=3)
    sizes = found.sizes.to_pydict()
    visible = sum(size * files for size, files in zip(sizes["bytes"], sizes["files"], strict=True))
    assert visible + found.summary["kept_bytes"] == 6000 == sum(found.commits["written_bytes"].to_pylist())
    assert found.layout["rows"].to_pylist()[-1] == visible


@pytest.mark.parametrize(
    "load",
    [
        Workload(commits=90, rows=1000, burst_every=7, burst=3.0, growth=1.0),
        Workload(commits=90, rows=999, row_growth=1.0, partitions=Partitions(count=7, spread="zipf")),
        Workload(commits=50, rows=500, interval=9000.0, partitions=DAYS),
    ],
)
def test_all_rows_of_a_workload_arrive(load: Workload) -> None:
    batches, counted = Batches(load, seed=0), np.zeros(load.commits, np.int64)
    for first, end in batches.windows(np.array([4, 40])):
        counted[first:end] = batches.rows(first, end)[1].sum(axis=1)
    assert abs(int(counted.sum()) - int(load.rows_by_commit().sum())) <= batches.most_partitions * 8
    assert (counted >= 0).all()
    found = simulate(load, engine="files", options={"auto-compaction": "true"}, tasks=2, samples=9)
    assert found.layout["commit"].to_pylist()[-1] == load.commits
    assert found.layout["rows"].to_pylist()[-1] == counted.sum()


def test_far_apart_numbers_of_rows_are_played_too() -> None:
    load = Workload(commits=2, trace=(1, 50_000_000), row_bytes=1.0, file_bytes=0)
    assert simulate(load, engine="files").sizes.to_pydict() == {"bytes": [1, 50_000_000], "files": [1, 1]}


@pytest.mark.parametrize(
    "options",
    [{}, {"auto-compaction": "true", "compaction.file-size": "150kb"}, {**MERGE, "compaction.file-size": "150kb"}],
)
def test_the_sink_itself_leaves_the_same_files(tmp_path: Path, options: dict[str, str]) -> None:
    """Twelve batches of two tasks, written and played: as many files of about the same bytes."""
    batches, tasks, rows = 12, 2, 1000
    letters = np.random.default_rng(1).integers(97, 123, batches * rows * 40, dtype=np.uint8).tobytes().decode()
    schema, parsed = pa.schema([("text", pa.string())]), parse_sink_options(options)
    storage = open_storage(str(tmp_path / "out"))
    sink, written = FileSink(storage, parsed), []
    for batch in range(batches):
        messages = []
        for task in range(tasks):
            writer = TaskWriter(storage, schema, task=task, batch=batch, tasks=tasks, options=parsed)
            first = (batch * rows + task * rows // tasks) * 40
            texts = [letters[first + at * 40 : first + at * 40 + 40] for at in range(rows // tasks)]
            writer.write(pa.record_batch([texts], schema=schema))
            messages.append(writer.finish())
        written += [file.size for message in messages for file in message.files]
        for message in messages:
            sink.report(message)
    sizes = sorted(path.stat().st_size for path in (tmp_path / "out").glob("*.parquet"))
    load = Workload(commits=batches, rows=rows, row_bytes=40.3, file_bytes=int(np.mean(written) - 500 * 40.3))
    found = simulate(load, engine="files", options=options, tasks=tasks).sizes.to_pydict()
    played = sorted(size for size, files in zip(found["bytes"], found["files"], strict=True) for _ in range(files))
    assert len(played) == len(sizes)
    assert played == pytest.approx(sizes, rel=0.05)


@pytest.mark.parametrize(
    ("load", "options", "message"),
    [
        (Workload(updates=0.1), {}, "without updates and deletes"),
        (Workload(), {"sink.partition-commit.trigger": "partition-time"}, "unless partitions are days"),
        (Workload(commits=6_000_000), MERGE, "files of tasks, with the policy merge"),
    ],
)
def test_what_the_sink_cannot_do_is_refused(load: Workload, options: dict[str, str], message: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"cannot simulate the file sink: expected settings .*{message}"):
        FilesRun(load, Settings.of(options, engine="files"), seed=0)


def test_the_keys_are_those_of_flink() -> None:
    with pytest.raises(OptionError, match=r"unknown option 'hoodie.index.type' of the file sink"):
        simulate(Workload(), engine="files", options={"hoodie.index.type": "SIMPLE"})


def test_a_table_is_no_folder_of_files(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="expected a folder without files to begin with, found a table"):
        written_table(tmp_path / "t", commits=1, rows=10).simulate(engine="files")
