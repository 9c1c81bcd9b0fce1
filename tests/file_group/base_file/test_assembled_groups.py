"""Row groups put together from chunks have the rows that they are made of, for every reader."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.parquet import incompressible
from hudiformat.codec.parquet.gzip_pages import gzip_chunk
from hudiformat.codec.parquet.source import Chunk
from hudiformat.file_group.base_file import assembled_groups, parquet_writer
from hudiformat.file_group.base_file.parquet_writer import ParquetBaseFileWriter
from hudiformat.file_group.base_file.row_groups import NewFile
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.threads import NO_THREADS, WorkThreads
from tests.effort import examples

ROWS = 300


@pytest.fixture(autouse=True)
def _any_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembled_groups, "_ROWS_FOR_A_COLUMN", 0)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The columns that are encoded from now on."""
    found: list[str] = []
    encode = assembled_groups.AssembledGroups._encode

    def noting(groups: assembled_groups.AssembledGroups, rows: pa.Table) -> Any:
        found.extend(rows.column_names)
        return encode(groups, rows)

    monkeypatch.setattr(assembled_groups.AssembledGroups, "_encode", noting)
    return found


def written(folder: Path, *groups: pa.Table, schema: pa.Schema | None = None, **more: Any) -> ParquetBaseFileWriter:
    schema = groups[0].schema if schema is None else schema
    known = {"compression": "zstd", "has_keys": RECORD_KEY in schema.names, **more}
    new = NewFile(schema=schema, avro_schema=arrow_to_avro(schema, name="r", namespace="n"), **known)
    (folder / "f.parquet").unlink(missing_ok=True)
    with LocalStorage(folder).open_new("f.parquet") as file:
        writer = ParquetBaseFileWriter(file, new)
        for group in groups:
            writer.write(group)
            writer.flush()
            assert writer._assembled is None or writer.data_size == file.size
        size = writer.close()
    assert size == (folder / "f.parquet").stat().st_size
    return writer


def table(columns: dict[str, Any], **required: bool) -> pa.Table:
    arrays = {name: pa.array(values) for name, values in columns.items()}
    fields = [pa.field(name, one.type, nullable=not required.get(name)) for name, one in arrays.items()]
    return pa.Table.from_arrays([*arrays.values()], schema=pa.schema(fields))


def keys(count: int = ROWS) -> list[str]:
    return [f"key {number}" for number in range(count)]


def test_constants_and_copies_of_the_keys_are_not_encoded(tmp_path: Path, encoded: list[str]) -> None:
    columns = {RECORD_KEY: keys(), "id": keys(), "same": ["x"] * ROWS, "v": [*range(ROWS)], "n": [None, *["x"] * 299]}
    rows = table(columns)
    written(tmp_path, rows)
    assert encoded == [RECORD_KEY, "v", "n"]
    assert pq.read_table(tmp_path / "f.parquet").equals(rows)
    chunk = pq.read_metadata(tmp_path / "f.parquet").row_group(0).column(1)
    assert (chunk.path_in_schema, chunk.statistics.min, chunk.statistics.max) == ("id", "key 0", "key 99")


@pytest.mark.parametrize("has_isal", [True, False])
@pytest.mark.parametrize("repeated", [1, 100])
def test_gzip_is_by_isal_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_isal: bool, repeated: int
) -> None:
    packed: list[Chunk] = []

    def noting(chunk: Chunk) -> Chunk:
        packed.append(chunk)
        return gzip_chunk(chunk)

    monkeypatch.setattr(assembled_groups, "gzip_chunk", noting)
    monkeypatch.setattr(assembled_groups, "_ROWS_FOR_A_COLUMN", 1_000)
    if not has_isal:
        monkeypatch.setattr(assembled_groups, "isal", lambda: None)
    rows = table(
        {RECORD_KEY: keys(), "v": [*range(ROWS)], "t": [f"{number % 7} times" * repeated for number in range(ROWS)]}
    )
    written(tmp_path, rows, compression="gzip")
    assert pq.read_table(tmp_path / "f.parquet").equals(rows)
    group = pq.read_metadata(tmp_path / "f.parquet").row_group(0)
    assert {group.column(number).compression for number in range(3)} == {"GZIP"}
    assert bool(packed) == (has_isal and repeated == 100)  # few bytes are not worth it


