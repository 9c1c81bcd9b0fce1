"""Copy row groups from Parquet files into one, byte for byte: no page is decompressed or decoded.

Only offsets in the file are changed: those in the footer, and those of pages in offset indexes.  Rules:
spec/parquet-copy.md.

A chunk of 300 bytes that begins at byte 4 of its file is copied to byte 1004 of the new one:

    chunk_range         (4, 304)                the bytes to copy
    moved by            1000                    1004 - 4
    footer of the old   dictionary page at 4, data pages from 104 on, offset index at 900 with pages at 104 and 204
    footer of the new   dictionary page at 1004, data pages from 1104 on
    indexes             written behind all row groups, with pages at 1104 and 1204; then the footer locates them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hudiformat.codec.parquet.constants import constant_chunk
from hudiformat.codec.parquet.dates import CALENDAR_KEYS, is_legacy
from hudiformat.codec.parquet.source import (
    MAGIC,
    OWN_WRITER,
    PAGE_OFFSET_FIELDS,
    Chunk,
    ChunkField,
    ColumnField,
    FileField,
    GroupField,
    ParquetSource,
    column_name,
    number_field,
    struct_field,
    struct_list_field,
)
from hudiformat.codec.parquet.thrift import Field, Items, Kind, Struct, Value, decode_struct, encode_struct
from hudiformat.errors import DataError, SchemaError
from hudiformat.storage.protocol import OutputFile, Storage
from hudiformat.storage.streams import open_ranges

_PIECE = 4 << 20
"""Pages are copied in pieces of up to this many bytes."""
_BLOOM_HEADER = 64
"""The header of a bloom filter, of about 15 bytes, is within this many bytes."""
_ORDINALS = 1 << 15


@dataclass(frozen=True, slots=True)
class _Indexes:
    """A chunk's indexes of pages; they are written behind the last row group."""

    column: bytes | None
    offset: bytes | None


@dataclass(frozen=True, slots=True)
class _CopiedGroup:
    """A row group of the new file, with a chunk and its indexes for each column."""

    group: Struct
    chunks: tuple[tuple[Struct, _Indexes], ...]


