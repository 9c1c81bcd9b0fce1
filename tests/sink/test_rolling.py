"""The files that a task writes."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.errors import SchemaError
from hudiformat.sink import SinkOptions, TaskWriter, rolling
from hudiformat.storage.protocol import Storage
from tests.memory_files import memory_files
from tests.sink.support import SCHEMA, files, noise, read, rows, visible, write


@pytest.fixture
def storage() -> Storage:
    return memory_files()


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def test_a_task_writes_a_file_for_each_partition_out_of_sight(storage: Storage) -> None:
    mixed = pa.Table.from_batches([rows([1], "b"), rows([2], "a"), rows([3], "b")]).combine_chunks().to_batches()
    (message,) = write(storage, 7, mixed, watermark=99)
    assert (message.batch, message.task, message.tasks, message.watermark) == (7, 0, 1, 99)
    assert [(file.partition, file.rows) for file in message.files] == [("day=a", 1), ("day=b", 2)]
    assert visible(storage) == []
    assert sorted(files(storage)) == sorted(file.path for file in message.files)
    for file in message.files:
        assert file.path.startswith(".hudiformat-sink/default/staging/")
        assert file.path.endswith(f"{file.name}.inprogress")
        assert file.size == len(storage.read(file.path))
    table = read(storage, message.files[1].path)
    assert table.to_pydict() == {"id": [1, 3], "text": ["row 1", "row 3"]}


def test_names_have_the_task_the_number_and_the_attempt(storage: Storage) -> None:
    (message,) = write(storage, 7, [rows([1])], attempt="a5")
    assert message.files[0].name == "00000-00000-a5.parquet"


def test_two_attempts_at_a_task_write_different_files(storage: Storage) -> None:
    first, second = (write(storage, 0, [rows([1])])[0].files[0] for _ in range(2))
    assert first.path != second.path


def test_without_partition_columns_files_go_to_the_folder_itself(storage: Storage) -> None:
    (message,) = write(storage, 0, [rows([1, 2])], partition_by=[])
    assert [file.partition for file in message.files] == [""]
    assert read(storage, message.files[0].path).schema == SCHEMA


def test_partition_values_are_written_as_hive_does(storage: Storage) -> None:
    (message,) = write(storage, 0, [rows([1], "a/b")], [rows([2], None)])[:1]  # type: ignore[arg-type]  # null is not a path
    assert message.files[0].partition == "day=a%2Fb"


def test_a_message_survives_pickle(storage: Storage) -> None:
    (message,) = write(storage, 7, [rows([1])])
    assert pickle.loads(pickle.dumps(message)) == message


def test_a_task_without_rows_reports_no_files(storage: Storage) -> None:
    (message,) = write(storage, 3, [rows([])])
    assert (message.files, message.watermark) == ((), None)
    assert list(files(storage)) == []


def test_a_file_rolls_over_when_it_reaches_its_size(storage: Storage) -> None:
    data = [noise(100, seed) for seed in range(10)]  # a hundred kilobytes each
    (message,) = write(storage, 0, data, options=SinkOptions(file_size=250_000))
    assert [file.rows for file in message.files] == [300, 300, 300, 100]
    assert all(250_000 < file.size < 330_000 for file in message.files[:3])


def test_compression_is_measured_by_the_written_files(storage: Storage) -> None:
    data = [rows(range(10_000))] * 40
    (message,) = write(storage, 0, data, options=SinkOptions(file_size=200_000))
    assert all(file.size > 100_000 for file in message.files[1:-1])
    assert sum(file.rows for file in message.files) == 400_000


def test_the_size_is_checked_within_a_large_batch(storage: Storage) -> None:
    (message,) = write(storage, 0, [rows(range(50_000))], options=SinkOptions(file_size=150_000))
    found = [file.rows for file in message.files]
    assert (found[0], sum(found)) == (10_000, 50_000)
    assert all(count in (10_000, 20_000) for count in found)  # as well as the rows are compressed


def test_many_open_files_share_their_memory(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "MAX_BYTES_IN_MEMORY", 500)
    (message,) = write(storage, 0, [rows(range(30), "a"), rows(range(5), "b"), rows([1], "a")])
    with storage.open_input(message.files[0].path) as file:
        found = pq.ParquetFile(file).metadata
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == [30, 1]


@pytest.mark.parametrize(
    ("times", "counts"),
    [
        ([0, 59, 119], [3]),  # nothing is old enough when it is looked at
        ([0, 60, 120], [3]),
        ([0, 60, 150], [2, 1]),  # idle for 90 s
        ([0, 60, 120, 180, 190], [3, 2]),  # open for 180 s
        ([0, 50, 61, 121, 179, 185], [5, 1]),  # old enough at 180, looked at at 185
    ],
)
def test_a_file_rolls_over_when_it_was_open_or_idle_for_too_long(
    storage: Storage, times: list[int], counts: list[int]
) -> None:
    clock = Clock()
    options = SinkOptions(rollover_interval=180, inactivity_interval=90, check_interval=60)
    with TaskWriter(storage, SCHEMA, batch=0, task=0, tasks=1, options=options, clock=clock) as writer:
        for time in times:
            clock.now = time
            writer.write(rows([]))  # time passes without rows, too
            writer.write(rows([time]))
        message = writer.finish()
    assert [file.rows for file in message.files] == counts


def fails_while_writing(writer: TaskWriter) -> None:
    writer.write(rows([3]))
    raise RuntimeError("no more rows")


def is_left(writer: TaskWriter) -> None:
    writer.write(rows([3]))


@pytest.mark.parametrize("how", [fails_while_writing, is_left])
def test_a_task_that_does_not_finish_leaves_nothing(storage: Storage, how: Callable[[TaskWriter], None]) -> None:
    writer = TaskWriter(storage, SCHEMA, batch=0, task=0, tasks=1, options=SinkOptions(file_size=1))
    with pytest.raises(RuntimeError) if how is fails_while_writing else writer, writer:
        writer.write(rows([1, 2]))  # in a file that is closed already
        how(writer)
    assert list(files(storage)) == []


def test_rows_of_another_schema_are_refused(storage: Storage) -> None:
    other = pa.RecordBatch.from_pydict({"id": [1]})
    with pytest.raises(SchemaError, match="expected rows of the schema"):
        write(storage, 0, [other])


def test_a_partition_column_without_a_fixed_text_is_refused(storage: Storage) -> None:
    schema = pa.schema([("day", pa.float64()), ("x", pa.int8())])
    writer = TaskWriter(storage, schema, batch=0, task=0, tasks=1, partition_by=["day"])
    with pytest.raises(SchemaError, match="cannot be part of"):
        writer.write(pa.RecordBatch.from_pydict({"day": [1.5], "x": [1]}, schema=schema))


@pytest.mark.parametrize(
    ("partition_by", "message"),
    [
        (["hour"], "partition column hour: expected once in the rows, found 0 times"),
        (["id", "day", "text"], "expected columns beside the partition columns id, day, text, found none"),
    ],
)
def test_partition_columns_that_do_not_fit_are_refused(storage: Storage, partition_by: list[str], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        TaskWriter(storage, SCHEMA, batch=0, task=0, tasks=1, partition_by=partition_by)


_VIEWS = pa.schema(
    [
        ("day", pa.string_view()),
        ("text", pa.string_view()),
        ("nested", pa.struct([("bytes", pa.list_(pa.binary_view()))])),
        ("few", pa.list_(pa.string_view(), 1)),
        ("many", pa.large_list(pa.string_view())),
        ("map", pa.map_(pa.string(), pa.string_view())),
    ]
)


@pytest.mark.parametrize("partition_by", [[], ["day"]])
def test_texts_in_views_become_plain_texts_also_in_nested_columns(storage: Storage, partition_by: list[str]) -> None:
    values = [
        {"day": day, "text": day * 20, "nested": {"bytes": [b"x"]}, "few": [day], "many": [day], "map": [("k", day)]}
        for day in ("b", "a", "b")
    ]
    batch = pa.RecordBatch.from_pylist(values, schema=_VIEWS)
    with TaskWriter(storage, _VIEWS, batch=0, task=0, tasks=1, partition_by=partition_by) as writer:
        writer.write(batch)
        writer.write(batch.slice(2))
        message = writer.finish()
    tables = [read(storage, file.path) for file in message.files]
    assert sorted(text for table in tables for text in table["text"].to_pylist()) == ["a" * 20, *["b" * 20] * 3]
    assert tables[0].schema.field("text").type == pa.string()
    assert tables[-1].schema.field("nested").type == pa.struct([("bytes", pa.list_(pa.binary()))])
    kept = [name for name in _VIEWS.names if name not in partition_by]
    assert tables[-1].slice(0, 1).to_pylist() == [{name: values[0][name] for name in kept}]


@pytest.mark.parametrize("kind", [pa.struct([]), pa.run_end_encoded(pa.int32(), pa.int64())])
def test_a_column_that_parquet_cannot_hold_is_refused_before_anything_is_written(
    storage: Storage, kind: pa.DataType
) -> None:
    schema = pa.schema([("id", pa.int64()), ("odd", kind)])
    with pytest.raises(SchemaError, match="column odd of type .* cannot be stored in Parquet"):
        TaskWriter(storage, schema, batch=0, task=0, tasks=1)
    assert list(files(storage)) == []