def test_a_required_column_with_the_keys_is_encoded(tmp_path: Path, encoded: list[str]) -> None:
    rows = table({RECORD_KEY: keys(), "id": keys()}, id=True)
    written(tmp_path, rows)
    assert encoded == [RECORD_KEY, "id"]
    assert pq.read_table(tmp_path / "f.parquet").equals(rows)


def test_only_one_key_is_a_constant_for_its_column_too(tmp_path: Path, encoded: list[str]) -> None:
    rows = table({RECORD_KEY: ["k"], "id": ["k"]})
    written(tmp_path, rows)
    assert encoded == []
    assert pq.read_table(tmp_path / "f.parquet").equals(rows)


def test_a_long_text_is_encoded(tmp_path: Path, encoded: list[str]) -> None:
    rows = table({"a": ["x" * 1024] * 5, "b": ["x" * 1023] * 5})
    written(tmp_path, rows)
    assert encoded == ["a"]
    assert pq.read_table(tmp_path / "f.parquet").equals(rows)


def test_texts_that_begin_and_end_alike_are_no_constant(tmp_path: Path, encoded: list[str]) -> None:
    rows = table({"a": ["x", "y", "x"], RECORD_KEY: ["k", "l", "m"], "id": ["k", "x", "m"]})
    written(tmp_path, rows)
    assert encoded == ["a", RECORD_KEY, "id"]
    assert pq.read_table(tmp_path / "f.parquet").equals(rows)


def test_a_dictionary_of_several_texts_is_no_constant(tmp_path: Path, encoded: list[str]) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([1, 1], pa.int32()), ["x", "y"])
    one = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), ["y"])
    for parts, expected in (([texts], ["a"]), ([one], []), ([one, texts.slice(0, 0)], []), ([one, texts], ["a"])):
        encoded.clear()
        count = sum(map(len, parts))
        rows = pa.table({"a": pa.chunked_array(parts)})
        written(tmp_path, rows, schema=pa.schema([("a", pa.string())]))
        assert encoded == expected
        assert pq.read_table(tmp_path / "f.parquet")["a"].to_pylist() == ["y"] * count


def test_bounds_cover_nan_and_vectors_are_stored(tmp_path: Path) -> None:
    rows = table({"x": [1.0, math.nan], "t": ["a", "a"]})
    written(tmp_path, rows)
    chunk = pq.read_metadata(tmp_path / "f.parquet").row_group(0).column(0)
    assert (chunk.statistics.min, chunk.statistics.max) == (1.0, math.inf)
    vectors = pa.table({"v": pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float32(), 2)), "t": ["a"] * 3})
    written(tmp_path, vectors)
    assert pq.read_table(tmp_path / "f.parquet").schema.field("v").type == pa.binary(8)


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy", "none"])
def test_the_sizes_of_columns_are_those_of_the_footer(tmp_path: Path, compression: str) -> None:
    rows = table({RECORD_KEY: keys(), "id": keys(), "s": ["x"] * ROWS, "l": [[1, 2]] * ROWS})
    writer = written(tmp_path, rows, rows, compression=compression)
    footer = pq.read_metadata(tmp_path / "f.parquet")
    assert footer.num_row_groups == 2
    expected: dict[str, tuple[int, int]] = {}
    for group in range(2):
        for place in range(footer.num_columns):
            chunk = footer.row_group(group).column(place)
            before = expected.get(chunk.path_in_schema, (0, 0))
            found = (chunk.total_compressed_size, chunk.total_uncompressed_size)
            expected[chunk.path_in_schema] = (before[0] + found[0], before[1] + found[1])
    assert writer.column_sizes == expected
    assert footer.created_by.startswith("parquet-cpp-arrow")


def test_a_file_whose_first_row_group_is_small_is_not_assembled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoded: list[str]
) -> None:
    monkeypatch.setattr(assembled_groups, "_ROWS_FOR_A_COLUMN", 10)
    rows = table({"a": keys(20)})
    written(tmp_path, rows.slice(0, 9), rows)
    assert encoded == []
    written(tmp_path, rows, rows.slice(0, 9))
    assert encoded == ["a", "a"]
    assert pq.read_table(tmp_path / "f.parquet").num_rows == 29


