"""Columns that are known to have one value are not decoded."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudiformat.codec.parquet import rows as module
from hudiformat.codec.parquet.rows import add_constants, batches_without_columns, constant_columns
from hudiformat.file_group.base_file.read import read_base_file
from hudiformat.storage.local import LocalStorage
from tests.codec.parquet.support import with_fewer_values
from tests.effort import BUSY, examples


@pytest.fixture(autouse=True)
def _few_rows_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORTH_ASKING", 1)


def found(rows: pa.Table, groups: Sequence[int] = (0,), *, size: int = 3, statistics: bool = True) -> dict[str, object]:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=size, write_statistics=statistics)
    return constants_of(sink.getvalue(), rows.column_names, groups)


def constants_of(data: pa.Buffer | bytes, names: Sequence[str], groups: Sequence[int] = (0,)) -> dict[str, object]:
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        return {name: value.as_py() for name, value in constant_columns(file, names, groups).items()}


def test_texts_integers_and_nulls_that_are_all_the_same() -> None:
    rows = pa.table(
        {
            "p": ["x", "x", "x"],
            "small": pa.array([7, 7, 7], pa.int8()),
            "big": pa.array([-(1 << 63)] * 3, pa.int64()),
            "none": pa.nulls(3, pa.string()),
            "empty": ["", "", ""],
            "differ": [1, 1, 2],
            "some": ["x", None, "x"],
        }
    )
    assert found(rows) == {"p": "x", "small": 7, "big": -(1 << 63), "none": None, "empty": ""}


def test_other_types_are_decoded() -> None:
    day = pa.array([1, 1, 1], pa.int32()).cast(pa.date32())
    rows = pa.table({"f": [1.5, 1.5, 1.5], "b": [True] * 3, "bytes": [b"x"] * 3, "day": day})
    assert found(rows) == {}


def test_a_value_has_to_be_that_of_all_row_groups() -> None:
    rows = pa.table({"p": ["x", "x", "x", "x"], "ts": [1, 1, 2, 2], "n": [None, None, 2, 2]})
    assert found(rows, [0, 1], size=2) == {"p": "x"}
    assert found(rows, [0], size=2) == {"p": "x", "ts": 1, "n": None}
    assert found(rows, [1], size=2) == {"p": "x", "ts": 2, "n": 2}
    assert found(rows, [], size=2) == {}


def test_long_texts_are_decoded_because_bounds_may_be_cut() -> None:
    assert found(pa.table({"short": ["é" * 31] * 3, "long": ["é" * 32] * 3})) == {"short": "é" * 31}


def test_without_statistics_and_beside_nested_columns_all_is_decoded() -> None:
    rows = pa.table({"p": ["x", "x", "x"]})
    assert found(rows, statistics=False) == {}
    assert found(rows.append_column("s", pa.array([{"a": 1, "b": 2}] * 3))) == {}


def test_a_name_that_comes_twice_is_not_told() -> None:
    rows = pa.Table.from_arrays([pa.array([1, 1]), pa.array([1, 1])], names=["a", "a"])
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    assert constants_of(sink.getvalue(), ["a"]) == {}


def test_a_column_that_says_it_has_fewer_values_is_decoded_and_so_found_to_be_damaged() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"p": ["x", "x", "x"], "q": ["y", "y", "y"]}), sink)
    assert constants_of(with_fewer_values(sink.getvalue().to_pybytes(), 0), ["p", "q"]) == {"q": "y"}


def test_few_rows_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORTH_ASKING", 3)
    rows = pa.table({"p": ["x", "x", "x"]})
    assert found(rows) == {"p": "x"}
    assert found(rows.slice(1)) == {}


def test_batches_get_the_values_in_the_order_of_the_names() -> None:
    batches = pa.table({"v": [1, 2, 3]}).to_batches(max_chunksize=2)
    constants = {"p": pa.scalar("x"), "n": pa.scalar(None, pa.int32())}
    rows = pa.Table.from_batches(add_constants([*batches, *batches], ["p", "v", "n"], constants))
    assert rows.column_names == ["p", "v", "n"]
    assert rows.to_pylist() == [{"p": "x", "v": v, "n": None} for v in (1, 2, 3, 1, 2, 3)]


def test_batches_without_columns_have_rows() -> None:
    assert [batch.num_rows for batch in batches_without_columns(5, 2)] == [2, 2, 1]
    assert list(batches_without_columns(0, 2)) == []


VALUES = st.sampled_from([None, 1, 2])
TEXTS = st.sampled_from([None, "", "x", "\U0001f600"])


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.function_scoped_fixture, *BUSY])
@given(
    rows=st.lists(st.tuples(VALUES, TEXTS, VALUES), min_size=1, max_size=12),
    size=st.integers(1, 5),
    names=st.permutations(["n", "t", "m"]),
    chosen=st.integers(1, 3),
)
def test_all_rows_are_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int | None, str | None, int | None]],
    size: int,
    names: list[str],
    chosen: int,
) -> None:
    schema = pa.schema([("n", pa.int64()), ("t", pa.string()), ("m", pa.int32())])
    table = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    root = tmp_path_factory.mktemp("rows")
    pq.write_table(table, root / "f.parquet", row_group_size=size)
    read = read_base_file(LocalStorage(str(root)), "f.parquet", schema, columns=names[:chosen])
    assert read == table.select(names[:chosen])
