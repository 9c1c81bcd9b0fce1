"""Log files and tables on a server that speaks S3, and what goes wrong there."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs

import hudiformat as hf
from hudiformat.errors import StorageError
from hudiformat.storage.arrow import ArrowOutputFile
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Capabilities, Storage
from hudiformat.storage.putting import make_put
from tools.s3_server import KEY, SECRET, S3Server

LOG = ".0a1b-0_20260101000000000.log.1_0-0-0"


INSTANT = "20260101000000000"


BATCH = pa.record_batch({"id": ["a", "b"], "n": [1, None]})


SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("updated", pa.int64()),
        pa.field("delay", pa.int32()),
        pa.field("month", pa.string()),
    ]
)


def rows(*values: tuple[str, int, int | None, str]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, value, strict=True)) for value in values], SCHEMA)


def found(table: hf.Table) -> list[tuple[object, ...]]:
    columns = table.snapshot(columns=SCHEMA.names).to_pylist()
    return sorted(tuple(row.values()) for row in columns)


def test_a_log_file_appears_when_its_writer_is_closed_and_reads_as_it_was_written(bucket: str) -> None:
    with hf.LogWriter(f"{bucket}/table", LOG) as writer:
        writer.append(hf.data_block(BATCH, instant=INSTANT))
        result = writer.append(hf.delete_block(["a"], instant=INSTANT))
        assert open_storage(f"{bucket}/table").list("") == []
    assert result.path == f"{bucket}/table/{LOG}"
    with hf.LogReader(result.path) as reader:
        assert [block.type.name for block in reader] == ["AVRO_DATA", "DELETE"]
        assert [block.type.name for block in reversed(reader)] == ["DELETE", "AVRO_DATA"]
        assert reader.to_arrow().column_names == ["id", "n"]
        assert reader.size == result.offset + result.size
    assert hf.verify_log(result.path) == []


def test_a_log_file_is_rolled_over_and_closed_by_its_size(bucket: str) -> None:
    with hf.LogWriter(f"{bucket}/table", LOG, max_size=1) as writer:
        paths = [writer.append(hf.data_block(BATCH, instant=INSTANT)).path for _ in range(2)]
        assert len(open_storage(f"{bucket}/table").list("")) == 2
    assert [hf.LogReader(path).to_arrow().num_rows for path in paths] == [2, 2]


def test_a_table_lives_on_s3(bucket: str) -> None:
    path = f"{bucket}/flights"
    table = hf.create_table(
        path, name="flights", schema=SCHEMA, record_key=["id"], ordering=["updated"], partition_by=["month"]
    )
    assert table.path == path
    first = table.upsert(rows(("a", 1, 10, "01"), ("b", 1, 20, "01"), ("c", 1, 30, "02")))
    table.upsert(rows(("a", 2, 11, "01"), ("d", 1, None, "02")))
    table.delete(rows(("c", 9, None, "02")))
    table = hf.open_table(path)
    assert found(table) == [("a", 2, 11, "01"), ("b", 1, 20, "01"), ("d", 1, None, "02")]
    assert table.snapshot(as_of=first.instant).num_rows == 3
    assert [instant.is_completed for instant in table.timeline.instants] == [True] * 3
    with pytest.raises(hf.TableExistsError):
        hf.create_table(path, name="flights", schema=SCHEMA, record_key=["id"])


def test_a_write_that_fails_on_s3_is_taken_away(bucket: str) -> None:
    table = hf.create_table(f"{bucket}/t", name="t", schema=SCHEMA, record_key=["id"], ordering=["updated"])
    table.upsert(rows(("a", 1, 10, "01")))
    bad = pa.RecordBatchReader.from_batches(SCHEMA, _break_off(rows(("b", 1, 20, "01"))))
    with pytest.raises(OSError, match="the source broke off"):
        table.upsert(bad)
    storage = open_storage(f"{bucket}/t")
    assert found(hf.open_table(f"{bucket}/t")) == [("a", 1, 10, "01")]
    assert len(table.timeline.instants) == 1
    assert storage.list(".hoodie/.temp") == []


def _break_off(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches()
    raise OSError("the source broke off")


def test_a_table_is_opened_through_a_file_system_that_is_handed_in(s3: S3Server, bucket: str) -> None:
    filesystem = fs.S3FileSystem(access_key=KEY, secret_key=SECRET, endpoint_override=s3.endpoint, region="us-east-1")
    storage = hf.open_storage(f"{bucket}/t", filesystem=filesystem)
    hf.create_table(storage, name="t", schema=SCHEMA, record_key=["id"]).insert(rows(("a", 1, 10, "01")))
    assert found(hf.open_table(f"{bucket}/t")) == [("a", 1, 10, "01")]


def test_parquet_files_of_a_bucket_become_a_table_in_it(bucket: str) -> None:
    storage = open_storage(f"{bucket}/files")
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": ["a", "b"], "ts": [1, 1]}), sink)
    storage.create("p=x/a.parquet", sink.getvalue().to_pybytes())
    hf.adopt(f"{bucket}/files", record_key="id", partition_by="p", ordering="ts")
    assert [entry.name for entry in storage.list("")] == ["_hudi", "p=x"]
    table = hf.open_table(f"{bucket}/files/_hudi", options={"hoodie.bootstrap.base.path": f"{bucket}/files"})
    table.upsert(pa.table({"id": ["b", "c"], "ts": [2, 2], "p": ["x", "x"]}))
    rows_now = table.snapshot(columns=["id", "ts", "p"]).sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in rows_now] == [("a", 1, "x"), ("b", 2, "x"), ("c", 2, "x")]
    assert table.verify() == []


@pytest.fixture
def named(s3: S3Server, bucket: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A URI that says all by itself."""
    for name in s3.environ:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    host = bucket.removeprefix("s3://")
    return f"s3a://{KEY}:{SECRET}@{host}/table?region=us-east-1&scheme=http&endpoint_override=127.0.0.1:{s3.port}"


