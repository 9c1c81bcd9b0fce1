"""The footer of a file that is copied, read from its end."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.codec.parquet.source import (
    FileField,
    GroupField,
    ParquetSource,
    number_field,
    struct_field,
    struct_list_field,
    text_field,
)
from hudiformat.codec.parquet.thrift import Field, Items, Kind
from hudiformat.errors import DecodeError


def source(columns: int) -> ParquetSource:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({f"c{i}": [i] for i in range(columns)}), sink)
    return ParquetSource.open(pa.BufferReader(sink.getvalue()), "file")


@pytest.mark.parametrize("columns", [1, 1000])  # the footer of the second is longer than what is read at first
def test_a_footer_of_any_length_is_read(columns: int) -> None:
    found = source(columns)
    assert number_field(found.footer, FileField.ROWS) == 1
    chunks = struct_list_field(found.groups[0], GroupField.COLUMNS)
    ranges = [found.chunk_range(chunk) for chunk in chunks]
    assert len(ranges) == columns
    assert ranges[0][0] == 4
    assert [start for start, _ in ranges[1:]] == [stop for _, stop in ranges[:-1]]
    assert found.created_by.startswith("parquet-cpp-arrow")
    assert b"ARROW:schema" in found.metadata
    assert found.difference(source(columns)) is None


def test_fields_of_other_types_are_errors() -> None:
    wrong = {1: Field(Kind.I32, -1), 2: Field(Kind.LIST, Items(Kind.I32, (1,)))}
    with pytest.raises(DecodeError, match="field 1 of the footer: expected a number from 0 on, found -1"):
        number_field(wrong, 1)
    with pytest.raises(DecodeError, match="field 1 of the footer: expected a text"):
        text_field(wrong, 1)
    with pytest.raises(DecodeError, match="field 3 of the footer: expected a struct, found None"):
        struct_field(wrong, 3)
    with pytest.raises(DecodeError, match="field 2 of the footer: expected a list of structs"):
        struct_list_field(wrong, 2)
    assert (number_field(wrong, 9), text_field(wrong, 9), struct_list_field(wrong, 9)) == (0, b"", [])


def test_bytes_in_the_footer_are_no_pages() -> None:
    found = source(1)
    with pytest.raises(DecodeError, match="file: expected pages in bytes 4 to"):
        found.read("pages", found.end - 1, 2)