class RowGroupCopier:
    """Writes a Parquet file into *output* by copying row groups of other files, in the order in which they are added.

    *output* is empty, and is closed by its owner.  The first source determines the schema.  A few MiB of pages, the
    footer and the indexes of pages are in memory.

    Source: ParquetFileWriter.appendRowGroup of parquet-mr, HoodieBinaryCopyHandle of Hudi.
    """

    def __init__(self, output: OutputFile) -> None:
        self._output = output
        self._first: ParquetSource | None = None
        self._groups: list[_CopiedGroup] = []
        self._writers: set[str] = set()
        output.write(MAGIC)

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return sum(number_field(copied.group, GroupField.ROWS) for copied in self._groups)

    def append(
        self, source: ParquetSource, groups: Sequence[int] | None = None, *, constants: Mapping[str, str] | None = None
    ) -> None:
        """Add row groups of *source*, by default all; row groups without rows are left out.

        *constants* are columns of texts, by name, that get one value in all rows instead of their own values: used for
        the names of files in Hudi's meta fields.

        Raises:
            SchemaError: the schema is not that of the first source, or has no such column of texts.
            DecodeError: the footer of *source* points out of the file.
        """
        self._begin(source)
        found = source.groups
        for index in range(len(found)) if groups is None else groups:
            if number_field(found[index], GroupField.ROWS):
                self._groups.append(self._copy_group(source, found[index], constants or {}))

    def assemble(self, schema: ParquetSource, rows: int, chunks: Sequence[Chunk]) -> None:
        """Add a row group of *rows* rows, made of *chunks*, one for each column of the file *schema* in its order.

        Raises:
            SchemaError: the schema is not that of the first source.
            DecodeError: a chunk points out of its file.
        """
        self._begin(schema)
        self._groups.append(self._copy_chunks({GroupField.ROWS: Field(Kind.I64, rows)}, chunks))

    @property
    def column_sizes(self) -> dict[str, tuple[int, int]]:
        """The bytes of each column so far, by its path, and its bytes uncompressed."""
        sizes: dict[str, tuple[int, int]] = {}
        for chunk, _ in (one for copied in self._groups for one in copied.chunks):
            column, name = struct_field(chunk, ChunkField.METADATA), column_name(chunk)
            size, uncompressed = sizes.get(name, (0, 0))
            sizes[name] = (
                size + number_field(column, ColumnField.COMPRESSED),
                uncompressed + number_field(column, ColumnField.UNCOMPRESSED),
            )
        return sizes

    def _begin(self, source: ParquetSource) -> None:
        if self._first and (difference := self._first.difference(source)):
            raise SchemaError(f"{difference}; decode the rows and write them with one schema")
        self._first = self._first or source
        self._writers.add(source.created_by)

    def close(self, metadata: Mapping[bytes, bytes] | None = None) -> int:
        """Write the indexes and the footer; return the size of the file in bytes.

        *metadata* are the texts of the footer by their keys, by default the texts of the first source.  What the first
        source says about the legacy calendar is kept in any case, because it holds for all copied pages.

        Raises:
            DataError: no source was added, so there is no schema.
        """
        if self._first is None:
            raise DataError("expected row groups to copy, found no file: add one")
        columns = [self._write_indexes(copied, _column_index) for copied in self._groups]
        offsets = [self._write_indexes(copied, _offset_index) for copied in self._groups]
        groups = [
            _finish_group(copied.group, position, [chunk for chunk, _ in copied.chunks], *places)
            for position, (copied, *places) in enumerate(zip(self._groups, columns, offsets, strict=True))
        ]
        footer = encode_struct(self._footer(self._first, groups, metadata))
        self._output.write(footer, len(footer).to_bytes(4, "little"), MAGIC)
        return self._output.size

    def _copy_group(self, source: ParquetSource, group: Struct, constants: Mapping[str, str]) -> _CopiedGroup:
        rows = number_field(group, GroupField.ROWS)
        parts: list[Chunk] = []
        names = set(constants)
        for chunk in struct_list_field(group, GroupField.COLUMNS):
            name = column_name(chunk)
            if name in names:
                names.remove(name)
                codec = number_field(struct_field(chunk, ChunkField.METADATA), ColumnField.CODEC)
                parts.append(constant_chunk(source, name, constants[name], rows, codec=codec))
            else:
                parts.append(Chunk(source, chunk))
        if names:
            raise SchemaError(f"{source.path}: expected columns {sorted(names)} of texts, found none of these names")
        return self._copy_chunks(group, parts)

    def _copy_chunks(self, group: Struct, parts: Sequence[Chunk]) -> _CopiedGroup:
        """Copy the chunks of a row group, and return it."""
        start = self._output.size
        moved = self._copy_pages(parts)
        chunks = tuple(
            (self._move_bloom(part.source, part.struct, new), _read_indexes(part.source, part.struct, new))
            for part, new in zip(parts, moved, strict=True)
        )
        return _CopiedGroup(_update_group(group, start, [chunk for chunk, _ in chunks]), chunks)

    def _copy_pages(self, parts: Sequence[Chunk]) -> list[Struct]:
        """Copy the pages of chunks, and return the chunks with their new offsets.

        Chunks that follow each other in one file are read together.
        """
        moved = []
        waiting: tuple[ParquetSource, int, int] | None = None
        position = self._output.size
        for source, chunk in ((part.source, part.struct) for part in parts):
            start, stop = source.chunk_range(chunk)
            if waiting and waiting[0] is source and waiting[2] == start:
                waiting = (source, waiting[1], stop)
            else:
                self._copy_bytes(waiting)
                waiting = (source, start, stop)
            moved.append(_move_chunk(chunk, position - start))
            position += stop - start
        self._copy_bytes(waiting)
        return moved

    def _copy_bytes(self, span: tuple[ParquetSource, int, int] | None) -> None:
        if span is None:
            return
        source, start, stop = span
        for offset in range(start, stop, _PIECE):
            self._output.write(source.view("pages", offset, min(_PIECE, stop - offset)))

    def _move_bloom(self, source: ParquetSource, old: Struct, new: Struct) -> Struct:
        """Copy a chunk's bloom filter, if it has one, to the end of the file as it is now."""
        column = struct_field(old, ChunkField.METADATA)
        if ColumnField.BLOOM not in column:
            return new
        offset = number_field(column, ColumnField.BLOOM)
        length = number_field(column, ColumnField.BLOOM_LENGTH) or _bloom_length(source, offset)
        position = self._output.size
        for start in range(0, length, _PIECE):
            self._output.write(source.read("a bloom filter", offset + start, min(_PIECE, length - start)))
        changes = {ColumnField.BLOOM: (Kind.I64, position), ColumnField.BLOOM_LENGTH: (Kind.I32, length)}
        return _with_fields(
            new, {ChunkField.METADATA: (Kind.STRUCT, _with_fields(struct_field(new, ChunkField.METADATA), changes))}
        )

    def _write_indexes(
        self, copied: _CopiedGroup, which: Callable[[_Indexes], bytes | None]
    ) -> list[tuple[int, int] | None]:
        """Write one index of each chunk of a row group; return their offsets and lengths in bytes."""
        places: list[tuple[int, int] | None] = []
        for _, indexes in copied.chunks:
            data = which(indexes)
            places.append((self._output.size, len(data)) if data is not None else None)
            if data is not None:
                self._output.write(data)
        return places

    def _footer(self, first: ParquetSource, groups: Sequence[Struct], metadata: Mapping[bytes, bytes] | None) -> Struct:
        changes: dict[int, tuple[Kind, Value]] = {
            FileField.ROWS: (Kind.I64, self.rows),
            FileField.ROW_GROUPS: (Kind.LIST, Items(Kind.STRUCT, tuple(groups))),
        }
        if metadata is not None:
            kept = {key: text for key, text in first.metadata.items() if key in CALENDAR_KEYS}
            metadata = {**metadata, **(kept if is_legacy(kept) else {})}
            pairs = tuple({1: Field(Kind.BINARY, key), 2: Field(Kind.BINARY, value)} for key, value in metadata.items())
            changes[FileField.METADATA] = (Kind.LIST, Items(Kind.STRUCT, pairs))
        if len(self._writers) > 1:
            changes[FileField.CREATED_BY] = (Kind.BINARY, OWN_WRITER)
        return _with_fields(first.footer, changes)


