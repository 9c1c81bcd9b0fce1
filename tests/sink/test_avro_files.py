"""Avro files of the sink, and what fastavro and polars read from them."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from hudiformat.codec.avro.container import ContainerReader
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.errors import CorruptBlockError, DataError, EncodeError, SchemaError, TruncatedBlockError
from hudiformat.sink import FileSink, SinkOptions, TaskWriter, avro_files, parquet, parse_sink_options
from hudiformat.sink.avro_files import AvroRows, AvroSchema, merge_files
from hudiformat.sink.options import Codec
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage
from hudiformat.testing import batches
from tests.codec.avro.reference import plain
from tests.effort import examples
from tests.memory_files import memory_files
from tests.sink.support import ids, read, rows, visible, write

SMALL = pa.schema([pa.field("a", pa.int64(), nullable=False)])
TEXT = '{"type":"record","name":"record","namespace":"hudiformat","fields":[{"name":"a","type":"long"}]}'
SYNC = bytes.fromhex("7e96568ee4bfbcf1a4a2222dd1532288")
# The worked example of spec/sink.md
HEADER = (
    b"Obj\x01"
    b"\x04"  # two entries
    b"\x16avro.schema"  # 11 bytes
    b"\xc0\x01" + TEXT.encode() + b"\x14avro.codec" + b"\x08null" + b"\x00"  # 96 bytes  # no more entries
)
EXAMPLE = HEADER + SYNC + b"\x06\x08" + b"\x02\x03\x80\x01" + SYNC  # three records in four bytes: 1, -2, 64


@pytest.fixture
def storage() -> Storage:
    return memory_files()


def container(
    storage: Storage, path: str, *data: pa.RecordBatch, codec: Codec = Codec.NULL, label: str = "7-00000-00000"
) -> bytes:
    """The file at *path*, with a flush after each batch."""
    with storage.open_new(path) as file:
        found = AvroRows(file, AvroSchema.of(data[0].schema, codec), label)
        for batch in data:
            found.write(batch)
            found.flush()
        assert found.close() == found.written == file.size
        assert (found.rows, found.waiting) == (sum(batch.num_rows for batch in data), 0)
    return storage.read(path)


def read_back(data: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(data)))


def counts(storage: Storage, path: str) -> list[int]:
    """The records of each block."""
    with storage.open_input(path) as opened:
        return [records for records, _ in ContainerReader(opened, path).blocks()]


def small(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"a": list(values)}, schema=SMALL)


def test_the_worked_example_of_the_spec_page(storage: Storage) -> None:
    assert container(storage, "a", small(1, -2, 64)) == EXAMPLE
    assert read_back(EXAMPLE) == [{"a": 1}, {"a": -2}, {"a": 64}]
    with storage.open_input("a") as opened:
        reader = ContainerReader(opened, "a")
        assert reader.metadata == {"avro.schema": TEXT.encode(), "avro.codec": b"null"}
        assert reader.sync == SYNC
        assert list(reader.blocks()) == [(3, b"\x02\x03\x80\x01")]


def test_the_same_rows_give_the_same_file_and_another_label_another_marker(storage: Storage) -> None:
    first, second, third = (container(storage, name, small(1), label=name[0]) for name in ("a1", "a2", "b1"))
    assert first == second
    assert first[-16:] != third[-16:]
    assert first[: len(HEADER)] == third[: len(HEADER)] == HEADER


@pytest.mark.parametrize("codec", [Codec.NULL, Codec.DEFLATE, Codec.BZIP2, Codec.XZ])
def test_fastavro_reads_every_codec_that_it_has(storage: Storage, codec: Codec) -> None:
    data = container(storage, "a", rows(range(100)), rows([7, 8]), codec=codec)
    assert fastavro.reader(io.BytesIO(data)).codec == codec.value
    assert read_back(data) == [*rows(range(100)).to_pylist(), *rows([7, 8]).to_pylist()]


def test_polars_reads_snappy(storage: Storage) -> None:
    polars = pytest.importorskip("polars")
    data = container(storage, "a", rows(range(100)), rows([7, 8]), codec=Codec.SNAPPY)
    assert polars.read_avro(io.BytesIO(data)).to_dicts() == [*rows(range(100)).to_pylist(), *rows([7, 8]).to_pylist()]
    assert len(data) < len(container(storage, "b", rows(range(100)), rows([7, 8])))


@settings(
    max_examples=examples(16),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(first=batches(varied=True))
def test_fastavro_reads_rows_of_every_type_and_merged_ones_in_their_order(first: pa.RecordBatch) -> None:
    storage = memory_files()
    schema = AvroSchema.of(first.schema, Codec.DEFLATE)
    fitted = convert_to_schema(first, avro_to_arrow(schema.text))
    expected = [
        {field.name: plain(row[field.name], field.type) for field in fitted.schema} for row in fitted.to_pylist()
    ]
    for name in ("a", "b"):
        data = container(storage, name, first, codec=Codec.DEFLATE, label=name)
        assert _utc(repr(read_back(data))) == _utc(repr(expected))
    merge_files(storage, ["a", "b"], "c")
    assert _utc(repr(read_back(storage.read("c")))) == _utc(repr(expected * 2))


def _utc(text: str) -> str:
    """Arrow and fastavro name UTC by different classes."""
    for name in ("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc", "<UTC>"):
        text = text.replace(name, "UTC")
    return text


def test_blocks_end_where_they_are_full(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_files, "BLOCK", 800)  # of eight bytes each
    with storage.open_new("a") as file:
        found = AvroRows(file, AvroSchema.of(SMALL, Codec.NULL), "0")
        for _ in range(3):
            found.write(small(*range(60)))
        assert (found.rows, found.waiting, found.flushed) == (180, 480, 960)
        found.write(small(*range(600)))
        found.close()
    assert counts(storage, "a") == [120, *[110] * 6]
    assert [row["a"] for row in read_back(storage.read("a"))] == [*range(60)] * 3 + [*range(600)]


def test_rows_with_unlike_dictionaries_go_to_one_block(storage: Storage) -> None:
    schema = pa.schema([("a", pa.dictionary(pa.int32(), pa.string()))])
    with storage.open_new("a") as file:
        found = AvroRows(file, AvroSchema.of(schema, Codec.NULL), "0")
        for values in (["x", None, "x"], ["y", "x"]):
            found.write(pa.RecordBatch.from_pydict({"a": values}, schema=schema))
        found.close()
    assert counts(storage, "a") == [5]
    assert [row["a"] for row in read_back(storage.read("a"))] == ["x", None, "x", "y", "x"]


@pytest.mark.parametrize("data", [[], [small()]], ids=["nothing", "a batch without rows"])
def test_a_file_without_rows_is_a_header(storage: Storage, data: list[pa.RecordBatch]) -> None:
    assert container(storage, "a", *data or [small()]) == HEADER + SYNC


def test_merging_copies_blocks_as_they_are_and_changes_the_marker(storage: Storage) -> None:
    container(storage, "a", small(1, -2, 64))
    other = container(storage, "b", small(5), small(6), label="1")
    assert other[len(HEADER) : len(HEADER) + 16] != SYNC
    merge_files(storage, ["a", "b"], "c")
    assert storage.read("c") == EXAMPLE + b"\x02\x02\x0a" + SYNC + b"\x02\x02\x0c" + SYNC
    assert counts(storage, "c") == [3, 1, 1]


def test_merging_needs_the_memory_of_a_block(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    text = pa.RecordBatch.from_pydict({"a": ["x" * 100_000]})
    for name in ("a", "b"):
        container(storage, name, *[text] * 100)
    tracemalloc.start()
    try:
        merge_files(storage, ["a", "b"], "c")
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert (tmp_path / "c").stat().st_size > 20_000_000


def avro_sink(**more: str) -> SinkOptions:
    given = {key.replace("_", "-"): value for key, value in more.items()}
    return parse_sink_options({"format": "avro", "avro.codec": "deflate", "auto-compaction": "true", **given})


def test_a_task_s_files_are_merged_and_shown() -> None:
    storage, options = memory_files(), avro_sink()
    tasks = [[rows([1, 2]), rows([3], "2")], [rows([4])]]
    messages = write(storage, 0, *tasks, options=options, attempt="a")
    assert [file.name for file in messages[0].files] == ["00000-00000-a.avro", "00000-00001-a.avro"]
    FileSink(storage, options).commit(messages)
    assert visible(storage) == [
        "day=1/compacted-part-0000000000-00000-00000-a.avro",
        "day=2/part-0000000000-00000-00001-a.avro",
    ]
    assert ids(storage) == [1, 2, 4, 3]
    assert read(storage, visible(storage)[0]).column_names == ["id", "text"]


def test_the_same_batch_gives_the_same_files_whatever_the_attempt() -> None:
    found = []
    for _ in range(2):
        storage = memory_files()
        FileSink(storage, avro_sink()).commit(write(storage, 3, [rows([1])], [rows([2])], options=avro_sink()))
        found.append([storage.read(path) for path in visible(storage)])
    assert len(found[0]) == 1
    assert found[0] == found[1]


def test_avro_files_roll_over_when_they_are_larger_than_asked(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avro_files, "BLOCK", 50_000)
    options = parse_sink_options({"format": "avro", "avro.codec": "null", "sink.rolling-policy.file-size": "250000"})
    noise = [pa.RecordBatch.from_pydict({"text": ["x" * 1000] * 100}) for _ in range(10)]
    with TaskWriter(storage, noise[0].schema, batch=0, task=0, tasks=1, options=options) as writer:
        for batch in noise:
            writer.write(batch)
        message = writer.finish()
    assert [file.rows for file in message.files] == [300, 300, 300, 100]
    assert all(250_000 < file.size < 330_000 for file in message.files[:3])


def test_a_type_that_avro_does_not_have_is_refused_before_anything_is_written(storage: Storage) -> None:
    schema = pa.schema([("day", pa.string()), ("long", pa.duration("s"))])
    with pytest.raises(SchemaError, match="column long of type duration.* cannot be stored: Avro has no such type"):
        TaskWriter(storage, schema, batch=0, task=0, tasks=1, partition_by=["day"], options=avro_sink())
    assert storage.list("") == []


def test_a_null_in_a_column_that_has_none_is_refused(storage: Storage) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1, None], pa.int64())], schema=SMALL)
    with pytest.raises(DataError, match="column a is not nullable and has a null"):
        container(storage, "a", batch)


def test_a_block_that_readers_do_not_take_is_refused(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_files, "INT32_MAX", 3)
    with pytest.raises(EncodeError, match="a block of 4 bytes: Avro's readers accept less than 2 GiB"):
        container(storage, "a", small(1, -2, 64))


def other_schema(storage: Storage) -> None:
    container(storage, "b", rows([1]))


def other_codec(storage: Storage) -> None:
    container(storage, "b", small(1), codec=Codec.XZ)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (other_schema, "b: expected the avro.schema of the files before, .*found .*: write a batch with one schema"),
        (other_codec, "b: expected the avro.codec of the files before, b'null', found b'xz'"),
    ],
)
def test_files_that_are_unlike_are_not_merged(storage: Storage, make: Callable[[Storage], None], message: str) -> None:
    container(storage, "a", small(1))
    make(storage)
    with pytest.raises(SchemaError, match=message):
        merge_files(storage, ["a", "b"], "c")


def test_parquet_files_that_are_unlike_are_not_merged_either(storage: Storage) -> None:
    for name, batch in (("a", small(1)), ("b", rows([1]))):
        with storage.open_new(name) as file:
            written = parquet.ParquetRows(file, batch.schema)
            written.write(batch)
            written.close()
    with pytest.raises(SchemaError, match="b: expected the schema of the files before\na: int64"):
        parquet.merge_files(storage, ["a", "b"], "c")


BLOCK_AT = len(HEADER) + 16


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PAR1" + EXAMPLE, r"at byte 0: a: expected an Avro file, b'Obj\\x01', found b'PAR1'"),
        (EXAMPLE[:-1] + b"x", f"at byte {BLOCK_AT + 6}: a: expected the sync marker {SYNC.hex()} after a block, found"),
        (EXAMPLE[:BLOCK_AT] + b"\x05" + EXAMPLE[BLOCK_AT:], f"at byte {BLOCK_AT}: a: expected a length or count"),
        (EXAMPLE[:BLOCK_AT] + b"\xff" * 10 + EXAMPLE, f"at byte {BLOCK_AT}: a: expected a length or count from 0 on"),
    ],
    ids=["no Avro", "another marker", "a negative count", "a number without end"],
)
def test_damage_is_found_while_merging(storage: Storage, data: bytes, message: str) -> None:
    storage.create("a", data)
    with pytest.raises(CorruptBlockError, match=message):
        merge_files(storage, ["a"], "b")


@pytest.mark.parametrize("end", [0, 3, 20, len(HEADER), BLOCK_AT + 1, BLOCK_AT + 3, len(EXAMPLE) - 1])
def test_a_file_that_ends_early_is_found_while_merging(storage: Storage, end: int) -> None:
    storage.create("a", EXAMPLE[:end])
    with pytest.raises(TruncatedBlockError, match="a: expected [0-9]+ bytes, [0-9]+ are left"):
        merge_files(storage, ["a"], "b")


def test_a_length_of_any_size_takes_no_memory(storage: Storage) -> None:
    storage.create("a", EXAMPLE[: BLOCK_AT + 1] + b"\xfe" * 8 + b"\x01" + EXAMPLE)
    with pytest.raises(TruncatedBlockError, match="a: expected [0-9]{17,} bytes"):
        merge_files(storage, ["a"], "b")