_VALUES: dict[str, st.SearchStrategy[list[Any]]] = {
    "constant": st.just(["ab"]),
    "texts": st.just(["a", "b", "", "ä" * 9]),
    "nulls": st.just(["a", None]),
    "no values": st.just([None]),
    "numbers": st.just([1, 2, -3]),
    "floats": st.just([1.5, math.nan, math.inf, None]),
    "lists": st.just([["a"], [], None, ["b", None]]),
    "structs": st.just([{"a": "x", "b": {"c": 1}}, None]),
}
_KINDS = {
    "numbers": pa.int32(),
    "floats": pa.float64(),
    "lists": pa.list_(pa.string()),
    "structs": pa.struct([("a", pa.string()), ("b", pa.struct([("c", pa.int64())]))]),
}


@settings(max_examples=examples(300))
@given(data=st.data())
def test_whatever_the_columns_are_all_readers_find_the_rows(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("assembled")
    count = data.draw(st.integers(1, 70))
    fields: list[pa.Field] = []
    columns: list[pa.Array] = []
    for number, kind in enumerate(data.draw(st.lists(st.sampled_from([*_VALUES, "keys", "copy"]), min_size=1))):
        name = RECORD_KEY if kind == "keys" and RECORD_KEY not in [one.name for one in fields] else f"c{number}"
        chosen = ["k"] if kind in ("keys", "copy") else data.draw(_VALUES[kind])
        picked = np.random.default_rng(number).integers(0, len(chosen), count)
        values = keys(count) if kind in ("keys", "copy") else [chosen[place] for place in picked]
        column = pa.array(values, _KINDS.get(kind, pa.string()))
        may_be_required = kind in ("keys", "copy", "constant", "texts")
        fields.append(pa.field(name, column.type, nullable=not (may_be_required and data.draw(st.booleans()))))
        columns.append(column)
    rows = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    sizes = [part for part in (count // 3, count - count // 3) if part]
    groups = [rows.slice(sum(sizes[:place]), size) for place, size in enumerate(sizes)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembled_groups, "_ROWS_FOR_A_COLUMN", 0)
        written(folder, *groups)
    path = folder / "f.parquet"
    found = pq.read_table(path)
    assert found.schema.equals(rows.schema.remove_metadata())
    assert str(found.to_pylist()) == str(rows.to_pylist())  # as text, since NaN is not equal to itself
    assert str(pl.read_parquet(path).to_dicts()) == str(pl.from_arrow(rows).to_dicts())
    assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(count,)]
    for field in rows.schema:
        if pa.types.is_string(field.type):
            expected = [value for value in rows[field.name].to_pylist() if value is not None]
            ((low, high, told),) = duckdb.sql(
                f'SELECT min("{field.name}"), max("{field.name}"), count("{field.name}") FROM \'{path}\''
            ).fetchall()
            assert (low, high, told) == (min(expected, default=None), max(expected, default=None), len(expected))


GROUP = 4_000
"""Bytes of a row group, of which the tests below have several in a file."""


def in_small_groups(folder: Path, rows: pa.Table, threads: WorkThreads, **more: Any) -> bytes:
    """Write *rows* a few at a time; return the file."""
    schema = rows.schema
    new = NewFile(
        schema=schema,
        avro_schema=arrow_to_avro(schema, name="r", namespace="n"),
        compression="none",
        has_keys=False,
        row_group_size=GROUP,
        threads=threads,
        **more,
    )
    (folder / "f.parquet").unlink(missing_ok=True)
    with LocalStorage(folder).open_new("f.parquet") as file:
        writer = ParquetBaseFileWriter(file, new)
        for start in range(0, len(rows), 10):
            writer.write(rows.slice(start, 10))
        writer.close()
    return (folder / "f.parquet").read_bytes()


@pytest.fixture
def two() -> Iterator[WorkThreads]:
    threads = WorkThreads(2)
    yield threads
    threads.stop()


@pytest.fixture
def encoders(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[int]]:
    """The threads that encode from now on, by the first columns of what they encode."""
    found: dict[str, set[int]] = {}
    encode = assembled_groups.AssembledGroups._encode_share

    def noting(groups: assembled_groups.AssembledGroups, rows: pa.Table) -> Any:
        found.setdefault(rows.column_names[0], set()).add(threading.get_ident())
        return encode(groups, rows)

    monkeypatch.setattr(assembled_groups.AssembledGroups, "_encode_share", noting)
    return found


def test_every_second_row_group_is_encoded_by_another_thread(
    tmp_path: Path, two: WorkThreads, encoders: dict[str, set[int]]
) -> None:
    rows = table({"v": [*range(10_000)]})
    alone = in_small_groups(tmp_path, rows, NO_THREADS)
    assert encoders == {"v": {threading.get_ident()}}
    assert in_small_groups(tmp_path, rows, two) == alone
    assert len(encoders["v"]) > 1
    assert pq.read_table(tmp_path / "f.parquet").equals(rows)
    footer = pq.read_metadata(tmp_path / "f.parquet")
    sizes = [footer.row_group(group).total_byte_size for group in range(footer.num_row_groups)]
    assert len(sizes) > 10
    assert max(sizes[2:]) < 1.6 * GROUP  # of the first two, the size was not known


def test_the_half_of_the_columns_is_encoded_by_another_thread(
    tmp_path: Path, two: WorkThreads, encoders: dict[str, set[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table({"a": [*range(100)], "l": [[1, 2, 3]] * 100})
    alone = in_small_groups(tmp_path, rows, NO_THREADS)
    assert encoders.keys() == {"a"}
    monkeypatch.setattr(assembled_groups, "_SHARED_BYTES", 0)
    assert in_small_groups(tmp_path, rows, NO_THREADS) == in_small_groups(tmp_path, rows, two) == alone
    assert encoders.keys() == {"a", "l"}  # the lists have the most bytes
    assert len(encoders["a"]) > 1
    assert pq.read_table(tmp_path / "f.parquet").equals(rows)


@given(data=st.data(), counts=st.lists(st.integers(1, 40), min_size=1, max_size=6))
@settings(deadline=None, max_examples=examples(20))
def test_threads_change_no_byte(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, counts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("f")
    texts = [data.draw(st.text(max_size=300)) * length for length in counts for _ in range(10)]
    rows = table({"t": texts, "n": [*range(len(texts))], "f": [0.5] * len(texts)})
    threads = WorkThreads(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembled_groups, "_SHARED_BYTES", data.draw(st.sampled_from([0, 1 << 20])))
        row_size = data.draw(st.sampled_from([1, 1024]))
        alone = in_small_groups(folder, rows, NO_THREADS, row_size=row_size)
        assert in_small_groups(folder, rows, threads, row_size=row_size) == alone
    threads.stop()
    assert pq.read_table(folder / "f.parquet").equals(rows)


def test_few_rows_of_many_bytes_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembled_groups, "_ROWS_FOR_A_COLUMN", 1_000)
    pays_off = assembled_groups.pays_off
    assert pays_off(rows=10, columns=2, size=1 << 19)
    assert not pays_off(rows=1_999, columns=2, size=(1 << 19) - 1)


def test_what_fails_in_another_thread_is_raised(tmp_path: Path, two: WorkThreads) -> None:
    rows = table({"t": ["x" * 5000] * 30})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembled_groups.AssembledGroups, "_encode_share", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            in_small_groups(tmp_path, rows, two)


@pytest.mark.parametrize("assembled", [False, True])
@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip"])
def test_columns_that_a_codec_makes_hardly_smaller_are_stored_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str, assembled: bool
) -> None:
    monkeypatch.setattr(incompressible, "LEAST_BYTES", 1000)
    monkeypatch.setattr(parquet_writer, "LEAST_BYTES", 1000)
    monkeypatch.setattr(parquet_writer, "pays_off", lambda **_: assembled)
    chosen = np.random.default_rng(3)
    group = pa.table(
        {
            RECORD_KEY: [f"k{number:05}" for number in range(ROWS)],
            "x": chosen.random(ROWS),
            "b": [chosen.bytes(60) for _ in range(ROWS)],
            "l": [chosen.normal(size=3) for _ in range(ROWS)],
            "n": range(ROWS),
        }
    )
    written(tmp_path, group, compression=codec)
    found = pq.ParquetFile(tmp_path / "f.parquet")
    chunks = [found.metadata.row_group(0).column(place) for place in range(5)]
    assert {one.path_in_schema: one.compression for one in chunks} == {
        RECORD_KEY: codec.upper(),
        "x": "UNCOMPRESSED",
        "b": "UNCOMPRESSED",
        "l.list.element": "UNCOMPRESSED",
        "n": codec.upper(),
    }
    assert found.read().equals(group)
    assert pl.read_parquet(tmp_path / "f.parquet").to_arrow().cast(group.schema).equals(group)
    assert duckdb.read_parquet(str(tmp_path / "f.parquet")).to_arrow_table().cast(group.schema).equals(group)
