"""An option says what the numbers of a column of times count; what the numbers contradict is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat import DataError, SchemaError, Table
from hudiformat.schema.time_labels import TIME_LABELS
from tests.check.repair.test_labels import MICROS, MILLIS, MILLISECOND

SCHEMA = pa.schema([pa.field("k", pa.string(), nullable=False), ("ts", MICROS)])


def rows(key: str, number: int, kind: pa.DataType) -> pa.Table:
    return pa.table({"k": [key], "ts": pa.array([number]).cast(kind)})


def table_of(path: Path, number: int, kind: pa.DataType = MICROS, table_type: str = "COPY_ON_WRITE") -> Table:
    schema = SCHEMA.set(1, SCHEMA.field("ts").with_type(kind))
    table = hf.create_table(path, name="t", schema=schema, record_key="k", table_type=table_type)
    table.insert(rows("a", number, kind))
    return table


def labelled(path: Path, label: str) -> Table:
    return hf.open_table(path, options={TIME_LABELS: f"ts:{label}"})


def times(path: Path) -> dict[str, int]:
    shown = hf.open_table(path).snapshot(columns=["k", "ts"]).to_pylist()
    return {row["k"]: round(row["ts"].timestamp() * 1_000_000) for row in shown}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_in_milliseconds_say_that_the_table_counts_them(kind: str, tmp_path: Path) -> None:
    table_of(tmp_path, MILLISECOND, table_type=kind).upsert(rows("b", MILLISECOND, MICROS))
    labelled(tmp_path, "timestamp-millis").upsert(rows("c", MILLISECOND, MILLIS))
    assert hf.open_table(tmp_path).schema.field("ts").type == MILLIS
    assert times(tmp_path) == dict.fromkeys("abc", MILLISECOND * 1000)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_label_that_the_numbers_contradict_is_refused(kind: str, tmp_path: Path) -> None:
    table = table_of(tmp_path, MILLISECOND * 1000, table_type=kind)
    table.upsert(rows("a", MILLISECOND * 1000, MICROS))
    before = len(table.timeline.completed)
    with pytest.raises(SchemaError, match=f"count ms, and .* has 1 that count us, such as {MILLISECOND * 1000}"):
        labelled(tmp_path, "timestamp-millis").upsert(rows("c", MILLISECOND, MILLIS))
    assert len(hf.open_table(tmp_path).timeline.completed) == before


def test_rows_get_the_unit_that_the_table_has(tmp_path: Path) -> None:
    table_of(tmp_path, MILLISECOND, MILLIS)
    with pytest.raises(SchemaError, match="types may only grow"):
        hf.open_table(tmp_path).upsert(rows("b", MILLISECOND * 1000, MICROS))
    labelled(tmp_path, "timestamp-millis").upsert(rows("b", MILLISECOND * 1000, MICROS))
    assert times(tmp_path) == dict.fromkeys("ab", MILLISECOND * 1000)
    with pytest.raises(DataError, match="would lose data"):
        labelled(tmp_path, "timestamp-millis").upsert(rows("b", MILLISECOND * 1000 + 1, MICROS))


def test_rows_in_milliseconds_stay_microseconds_where_the_option_says_so(tmp_path: Path) -> None:
    table_of(tmp_path, MILLISECOND * 1000)
    labelled(tmp_path, "timestamp-micros").upsert(rows("b", MILLISECOND, MILLIS))
    assert hf.open_table(tmp_path).schema.field("ts").type == MICROS
    assert times(tmp_path) == dict.fromkeys("ab", MILLISECOND * 1000)


def test_numbers_without_a_label_become_local_times(tmp_path: Path) -> None:
    table_of(tmp_path, MILLISECOND, pa.int64())
    labelled(tmp_path, "local-timestamp-millis").upsert(rows("b", MILLISECOND, pa.timestamp("ms")))
    shown = hf.open_table(tmp_path).snapshot(columns=["ts"])["ts"]
    assert shown.type == pa.timestamp("ms")
    assert {one.isoformat() for one in shown.to_pylist()} == {"2024-07-10T17:07:04.939000"}
