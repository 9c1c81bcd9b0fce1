"""Files of few rows, encoded together: every reader finds the rows, and bounds that hold."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.parquet.few_rows import encode_files
from hudiformat.codec.parquet.source import ParquetSource
from tests.effort import examples

SPEC = Path(__file__).parents[3] / "spec" / "parquet-copy.md"


def schema_of(rows: pa.Table) -> ParquetSource:
    sink = pa.BufferOutputStream()
    pq.write_table(rows.schema.empty_table(), sink, store_schema=False)
    return ParquetSource.open(pa.BufferReader(sink.getvalue()), "rows")


def encode(rows: pa.Table, counts: Sequence[int], **texts: str | Sequence[str]) -> list[bytes] | None:
    (batch,) = rows.combine_chunks().to_batches()
    files = encode_files(batch, counts, schema_of(rows), texts)
    return None if files is None else [one.to_pybytes() for one in files]


def chunk_of(file: bytes, column: int = 0) -> Any:
    return pq.read_metadata(pa.BufferReader(file)).row_group(0).column(column)


def bounds_of(chunk: Any) -> tuple[Any, ...]:
    found = chunk.statistics
    return found.null_count, found.num_values, *((found.min_raw, found.max_raw) if found.has_min_max else ())


def check(rows: pa.Table, counts: Sequence[int], files: Sequence[bytes], folder: Path) -> None:
    """All readers find the rows of each file; bounds and null counts are those that Arrow writes."""
    start = 0
    for file, count in zip(files, counts, strict=True):
        expected = rows.slice(start, count)
        start += count
        assert pq.read_table(pa.BufferReader(file)).cast(rows.schema).equals(expected)
        (folder / "f.parquet").write_bytes(file)
        found = duckdb.sql(f"from '{folder}/f.parquet'").arrow().read_all()
        assert [[*row.values()] for row in found.to_pylist()] == [[*row.values()] for row in expected.to_pylist()]
        assert pl.read_parquet(folder / "f.parquet").equals(pl.DataFrame(expected))
        sink = pa.BufferOutputStream()
        pq.write_table(expected, sink, store_schema=False)
        for column in range(rows.num_columns):
            ours, arrows = chunk_of(file, column), chunk_of(sink.getvalue().to_pybytes(), column)
            assert bounds_of(ours) == bounds_of(arrows)
            assert ours.total_compressed_size == ours.total_uncompressed_size
            assert (ours.path_in_schema, ours.num_values) == (arrows.path_in_schema, count)


def test_a_file_of_few_rows_is_that_of_the_specification() -> None:
    rows = pa.table(
        {"n": [1, None, 3], "t": ["a", "a", "a"]},
        schema=pa.schema([pa.field("n", pa.int32()), pa.field("t", pa.string(), nullable=False)]),
    )
    (file,) = encode(rows, [3], k="v") or [b""]
    text = SPEC.read_text()
    vector = re.search(r"<!-- few rows -->\n```\n(.*?)```", text, re.DOTALL)
    assert vector is not None
    lines = [re.split(r" {2,}|$", line)[0] for line in vector[1].splitlines()]
    pages = bytes.fromhex("".join(lines))
    assert file[: len(pages)] == pages
    assert pq.read_table(pa.BufferReader(file)).equals(rows)
    footer = pq.read_metadata(pa.BufferReader(file))
    assert (footer.created_by, footer.metadata, footer.num_rows) == ("hudiformat version 1", {b"k": b"v"}, 3)
    group = footer.row_group(0)
    size = sum(group.column(number).total_uncompressed_size for number in range(2))
    assert (group.total_byte_size, group.num_rows, size) == (size, 3, len(pages) - 4)


KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bool": (pa.bool_(), st.booleans()),
    "byte": (pa.int8(), st.integers(-128, 127)),
    "short": (pa.int16(), st.integers(-(1 << 15), (1 << 15) - 1)),
    "int": (pa.int32(), st.integers(-(1 << 31), (1 << 31) - 1)),
    "long": (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1)),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "text": (pa.string(), st.text(st.characters(codec="utf-8"), max_size=30)),
    "large text": (pa.large_string(), st.sampled_from(["", "x", "ä"])),
    "bytes": (pa.binary(), st.binary(max_size=9)),
    "date": (pa.date32(), st.dates()),
    "time": (pa.time64("us"), st.times()),
    "time of ms": (pa.timestamp("ms"), st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2100, 1, 1))),
    "instant": (
        pa.timestamp("us", "UTC"),
        st.datetimes(dt.datetime(1, 1, 2), timezones=st.just(dt.timezone.utc)),
    ),
}


@given(data=st.data())
@settings(deadline=None, max_examples=examples(60))
def test_any_rows_come_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=5))
    names = data.draw(st.lists(st.sampled_from([*KINDS]), min_size=1, max_size=16))
    fields, columns = [], []
    for number, name in enumerate(names):
        kind, values = KINDS[name]
        nullable = data.draw(st.booleans())
        drawn = values | st.none() if nullable else values
        if data.draw(st.booleans()):  # one value in each file
            column = [one for count in counts for one in [data.draw(drawn)] * count]
        else:
            column = data.draw(st.lists(drawn, min_size=sum(counts), max_size=sum(counts)))
        if name == "time of ms":
            column = [
                None if one is None else one.replace(microsecond=one.microsecond // 1000 * 1000) for one in column
            ]
        fields.append(pa.field(f"{name} {number}", kind, nullable=nullable))
        columns.append(pa.array(column, kind))
    rows = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    files = encode(rows, counts, a="for all", b=[str(count) for count in counts])
    assert files is not None
    check(rows, counts, files, tmp_path_factory.mktemp("f"))
    metadata = [pq.read_metadata(pa.BufferReader(file)).metadata for file in files]
    assert metadata == [{b"a": b"for all", b"b": str(count).encode()} for count in counts]


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS.values()], ids=str)
def test_a_column_may_have_nothing_but_nulls(kind: pa.DataType, tmp_path: Path) -> None:
    rows = pa.table({"x": pa.array([None] * 5, kind), "n": [*range(5)]})
    files = encode(rows, [3, 2])
    assert files is not None
    check(rows, [3, 2], files, tmp_path)


def test_many_files_with_many_columns(tmp_path: Path) -> None:
    rows = pa.table({f"c{number}": [*range(number, number + 600)] for number in range(40)})
    files = encode(rows, [2] * 300)
    assert files is not None
    check(rows.slice(500, 100), [2] * 50, files[250:], tmp_path)


def test_a_column_with_one_value_in_each_file_has_a_dictionary() -> None:
    rows = pa.table({"s": ["a", "a", "b", "b"], "m": ["a", "a", "b", "c"], "n": ["a", "a", None, "b"]})
    files = encode(rows, [2, 2]) or []
    assert [[chunk_of(file, column).has_dictionary_page for column in range(3)] for file in files] == [
        [True, False, False]
    ] * 2
    for file in encode(rows, [1] * 4) or []:
        assert not chunk_of(file).has_dictionary_page  # it would be larger than the value


def test_a_long_text_is_no_bound() -> None:
    rows = pa.table({"t": ["x" * 1024, "y" * 1025, "z"]})
    bounds = [chunk_of(file).statistics.has_min_max for file in encode(rows, [1, 1, 1]) or ()]
    assert bounds == [True, False, True]


def test_either_zero_is_within_the_bounds() -> None:
    low, high = (chunk_of(file).statistics for file in encode(pa.table({"x": [0.0, 1.0, -1.0, -0.0]}), [2, 2]) or ())
    assert (math.copysign(1, low.min), math.copysign(1, high.max)) == (-1, 1)


@pytest.mark.parametrize(
    "column",
    [
        [[1]],
        [{"a": 1}],
        [Decimal(1)],
        [math.nan],
        pa.array([1], pa.timestamp("s")),
        pa.array([1], pa.uint32()),
        pa.array([1], pa.time32("ms")),
        pa.array([b"x"], pa.binary(1)),
    ],
    ids=str,
)
def test_arrow_writes_what_is_rare(column: Any) -> None:
    assert encode(pa.table({"t": ["a"], "x": column}), [1]) is None


def test_arrow_refuses_a_null_in_a_required_column() -> None:
    rows = pa.table({"x": pa.array([None], pa.int64())})
    required = pa.table({"x": pa.array([1])}, schema=pa.schema([pa.field("x", pa.int64(), nullable=False)]))
    assert encode_files(rows.to_batches()[0], [1], schema_of(required), {}) is None