def copy_row_groups(
    storage: Storage, sources: Sequence[str], target: str, *, metadata: Mapping[bytes, bytes] | None = None
) -> int:
    """Write the row groups of *sources*, in their order, to the new Parquet file *target*; return its size in bytes.

    *metadata* is as in :meth:`RowGroupCopier.close`.  If the file cannot be written to its end, it is deleted.

    Raises:
        SchemaError: the files have different schemas.
        DecodeError: a source is no Parquet file, or is damaged.
        UnsupportedFeatureError: a source is encrypted, or its writer is too old.
        DataError: there are no files.
    """
    try:
        with storage.open_new(target) as file:
            copier = RowGroupCopier(file)
            for path in sources:
                with open_ranges(storage, path) as opened:
                    copier.append(ParquetSource.open(opened, path))
            size = copier.close(metadata)
            file.sync()
    except BaseException:
        storage.delete(target)
        raise
    return size


def _with_fields(struct: Struct, changes: Mapping[int, tuple[Kind, Value]]) -> Struct:
    """Return *struct* with the *changes* of fields, in the order of their numbers."""
    fields = {**struct, **{number: Field(*change) for number, change in changes.items()}}
    return dict(sorted(fields.items()))


def _without_fields(struct: Struct, *fields: int) -> Struct:
    return {number: field for number, field in struct.items() if number not in fields}


def _move_chunk(chunk: Struct, by: int) -> Struct:
    """Return the chunk with offsets that are *by* bytes larger, and without the offsets of its indexes."""
    column = struct_field(chunk, ChunkField.METADATA)
    moved = _with_fields(
        column,
        {one: (Kind.I64, number_field(column, one) + by) for one in PAGE_OFFSET_FIELDS if number_field(column, one)},
    )
    changes: dict[int, tuple[Kind, Value]] = {ChunkField.METADATA: (Kind.STRUCT, moved)}
    if offset := number_field(chunk, ChunkField.FILE_OFFSET):
        changes[ChunkField.FILE_OFFSET] = (Kind.I64, max(offset + by, 0))
    bare = _without_fields(
        chunk,
        ChunkField.OFFSET_INDEX,
        ChunkField.OFFSET_INDEX_LENGTH,
        ChunkField.COLUMN_INDEX,
        ChunkField.COLUMN_INDEX_LENGTH,
    )
    return _with_fields(bare, changes)


