"""Column chunks that are not encoded from rows: one value in all rows, or the pages of another column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from hudiformat.codec.parquet.source import (
    MAGIC,
    Chunk,
    ChunkField,
    ColumnField,
    ElementField,
    FileField,
    ParquetSource,
    column_name,
    number_field,
    struct_field,
    struct_list_field,
    text_field,
)
from hudiformat.codec.parquet.thrift import Field, Items, Kind, Struct, encode_struct
from hudiformat.codec.protobuf import encode_varint
from hudiformat.errors import SchemaError

_REQUIRED, _OPTIONAL, _BYTES = 0, 1, 6
CODECS: Mapping[str, int] = {"none": 0, "snappy": 1, "gzip": 2, "brotli": 4, "zstd": 6, "lz4": 7}
"""The codecs that Arrow writes, by the names that it has for them in Parquet: their numbers there."""
_ARROW_NAMES = {number: "lz4_raw" if name == "lz4" else name for name, number in CODECS.items()}
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8


def constant_chunk(source: ParquetSource, name: str, value: str, rows: int, *, codec: int) -> Chunk:
    """Return a chunk that has *rows* times *value*, for the column *name* of *source*.

    It has the *codec* with that number in Parquet, or none if Arrow does not know it, a dictionary of one value, one
    page of two runs, and the indexes of a page.  The page of 300 rows of an optional column, before it is compressed::

        03 00 00 00    the levels take three bytes
        d8 04 01       a run of 300 times 1: each row has a value
        01             values take a bit
        d8 04 00       a run of 300 times 0: the first value of the dictionary

    Raises:
        SchemaError: the column is not a top-level one of texts.
    """
    element = _element_of(source, name)
    repetition = number_field(element, ElementField.REPETITION)
    if (
        ElementField.CHILDREN in element
        or number_field(element, ElementField.TYPE) != _BYTES
        or repetition not in (_REQUIRED, _OPTIONAL)
    ):
        raise SchemaError(f"{source.path}: expected a column {name} of texts, to give it one value", column=name)
    codec = codec if codec in _ARROW_NAMES else CODECS["none"]
    text, run = value.encode(), encode_varint(rows << 1)
    levels = len(run + b"\x01").to_bytes(4, "little") + run + b"\x01" if repetition == _OPTIONAL else b""
    dictionary = _page(_DICTIONARY_PAGE, len(text).to_bytes(4, "little") + text, codec, {7: _struct(_ints(1, _PLAIN))})
    data = _page(
        _DATA_PAGE, levels + b"\x01" + run + b"\x00", codec, {5: _struct(_ints(rows, _RLE_DICTIONARY, _RLE, _RLE))}
    )
    pages = [dictionary, data]
    start = len(MAGIC)
    at = start + len(dictionary[0])
    end = at + len(data[0])
    bounds = {3: Field(Kind.I64, 0), 5: Field(Kind.BINARY, text), 6: Field(Kind.BINARY, text)}
    column_index, offset_index = _page_indexes(text, at, len(data[0]))
    column: Struct = {
        ColumnField.TYPE: Field(Kind.I32, _BYTES),
        ColumnField.ENCODINGS: Field(Kind.LIST, Items(Kind.I32, (_PLAIN, _RLE, _RLE_DICTIONARY))),
        ColumnField.PATH: _path(name),
        ColumnField.CODEC: Field(Kind.I32, codec),
        ColumnField.VALUES: Field(Kind.I64, rows),
        ColumnField.UNCOMPRESSED: Field(Kind.I64, sum(size for _, size in pages)),
        ColumnField.COMPRESSED: Field(Kind.I64, end - start),
        ColumnField.DATA: Field(Kind.I64, at),
        ColumnField.DICTIONARY: Field(Kind.I64, start),
        ColumnField.STATISTICS: _struct(bounds),
    }
    chunk: Struct = {
        ChunkField.FILE_OFFSET: Field(Kind.I64, 0),
        ChunkField.METADATA: _struct(column),
        ChunkField.OFFSET_INDEX: Field(Kind.I64, end),
        ChunkField.OFFSET_INDEX_LENGTH: Field(Kind.I32, len(offset_index)),
        ChunkField.COLUMN_INDEX: Field(Kind.I64, end + len(offset_index)),
        ChunkField.COLUMN_INDEX_LENGTH: Field(Kind.I32, len(column_index)),
    }
    whole = b"".join((MAGIC, dictionary[0], data[0], offset_index, column_index))
    return Chunk(ParquetSource(pa.BufferReader(whole), f"values of {name}", {}, len(whole)), chunk)


def same_chunk(chunk: Chunk, name: str, *, schema: ParquetSource) -> Chunk | None:
    """Return *chunk* as the chunk of another column that has the same values; None if its type is not the same.

    Both are top-level columns of *schema*.
    """
    column = struct_field(chunk.struct, ChunkField.METADATA)
    own, other = (
        {number: field for number, field in _element_of(schema, one).items() if number != ElementField.NAME}
        for one in (column_name(chunk.struct), name)
    )
    if own != other:
        return None
    renamed = {**column, ColumnField.PATH: _path(name)}
    return Chunk(chunk.source, {**chunk.struct, ChunkField.METADATA: _struct(renamed)})


def _element_of(source: ParquetSource, name: str) -> Struct:
    """Return the element of the schema that is the top-level column *name*; empty if there is none."""
    return next((one for one in _top_level_columns(source) if text_field(one, ElementField.NAME) == name.encode()), {})


def _top_level_columns(source: ParquetSource) -> Iterator[Struct]:
    """Yield the columns of the schema without the fields in them, which follow a struct in the list.

    The schema ``root{2} a{1} b c`` has the columns a, with b in it, and c.
    """
    inside = 0
    for element in struct_list_field(source.footer, FileField.SCHEMA)[1:]:
        if not inside:
            yield element
        inside = max(inside - 1, 0) + number_field(element, ElementField.CHILDREN)


def _page(kind: int, content: bytes, codec: int, header: Struct) -> tuple[bytes, int]:
    """Return the bytes of a page, and how many they would be if its content were not compressed."""
    packed = pa.compress(content, _ARROW_NAMES[codec], asbytes=True) if codec else content
    head = encode_struct({**_ints(kind, len(content), len(packed)), **header})
    return head + packed, len(head) + len(content)


def _page_indexes(text: bytes, at: int, size: int) -> tuple[bytes, bytes]:
    """Return the column index and the offset index of a chunk of one page of *size* bytes, which is at byte *at*."""
    once = Field(Kind.LIST, Items(Kind.BINARY, (text,)))
    column = {
        1: Field(Kind.LIST, Items(Kind.TRUE, (False,))),
        2: once,
        3: once,
        4: Field(Kind.I32, 1),
        5: Field(Kind.LIST, Items(Kind.I64, (0,))),
    }
    place = {1: Field(Kind.I64, at), 2: Field(Kind.I32, size), 3: Field(Kind.I64, 0)}
    return encode_struct(column), encode_struct({1: Field(Kind.LIST, Items(Kind.STRUCT, (place,)))})


def _ints(*values: int) -> Struct:
    """Return a struct whose fields, from 1 on, are these numbers."""
    return {number: Field(Kind.I32, value) for number, value in enumerate(values, 1)}


def _struct(fields: Struct) -> Field:
    return Field(Kind.STRUCT, fields)


def _path(name: str) -> Field:
    return Field(Kind.LIST, Items(Kind.BINARY, (name.encode(),)))
