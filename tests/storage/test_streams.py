"""Output files as Arrow's writers take them, and files whose ranges are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import DecodeError, StorageError
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.streams import ArrowSink, arrow_stream, open_ranges


def test_a_stream_writes_to_the_file_and_leaves_it_open(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    with storage.open_new("a.parquet") as file:
        with arrow_stream(file) as stream:
            pq.write_table(pa.table({"n": [1, 2]}), stream)
            assert stream.tell() > 0
        size = file.size
        file.write(b"!")
    assert storage.read("a.parquet")[size:] == b"!"
    assert pq.read_table(pa.BufferReader(storage.read("a.parquet")[:size])).to_pydict() == {"n": [1, 2]}


def test_buffered_bytes_count_in_the_position(tmp_path: Path) -> None:
    with LocalStorage(tmp_path).open_new("a") as file, arrow_stream(file) as stream:
        stream.write(b"abc")
        assert (stream.tell(), file.size) == (3, 0)


def test_a_sink_that_is_not_open_writes_nothing(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    with storage.open_new("a") as file:
        sink = ArrowSink(file)
        stream = sink.stream()
        stream.write(b"abc")
        sink.is_open = False
        stream.close()
    assert storage.read("a") == b""


def test_a_range_that_cannot_be_read_is_a_storage_error(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.create("a", b"1234")
    with open_ranges(storage, "a") as file:
        assert file.read(2) == b"12"
    with pytest.raises(StorageError, match=r"cannot read .*/a: the connection is gone"), open_ranges(storage, "a"):
        raise OSError("the connection is gone")
    with pytest.raises(DecodeError, match="damaged"), open_ranges(storage, "a"):
        raise DecodeError("damaged")