def _update_group(group: Struct, start: int, chunks: Sequence[Struct]) -> Struct:
    """Return the row group with the offset and the sizes of its new *chunks*."""
    columns = [struct_field(chunk, ChunkField.METADATA) for chunk in chunks]
    return _with_fields(
        group,
        {
            GroupField.BYTES: (Kind.I64, sum(number_field(column, ColumnField.UNCOMPRESSED) for column in columns)),
            GroupField.FILE_OFFSET: (Kind.I64, start),
            GroupField.COMPRESSED: (Kind.I64, sum(number_field(column, ColumnField.COMPRESSED) for column in columns)),
        },
    )


def _read_indexes(source: ParquetSource, old: Struct, new: Struct) -> _Indexes:
    column = _read_index(source, old, ChunkField.COLUMN_INDEX, ChunkField.COLUMN_INDEX_LENGTH)
    offset = _read_index(source, old, ChunkField.OFFSET_INDEX, ChunkField.OFFSET_INDEX_LENGTH)
    if offset is None:  # a column index is of no use without the offsets of its pages
        return _Indexes(None, None)
    before, after = (number_field(struct_field(chunk, ChunkField.METADATA), ColumnField.DATA) for chunk in (old, new))
    return _Indexes(column, _move_offset_index(offset, after - before))


def _read_index(source: ParquetSource, chunk: Struct, offset: int, length: int) -> bytes | None:
    if offset not in chunk or not number_field(chunk, length):
        return None
    return source.read("an index of pages", number_field(chunk, offset), number_field(chunk, length))


def _move_offset_index(data: bytes, by: int) -> bytes:
    """Return an OffsetIndex in which the offset (field 1) of each page (field 1 of the index) is *by* bytes larger."""
    index, _ = decode_struct(data)
    pages = tuple(
        _with_fields(page, {1: (Kind.I64, number_field(page, 1) + by)}) for page in struct_list_field(index, 1)
    )
    return encode_struct(_with_fields(index, {1: (Kind.LIST, Items(Kind.STRUCT, pages))}))


def _bloom_length(source: ParquetSource, offset: int) -> int:
    """Return the size in bytes of a bloom filter by its header, whose field 1 is the size of the bits."""
    head = source.read("a bloom filter", offset, min(_BLOOM_HEADER, max(source.end - offset, 0)))
    header, length = decode_struct(head)
    return length + number_field(header, 1)


def _column_index(indexes: _Indexes) -> bytes | None:
    return indexes.column


def _offset_index(indexes: _Indexes) -> bytes | None:
    return indexes.offset


def _finish_group(
    group: Struct,
    position: int,
    chunks: Sequence[Struct],
    columns: Sequence[tuple[int, int] | None],
    offsets: Sequence[tuple[int, int] | None],
) -> Struct:
    """Return the row group with its number and the offsets of its indexes."""
    finished = tuple(
        _with_fields(
            chunk, {**_index_fields(ChunkField.OFFSET_INDEX, offset), **_index_fields(ChunkField.COLUMN_INDEX, column)}
        )
        for chunk, column, offset in zip(chunks, columns, offsets, strict=True)
    )
    changes: dict[int, tuple[Kind, Value]] = {GroupField.COLUMNS: (Kind.LIST, Items(Kind.STRUCT, finished))}
    if position < _ORDINALS:
        changes[GroupField.ORDINAL] = (Kind.I16, position)
    return _with_fields(_without_fields(group, GroupField.ORDINAL), changes)


def _index_fields(field: int, place: tuple[int, int] | None) -> dict[int, tuple[Kind, Value]]:
    return {} if place is None else {field: (Kind.I64, place[0]), field + 1: (Kind.I32, place[1])}
