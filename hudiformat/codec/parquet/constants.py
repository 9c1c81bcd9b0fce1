"""Make the chunk of a column that has one text in all rows of a row group, in place of a copied chunk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.codec.parquet.source import (
    ChunkField,
    FileField,
    GroupField,
    ParquetSource,
    number_field,
    struct_field,
    struct_list_field,
    text_field,
)
from hudiformat.codec.parquet.thrift import Struct
from hudiformat.errors import SchemaError

_REQUIRED, _OPTIONAL, _BYTES = 0, 1, 6
_TYPE, _REPETITION, _NAME, _CHILDREN = 1, 3, 4, 5
_CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4"}
_CODEC = 4


def constant_chunk(
    source: ParquetSource, chunk: Struct, name: str, value: str, rows: int
) -> tuple[ParquetSource, Struct]:
    """Return a small file in memory and its only chunk: *rows* times *value*, for the column *name* of *source*.

    The chunk has the codec of *chunk*, which it replaces, or none if Arrow cannot write that codec.

    Raises:
        SchemaError: the column is not a top-level one of texts.
    """
    element = next((one for one in _top_level_columns(source) if text_field(one, _NAME) == name.encode()), {})
    repetition = number_field(element, _REPETITION)
    if _CHILDREN in element or number_field(element, _TYPE) != _BYTES or repetition not in (_REQUIRED, _OPTIONAL):
        raise SchemaError(f"{source.path}: expected a column {name} of texts, to give it one value", column=name)
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))
    field = pa.field(name, texts.type, nullable=repetition == _OPTIONAL)
    codec = _CODECS.get(number_field(struct_field(chunk, ChunkField.METADATA), _CODEC), "none")
    buffer = pa.BufferOutputStream()
    table = pa.Table.from_arrays([texts], schema=pa.schema([field]))
    pq.write_table(table, buffer, compression=codec, row_group_size=max(rows, 1), write_page_index=True)
    made = ParquetSource.open(pa.BufferReader(buffer.getvalue()), f"values of {name}")
    return made, struct_list_field(made.groups[0], GroupField.COLUMNS)[0]


def _top_level_columns(source: ParquetSource) -> Iterator[Struct]:
    """Yield the columns of the schema without the fields in them, which follow a struct in the list.

    The schema ``root{2} a{1} b c`` has the columns a, with b in it, and c.
    """
    inside = 0
    for element in struct_list_field(source.footer, FileField.SCHEMA)[1:]:
        if not inside:
            yield element
        inside = max(inside - 1, 0) + number_field(element, _CHILDREN)
