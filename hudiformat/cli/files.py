"""Files of rows that commands read and write, with the format by their suffix; ``-`` is standard input or output."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import click
import pyarrow as pa
import pyarrow.csv as csv_files
import pyarrow.json as json_files
import pyarrow.parquet as pq

from hudiformat.cli.json_texts import as_texts, from_texts, rewrite_lines
from hudiformat.cli.rows import rows_of
from hudiformat.codec.parquet.dates import StoredDates, open_parquet
from hudiformat.codec.parquet.rows import read_batches
from hudiformat.errors import DataError, HudiFormatError, StorageError

STANDARD = "-"
FORMATS = ("parquet", "arrow", "csv", "jsonl")
_BATCH_ROWS = 65_536
_LINES = 1000
_HEAD = 16 << 20
"""Bytes of JSON lines that are read to find the columns."""
_NULL_LINE = re.compile(rb"\n[ \t\r]*null")
_MAY_BE_NULL = re.compile(rb"[ \t\r]*(?:n|nu|nul)?")

Batches: TypeAlias = Iterator[pa.RecordBatch]


def format_option(of: str) -> Callable[[Any], Any]:
    """Return the option for the format of standard input or output."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        help=f"What {of} has; by default what the end of its name says, for - JSON lines.",
    )


def file_format(path: str, given: str | None, *, of: str = "") -> str:
    """Return the format of the file at *path*; *of* is the option that names the file.

    Raises:
        UsageError: neither the suffix of the file nor ``--format`` gives the format.
    """
    found = given or ("jsonl" if path == STANDARD else Path(path).suffix.lstrip("."))
    if found not in FORMATS:
        raise click.UsageError(f"{of} {path}: expected a file that ends in .{', .'.join(FORMATS)}, or --format".strip())
    return found


@contextmanager
def open_rows(path: str, format_: str, schema: pa.Schema) -> Iterator[pa.RecordBatchReader]:
    """Open a file and yield a reader of its rows; rows of CSV and JSON have the types of *schema*.

    Raises:
        StorageError: the file cannot be read.
        DataError: the file has another format.
    """
    try:
        with nullcontext(sys.stdin.buffer) if path == STANDARD else Path(path).open("rb") as file:
            reader = _READERS[format_](file, schema)
            yield pa.RecordBatchReader.from_batches(reader.schema, _readable(reader, path, format_))
    except OSError as error:
        if isinstance(error, HudiFormatError):
            raise
        raise StorageError(f"cannot read {path}: {error.strerror or error}", path=path) from error
    except pa.ArrowException as error:
        raise _read_error(path, format_, error) from error


def _read_error(path: str, format_: str, error: Exception) -> DataError:
    return DataError(f"{path}: cannot be read as .{format_}: {error}")


def _readable(reader: pa.RecordBatchReader, path: str, format_: str) -> Batches:
    try:
        yield from reader
    except pa.ArrowException as error:
        raise _read_error(path, format_, error) from error


def _read_parquet(file: IO[bytes], _schema: pa.Schema) -> pa.RecordBatchReader:
    opened = open_parquet(file if file.seekable() else io.BytesIO(file.read()))
    return pa.RecordBatchReader.from_batches(StoredDates.of(opened).schema, read_batches(opened, _BATCH_ROWS))


def _read_arrow(file: IO[bytes], _schema: pa.Schema) -> pa.RecordBatchReader:
    """Read an Arrow file or an Arrow stream."""
    source = file if file.seekable() else io.BytesIO(file.read())
    try:
        found = pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)
    numbers = range(found.num_record_batches)
    return pa.RecordBatchReader.from_batches(found.schema, (found.get_batch(number) for number in numbers))


