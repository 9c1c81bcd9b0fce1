"""Times are judged by their numbers: between 1990 and 2100 they tell the unit that they count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.log.build import data_block
from hudiformat.file_group.judged_times import JudgedTimes, judge_base_file, judge_block, time_columns
from hudiformat.storage.opening import open_storage

NAME = "f-0_0-0-0_20240101000000000.parquet"
FROM, TO = 631_152_000, 4_102_444_800  # seconds, 1990 and 2100
NUMBERS = st.one_of(
    st.none(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(FROM * 1000, TO * 1000 - 1),
    st.integers(FROM * 10**6, TO * 10**6 - 1),
    st.sampled_from([0, FROM * 1000 - 1, TO * 1000, FROM * 10**6 - 1, TO * 10**6]),
)


def expected(numbers: list[int | None], unit: str) -> tuple[int, int, int]:
    per = {"ms": 1000, "us": 10**6}
    known = [one for one in numbers if one is not None]
    own = sum(FROM * per[unit] <= one < TO * per[unit] for one in known)
    other = per["us" if unit == "ms" else "ms"]
    return len(known), own, sum(FROM * other <= one < TO * other for one in known)


@given(numbers=st.lists(NUMBERS, max_size=20), unit=st.sampled_from(["ms", "us"]), local=st.booleans())
def test_numbers_between_1990_and_2100_are_counted(numbers: list[int | None], unit: str, local: bool) -> None:
    kind = pa.timestamp(unit, None if local else "UTC")
    times = pa.array(numbers, pa.int64()).cast(kind)
    lists = pa.ListArray.from_arrays(pa.array(range(len(times) + 1), pa.int32()), times)
    batch = pa.record_batch({"ts": times, "r": lists})
    found = judge_block(data_block(batch, instant="1"), batch.schema)
    assert [(one.column, one.unit, (one.count, one.own, one.other)) for one in found] == [
        (path, unit, expected(numbers, unit)) for path in ("ts", "r.element")
    ]
    assert all((one.example is None) == (one.other == 0) for one in found)


def test_times_at_every_depth_of_a_base_file_are_judged(tmp_path: Path) -> None:
    micros = pa.timestamp("us", "UTC")
    times = pa.array([1_720_631_224_939, None, 1_720_631_224_939_000, 0], pa.int64()).cast(micros)
    masked = pa.StructArray.from_arrays([times], ["t"], mask=pa.array([True, False, False, False]))
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 2, 3, 4], pa.int32()), ["a"] * 4, times)
    batch = pa.table({"k": ["a"] * 4, "ts": times, "s": masked, "m": maps, "n": np.arange(4)})
    pq.write_table(batch, tmp_path / NAME)
    found = judge_base_file(open_storage(str(tmp_path)), NAME, batch.schema)
    assert [(one.column, one.count, one.own, one.other, one.example) for one in found] == [
        ("ts", 3, 1, 1, 1_720_631_224_939),
        ("s.t", 2, 1, 0, None),  # that of a null struct is none
        ("m.value", 3, 1, 1, 1_720_631_224_939),
    ]
    assert time_columns(batch.schema).names == ["ts", "s", "m"]
    assert [(one.contradicts, one.is_mixed, one.other_unit) for one in found[:2]] == [
        (True, True, "ms"),
        (False, False, "ms"),
    ]


@pytest.mark.parametrize(("own", "other", "silent"), [(0, 0, True), (1, 0, False), (0, 1, False)])
def test_what_tells_nothing(own: int, other: int, silent: bool) -> None:
    assert JudgedTimes("ts", "us", 1, own, other).tells_nothing == silent
    assert not JudgedTimes("ts", "us", 0, 0, 0).tells_nothing
