"""What data frames of others hand over is taken, or refused with the line that mends it."""

from __future__ import annotations

from datetime import datetime, time, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.codec.avro.incoming import adapt_to_schema

MOMENT = datetime(2024, 2, 29, 12, 0, 1, 123456)
SCHEMA = pa.schema([("id", pa.string()), ("at", pa.timestamp("us")), ("v", pa.int64())])
AT = pa.array([MOMENT], pa.timestamp("us"))


def table_of(folder: Path, schema: pa.Schema = SCHEMA) -> hf.Table:
    return hf.create_table(folder / "t", name="t", schema=schema, record_key="id")


@pytest.mark.parametrize(
    "columns",
    [
        {"id": ["a"], "at": AT.cast(pa.timestamp("ns")), "v": [7]},
        {"id": pa.array(["a"]).dictionary_encode(), "at": AT, "v": pa.array([7]).dictionary_encode()},
        {"id": pa.array(["a"], pa.large_string()), "at": AT, "v": pa.array([7], pa.int32())},
        {"id": pa.array(["a"], pa.string_view()), "at": AT, "v": [7]},
        {"id": ["a"], "at": AT, "v": pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array([7]))},
        {"id": ["a"], "at": AT, "v": [7], "__index_level_0__": [12]},
        {
            "id": pa.DictionaryArray.from_arrays(pa.array([0], pa.uint32()), pa.array(["a"], pa.string_view())),
            "at": AT,
            "v": [7],
        },
    ],
    ids=["nanoseconds", "dictionaries", "large", "view", "run-ends", "index", "categories"],
)
@pytest.mark.parametrize("write", ["insert", "upsert", "bulk_insert", "insert_overwrite_table"])
def test_columns_of_other_types_are_stored(tmp_path: Path, columns: dict[str, Any], write: str) -> None:
    table = table_of(tmp_path)
    getattr(table, write)(pa.table(columns))
    assert table.snapshot(columns=["id", "at", "v"]).to_pylist() == [{"id": "a", "at": MOMENT, "v": 7}]


def test_nulls_get_the_type_of_the_column(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.insert(pa.table({"id": ["a"], "at": pa.nulls(1), "v": pa.nulls(1)}))
    assert table.snapshot(columns=["at", "v"]).to_pylist() == [{"at": None, "v": None}]
    with pytest.raises(hf.SchemaError, match="column more of type null cannot be stored: give the column a type"):
        table.insert(pa.table({"id": ["a"], "at": AT, "v": [1], "more": pa.nulls(1)}))


def test_data_frames(tmp_path: Path) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = table_of(tmp_path)
    frame = pd.DataFrame({"id": pd.Categorical(["a", "b"]), "at": pd.to_datetime([MOMENT] * 2), "v": [1, 2]})
    table.upsert(frame[frame["v"] > 1])
    table.upsert(frame.set_index("id").head(1))
    table.upsert(pl.DataFrame({"id": pl.Series(["c"], dtype=pl.Categorical), "at": [MOMENT], "v": [3]}))
    assert sorted(table.to_pandas(columns="id")["id"]) == ["a", "b", "c"]


def test_a_moment_that_would_lose_something_is_refused(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    at = pa.array([1_704_067_200_123_456_789], pa.timestamp("ns"))
    with pytest.raises(hf.DataError, match=r"column at: .*would lose data.*\.dt\.floor\('us'\) in pandas") as caught:
        table.upsert(pa.table({"id": ["a"], "at": at, "v": [1]}))
    assert caught.value.column == "at"
    assert table.timeline.instants == ()


@pytest.mark.parametrize(
    ("given", "there", "stored"),
    [
        (pa.timestamp("s"), None, pa.timestamp("us")),
        (pa.timestamp("ns", "UTC"), pa.timestamp("ms", "UTC"), pa.timestamp("ms", "UTC")),
        (pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ms")),
        (pa.timestamp("ns"), pa.string(), pa.timestamp("us")),
        (pa.time64("ns"), None, pa.time64("us")),
        (pa.time32("s"), None, pa.time32("ms")),
        (pa.dictionary(pa.int8(), pa.timestamp("ns")), None, pa.timestamp("us")),
    ],
    ids=str,
)
def test_the_type_that_a_column_gets(given: pa.DataType, there: pa.DataType | None, stored: pa.DataType) -> None:
    table = pa.schema([] if there is None else [("x", there)])
    value = time(1, 2, 3) if pa.types.is_time(given) else datetime(2024, 2, 29, tzinfo=timezone.utc)
    plain = given.value_type if pa.types.is_dictionary(given) else given
    array = pa.array([value if getattr(plain, "tz", "") else value.replace(tzinfo=None)], plain)
    rows = pa.table({"x": array.dictionary_encode() if pa.types.is_dictionary(given) else array})
    found = adapt_to_schema(rows.to_reader(), table).read_all()
    assert found.schema.field("x").type == stored
    assert found["x"].cast(plain).to_pylist() == array.to_pylist()


def test_rows_that_fit_are_not_touched() -> None:
    reader = pa.table({"id": ["a"], "at": AT, "v": [7]}).to_reader()
    assert adapt_to_schema(reader, SCHEMA) is reader