def _read_csv(file: IO[bytes], schema: pa.Schema) -> pa.RecordBatchReader:
    types = csv_files.ConvertOptions(
        column_types=schema,
        null_values=[""],  # as in Spark; NA, null and nan are values
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return csv_files.open_csv(file, convert_options=types)


def _read_jsonl(file: IO[bytes], schema: pa.Schema) -> pa.RecordBatchReader:
    file = rewrite_lines(file, schema)
    head = file.read(_HEAD)
    if not head.strip():
        return pa.RecordBatchReader.from_batches(schema, [])
    names = _columns_of(head)  # other columns are missing, which differs from null in all rows
    given = [field.with_type(as_texts(field.type)) for field in schema if names is None or field.name in names]
    options = json_files.ParseOptions(explicit_schema=pa.schema(given))
    lines = pa.PythonFile(_Objects(head, file), "r")
    if not hasattr(json_files, "open_json"):  # old versions of pyarrow read JSON as a whole
        return from_texts(json_files.read_json(lines, parse_options=options).to_reader(), schema)
    return from_texts(json_files.open_json(lines, parse_options=options), schema)


def _columns_of(head: bytes) -> list[str] | None:
    """Return the columns of the first lines of a file; None if the lines cannot be parsed by themselves."""
    lines = head[: head.rfind(b"\n") + 1] if len(head) == _HEAD else head
    if _NULL_LINE.search(b"\n" + lines):
        return None
    try:
        names: list[str] = json_files.read_json(io.BytesIO(lines)).schema.names
    except pa.ArrowException:
        return None
    return names


class _Objects:
    """A file of JSON lines, checked for two faults that pyarrow's reader does not report.

    It accepts texts that are not UTF-8, and a line ``null`` crashes the whole process.
    """

    closed = False

    def __init__(self, head: bytes, file: IO[bytes]) -> None:
        self._head, self._file = head, file
        self._line = b"\n"
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def read(self, size: int) -> bytes:
        data, self._head = self._head[:size], self._head[size:]
        data = data or self._file.read(size)
        try:
            self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise DataError(f"expected JSON in UTF-8: {error}") from None
        if _NULL_LINE.search(self._line + data):
            raise DataError("expected an object in each line of JSON, found null")
        last = (self._line + data).rpartition(b"\n")[2]
        self._line = b"\n" + last if _MAY_BE_NULL.fullmatch(last) else b"x"
        return data

    def close(self) -> None:
        self.closed = True


_READERS: dict[str, Callable[[IO[bytes], pa.Schema], pa.RecordBatchReader]] = {
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "csv": _read_csv,
    "jsonl": _read_jsonl,
}


def write_rows(path: str, format_: str, schema: pa.Schema, batches: Batches) -> int:
    """Write *batches* atomically to a file, and return the number of rows."""
    with _standard_output() if path == STANDARD else _complete_file(Path(path)) as file:
        return _WRITERS[format_](file, schema, batches)


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def is_device(path: Path) -> bool:
    """Return whether *path* is a pipe or a device, which is written to and never replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def _complete_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces *path* if the block succeeds, and is deleted if it fails.

    A pipe or a device is written to directly: replacing /dev/null by a file would break other programs.

    Raises:
        StorageError: the folder of *path* does not exist.
    """
    if not path.parent.is_dir():
        raise StorageError(f"{path}: there is no folder {path.parent}", path=str(path))
    if is_device(path):
        with path.open("wb") as file:
            yield file
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _to_parquet(file: IO[bytes], schema: pa.Schema, batches: Batches) -> int:
    with pq.ParquetWriter(file, schema) as writer:
        return _write_batches(batches, writer.write_batch)


def _to_arrow(file: IO[bytes], schema: pa.Schema, batches: Batches) -> int:
    make = pa.ipc.new_stream if file is sys.stdout.buffer else pa.ipc.new_file
    with make(file, schema) as writer:
        return _write_batches(batches, writer.write_batch)


def _to_csv(file: IO[bytes], schema: pa.Schema, batches: Batches) -> int:
    try:
        with csv_files.CSVWriter(file, schema) as writer:
            return _write_batches(batches, writer.write_batch)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"cannot be written as CSV: {error}; pick columns, or write .parquet or .jsonl") from error


def _to_json_lines(file: IO[bytes], _schema: pa.Schema, batches: Batches) -> int:
    rows = (row for batch in batches for row in rows_of(batch))
    count = 0
    while lines := [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in islice(rows, _LINES)]:
        file.write("".join(lines).encode())
        count += len(lines)
    return count


_WRITERS: dict[str, Callable[[IO[bytes], pa.Schema, Batches], int]] = {
    "parquet": _to_parquet,
    "arrow": _to_arrow,
    "csv": _to_csv,
    "jsonl": _to_json_lines,
}


def _write_batches(batches: Batches, write: Callable[[pa.RecordBatch], Any]) -> int:
    count = 0
    for batch in batches:
        write(batch)
        count += batch.num_rows
    return count