def test_a_uri_says_who_one_is_and_where(named: str) -> None:
    storage = open_storage(named)
    storage.create("file", b"content")
    assert storage.read("file") == b"content"
    assert storage.capabilities == Capabilities(atomic_create=True, lists_all=True)
    with pytest.raises(StorageError, match="File exists") as caught:
        storage.create("file", b"other")
    assert SECRET not in f"{caught.value!r} {storage.root} {make_put(storage._filesystem)}"  # type: ignore[attr-defined]  # only this storage has it


def test_a_log_file_is_read_by_a_uri_with_options(named: str) -> None:
    with hf.LogWriter(named, LOG) as writer:
        writer.append(hf.data_block(BATCH, instant=INSTANT))
    path, mark, options = named.partition("?")
    assert [block.num_records() for block in hf.LogReader(f"{path}/{LOG}{mark}{options}")] == [2]


def test_who_is_not_known_is_refused_with_the_path(named: str) -> None:
    storage = open_storage(named.replace(SECRET, "wrong"))
    for call in (
        lambda: storage.read("file"),
        lambda: storage.list(""),
        lambda: storage.exists("file"),
        lambda: storage.create("file", b"", overwrite=True),
    ):
        with pytest.raises(StorageError, match="cannot .*table") as caught:
            call()
        assert str(caught.value.path).startswith("s3a://bucket-")
        assert SECRET not in str(caught.value)


def test_a_bucket_that_is_not_there_cannot_be_written(bucket: str) -> None:
    storage = open_storage(f"{bucket}-not-there/table")
    with pytest.raises(StorageError, match="cannot create .*NoSuchBucket"):
        storage.create("file", b"")
    with pytest.raises(StorageError, match="cannot (create|close) .*log"):  # older versions of pyarrow look at once
        storage.open_new("log").close()
    with pytest.raises(StorageError, match="cannot read"):
        storage.read("file")


def test_a_server_that_is_gone_is_an_error_and_no_end_of_waiting(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    gone = open_storage(f"{bucket}/table")
    with pytest.raises(StorageError, match="cannot create .*file"):
        gone.create("file", b"", overwrite=True)


def test_a_rename_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path), filesystem=fs.LocalFileSystem())
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(StorageError, match="cannot create .*folder"):
        storage.create("folder", b"", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_that_another_deletes_first_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage: Storage = open_storage(str(tmp_path), filesystem=fs.LocalFileSystem())
    monkeypatch.setattr(storage, "_type", lambda _path: fs.FileType.File)
    assert not storage.delete("gone")


def test_of_a_file_that_is_given_up_before_its_first_byte_an_object_store_has_nothing() -> None:
    storage: Storage = open_storage(f"/{uuid.uuid4()}", filesystem=MemoryFileSystem())
    for abandoned in (storage.open_new("t/a"), storage.open_new("t/b")):
        abandoned.abandon()
        abandoned.close()
    with pytest.raises(OSError, match="the disk is full"), storage.open_new("t/c"):
        raise OSError("the disk is full")
    assert storage.list("t") == []
    storage.open_new("t/empty").close()
    with storage.open_new("t/d") as file:
        file.sync()
        file.write(b"1")
    assert [(one.name, one.size) for one in sorted(storage.list("t"), key=lambda one: one.name)] == [
        ("d", 1),
        ("empty", 0),
    ]


def test_a_file_system_has_a_file_as_soon_as_it_is_opened(tmp_path: Path) -> None:
    storage: Storage = open_storage(str(tmp_path), filesystem=fs.LocalFileSystem())
    file = storage.open_new("a")
    assert storage.exists("a")
    file.abandon()


class FailingStream:
    closed = False

    def write(self, _data: memoryview) -> int:
        raise OSError("the connection is gone")

    def close(self) -> None:
        raise OSError("the connection is gone")


@pytest.mark.parametrize("act", [lambda file: file.write(b"1"), lambda file: file.close()], ids=["write", "close"])
def test_an_upload_that_fails_is_let_go_of_at_once(act: Callable[[ArrowOutputFile], None]) -> None:
    """It would be finished when the stream is destroyed, perhaps after the file has been deleted."""
    left: list[weakref.ref[FailingStream]] = []

    def opened() -> FailingStream:
        stream = FailingStream()
        left.append(weakref.ref(stream))
        return stream

    file = ArrowOutputFile(cast("Any", opened), "s3://bucket/a")
    failed = False
    try:
        act(file)
    except StorageError:  # pytest.raises would keep the frames of the error, and with them the stream
        failed = True
    assert failed
    assert [one() for one in left] == [None]
    with pytest.raises(StorageError, match="cannot write s3://bucket/a: it is closed"):
        file.write(b"1")
    file.close()
