"""Open a Parquet file whose row groups are copied: its footer, and the offsets of its chunks."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.codec.parquet.dates import CALENDAR_KEYS, LEGACY_DATES, LEGACY_INT96, is_legacy
from hudiformat.codec.parquet.thrift import Items, Kind, Struct, decode_struct
from hudiformat.errors import DecodeError, UnsupportedFeatureError

MAGIC = b"PAR1"
OWN_WRITER = b"hudiformat version 1"
"""What ``created_by`` says of files whose footers are made here."""
_ENCRYPTED = b"PARE"
_TAIL = 1 << 16
# parquet-cpp before 1.3.0 does not count the header of the dictionary page (PARQUET-816).  parquet-mr before 1.10.0 has
# wrong bounds of texts (PARQUET-251); readers ignore them because of the name of the writer in the footer.
_OLD_CPP = re.compile(r"parquet-cpp version (0|1\.[0-2])\.")
_ARROW = b"ARROW:schema"
_OLD_JAVA = re.compile(r"parquet-mr version 1\.[0-9]\.")


class FileField:
    """The fields of FileMetaData that are used here."""

    SCHEMA, ROWS, ROW_GROUPS, METADATA, CREATED_BY, COLUMN_ORDERS = 2, 3, 4, 5, 6, 7
    ENCRYPTION = 8


class ElementField:
    """The fields of SchemaElement that are used here."""

    TYPE, REPETITION, NAME, CHILDREN = 1, 3, 4, 5


class GroupField:
    """The fields of RowGroup that are used here."""

    COLUMNS, BYTES, ROWS, FILE_OFFSET, COMPRESSED, ORDINAL = 1, 2, 3, 5, 6, 7


class ChunkField:
    """The fields of ColumnChunk that are used here."""

    FILE, FILE_OFFSET, METADATA = 1, 2, 3
    OFFSET_INDEX, OFFSET_INDEX_LENGTH, COLUMN_INDEX, COLUMN_INDEX_LENGTH = 4, 5, 6, 7
    ENCRYPTION = 8


class PageField:
    """The fields of PageHeader that are used here."""

    COMPRESSED = 3


class ColumnField:
    """The fields of ColumnMetaData that are used here."""

    TYPE, ENCODINGS, PATH, CODEC, VALUES, UNCOMPRESSED, COMPRESSED = 1, 2, 3, 4, 5, 6, 7
    DATA, INDEX_PAGE, DICTIONARY = 9, 10, 11
    STATISTICS, BLOOM, BLOOM_LENGTH = 12, 14, 15


PAGE_OFFSET_FIELDS = (ColumnField.DATA, ColumnField.INDEX_PAGE, ColumnField.DICTIONARY)
"""The fields with offsets of pages; the first page of a chunk is at the lowest of them."""


def number_field(struct: Struct, field: int, default: int = 0) -> int:
    """Return the value of a field that is a number from 0 on; *default* if it is absent.

    Raises:
        DecodeError: the field is something else.
    """
    value = struct[field].value if field in struct else default
    if not isinstance(value, int) or value < 0:
        raise DecodeError(f"field {field} of the footer: expected a number from 0 on, found {value!r}")
    return value


def text_field(struct: Struct, field: int) -> bytes:
    """Return the value of a field that is a text; empty if it is absent.

    Raises:
        DecodeError: the field is something else.
    """
    value = struct[field].value if field in struct else b""
    if not isinstance(value, bytes):
        raise DecodeError(f"field {field} of the footer: expected a text, found {value!r}")
    return value


def struct_field(struct: Struct, field: int) -> Struct:
    """Return the value of a field that is a struct.

    Raises:
        DecodeError: the field is absent, or something else.
    """
    value = struct[field].value if field in struct else None
    if not isinstance(value, dict):
        raise DecodeError(f"field {field} of the footer: expected a struct, found {value!r}")
    return value


def struct_list_field(struct: Struct, field: int) -> list[Struct]:
    """Return the value of a field that is a list of structs; empty if it is absent.

    Raises:
        DecodeError: the field is something else.
    """
    value = struct[field].value if field in struct else Items(Kind.STRUCT, ())
    if not isinstance(value, Items) or value.kind is not Kind.STRUCT:
        raise DecodeError(f"field {field} of the footer: expected a list of structs, found {value!r}")
    return [item for item in value.values if isinstance(item, dict)]


@dataclass(frozen=True, slots=True)
class ParquetSource:
    """An open Parquet file: ``footer`` is its FileMetaData, which begins at byte ``end``."""

    file: pa.NativeFile
    path: str
    footer: Struct
    end: int

    @classmethod
    def open(cls, file: pa.NativeFile, path: str) -> ParquetSource:
        """Read the footer of *file*; *path* is for messages.

        Raises:
            DecodeError: the file is no Parquet file, or its footer is damaged.
            UnsupportedFeatureError: row groups of this file cannot be copied; they have to be decoded.
        """
        size = file.size()
        tail = file.read_at(min(size, _TAIL), max(size - _TAIL, 0))
        if tail[-4:] == _ENCRYPTED:
            raise _cannot_copy(path, "its footer is encrypted")
        length = int.from_bytes(tail[-8:-4], "little")
        end = size - 8 - length
        if tail[-4:] != MAGIC or end < len(MAGIC):
            raise DecodeError(
                f"{path}: expected a Parquet file, found {size} bytes that end in {tail[-8:]!r}", path=path
            )
        encoded = tail[-8 - length : -8] if length + 8 <= len(tail) else file.read_at(length, end)
        source = cls(file, path, decode_struct(encoded)[0], end)
        source._check()
        return source

    @property
    def groups(self) -> list[Struct]:
        """The row groups."""
        return struct_list_field(self.footer, FileField.ROW_GROUPS)

    @property
    def group_rows(self) -> list[int]:
        """The number of rows of each row group."""
        return [number_field(group, GroupField.ROWS) for group in self.groups]

    @property
    def created_by(self) -> str:
        """The name and version of the writer."""
        return text_field(self.footer, FileField.CREATED_BY).decode("utf-8", "replace")

    def difference(self, other: ParquetSource) -> str | None:
        """Return why row groups of both files cannot be in one file; None if they can."""
        for name, field in (("schema", FileField.SCHEMA), ("order of values", FileField.COLUMN_ORDERS)):
            if self.footer.get(field) != other.footer.get(field):
                return f"{other.path}: expected the {name} of {self.path}, found another one"
        if other_texts := self._differing_key(other):
            return f"{other.path}: expected the {other_texts.decode()} of {self.path}, found another one"
        writers = {self.created_by, other.created_by}
        if len(writers) > 1 and any(map(_OLD_JAVA.match, writers)):
            return f"{other.path}: expected the writer of {self.path}, whose statistics differ, found {sorted(writers)}"
        return None

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The texts of the footer by their keys."""
        return {text_field(pair, 1): text_field(pair, 2) for pair in struct_list_field(self.footer, FileField.METADATA)}

    def _differing_key(self, other: ParquetSource) -> bytes | None:
        """Return a key of the footer whose text decides how values are read, and differs; None if there is none."""
        own, others = self.metadata, other.metadata
        if _ARROW in own and _ARROW in others and not _same_arrow_schema(own[_ARROW], others[_ARROW]):
            return _ARROW
        keys = CALENDAR_KEYS if is_legacy(own) or is_legacy(others) else (LEGACY_DATES, LEGACY_INT96)
        return next((key for key in keys if own.get(key) != others.get(key)), None)

    def chunks_of(self, group: int, names: Collection[str]) -> dict[str, Chunk]:
        """Return the chunks of the columns *names* in a row group."""
        found = struct_list_field(self.groups[group], GroupField.COLUMNS)
        return {name: Chunk(self, chunk) for chunk in found if (name := column_name(chunk)) in names}

    def chunk_range(self, chunk: Struct) -> tuple[int, int]:
        """Return the offsets in bytes of a chunk's first page, and just after its last one.

        Raises:
            DecodeError: they are not in the file.
        """
        column = struct_field(chunk, ChunkField.METADATA)
        offsets = [
            number_field(column, field) for field in (ColumnField.DATA, ColumnField.INDEX_PAGE, ColumnField.DICTIONARY)
        ]
        start = min(filter(None, offsets), default=0)
        stop = start + number_field(column, ColumnField.COMPRESSED)
        self.check_range("a column chunk", start, stop)
        return start, stop

    def check_range(self, what: str, start: int, stop: int) -> None:
        """Check that the bytes from *start* to *stop* lie between the file's magic and its footer.

        Raises:
            DecodeError: they do not.
        """
        if not len(MAGIC) <= start <= stop <= self.end:
            raise DecodeError(
                f"{self.path}: expected {what} in bytes 4 to {self.end}, found {start} to {stop}", path=self.path
            )

    def read(self, what: str, start: int, length: int) -> bytes:
        """Return *length* bytes from *start* on; *what* names them in the error.

        Raises:
            DecodeError: they are not in the file.
        """
        self.check_range(what, start, start + length)
        data: bytes = self.file.read_at(length, start)
        return data

    def view(self, what: str, start: int, length: int) -> memoryview:
        """Return what :meth:`read` returns, without a copy if the file is in memory; only one thread may call it.

        Raises:
            DecodeError: they are not in the file.
        """
        self.check_range(what, start, start + length)
        self.file.seek(start)
        return memoryview(self.file.read_buffer(length))

    def _check(self) -> None:
        if FileField.ENCRYPTION in self.footer:
            raise _cannot_copy(self.path, "it is encrypted")
        if _OLD_CPP.match(self.created_by):
            raise _cannot_copy(self.path, f"sizes of chunks written by {self.created_by} are too small")
        for chunk in chunks(self.groups):
            if ChunkField.FILE in chunk:
                raise _cannot_copy(self.path, f"its columns are in the file {text_field(chunk, ChunkField.FILE)!r}")
            if ChunkField.ENCRYPTION in chunk:
                raise _cannot_copy(self.path, "a column is encrypted")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column chunk of a row group: its ``struct`` in the footer of ``source``, which has its pages."""

    source: ParquetSource
    struct: Struct

    @property
    def values(self) -> int:
        """The number of values, nulls among them; in a column that is not nested, of rows."""
        return number_field(struct_field(self.struct, ChunkField.METADATA), ColumnField.VALUES)


def column_path(chunk: Struct) -> tuple[str, ...]:
    """Return the names that lead to a chunk's column: one, and those of its fields if it is nested."""
    path = struct_field(chunk, ChunkField.METADATA)[ColumnField.PATH].value
    parts = path.values if isinstance(path, Items) else ()
    return tuple(part.decode() for part in parts if isinstance(part, bytes))


def column_name(chunk: Struct) -> str:
    """Return the name of a chunk's column, that of a nested one with points."""
    return ".".join(column_path(chunk))


def chunks(groups: Sequence[Struct]) -> list[Struct]:
    """Return the column chunks of row groups."""
    return [chunk for group in groups for chunk in struct_list_field(group, GroupField.COLUMNS)]


def _cannot_copy(path: str, reason: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{path}: expected row groups that can be copied undecoded, found that {reason}; decode them"
    )


def _same_arrow_schema(first: bytes, second: bytes) -> bool:
    """Return whether two texts, in base64, are the same Arrow schema; the names of list items may differ."""
    if first == second:
        return True
    try:
        found = [pa.ipc.read_schema(pa.BufferReader(base64.b64decode(one))) for one in (first, second)]
    except (ValueError, OSError, pa.ArrowException):
        return False
    return bool(found[0].equals(found[1]))
