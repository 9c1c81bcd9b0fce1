"""Partitions of times are left out by the times that their paths tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from hudiformat.naming.timed_partitions import INPUT, OUTPUT, TYPE, ZONE
from tests.write.test_timed_paths import SCHEMA, TIMESTAMP, create

DAY, FIRST = 86_400_000, 1_704_067_200_000
DAYS = [FIRST + number * DAY for number in range(6)]


def table(path: Path, *, by: list[str], output: str, **options: Any) -> hf.Table:
    """Six days of two regions, with a row at the first and at the last millisecond of each, and a row of null."""
    timed = TIMESTAMP if by == ["p"] else {}
    made = create(path, by, {TYPE: "EPOCHMILLISECONDS", OUTPUT: output, ZONE: "UTC", **timed, **options})
    values = [*DAYS, *(day + DAY - 1 for day in DAYS), None]
    keys = [f"{region}{number}" for region in "xy" for number in range(len(values))]
    columns = {"k": keys, "o": [1] * len(keys), "r": [key[0] for key in keys], "p": values * 2}
    made.bulk_insert(pa.table(columns, SCHEMA))
    return hf.open_table(path)


p = pc.field("p")


def left_out(table: hf.Table, filter_: pc.Expression) -> int:
    """How many file slices are left out by their paths, where the filter finds the rows that it is true for."""
    every = table.snapshot()
    found = table.snapshot(columns=["k"], filter=filter_)
    assert sorted(found["k"].to_pylist()) == sorted(every.filter(filter_)["k"].to_pylist())
    return table.scan(filter=filter_).explain().left_out.get("partition path", 0)


@pytest.mark.parametrize("output", ["yyyy-MM-dd", "yyyyMMdd", "yyyy/MM/dd", "yyyy-D"])
@pytest.mark.parametrize(("by", "regions"), [(["p"], 1), (["p:timestamp"], 1), (["r:simple", "p:timestamp"], 2)])
@pytest.mark.parametrize("style", [{}, {"hoodie.datasource.write.hive_style_partitioning": "true"}], ids=["", "hive"])
@pytest.mark.parametrize("encode", [{}, {"hoodie.datasource.write.partitionpath.urlencode": "true"}], ids=["", "url"])
def test_a_filter_of_times_leaves_days_out(
    tmp_path: Path, *, by: list[str], regions: int, output: str, style: dict[str, str], encode: dict[str, str]
) -> None:
    if regions == 2 and "/" in output and not encode:
        pytest.skip("such a path is not written: Hudi does not read it")
    made = table(tmp_path / "t", by=by, output=output, **style, **encode)
    total = 7 * regions
    assert left_out(made, (p >= DAYS[1]) & (p < DAYS[3])) == total - 2 * regions
    assert left_out(made, p == DAYS[2] + 5) == total - regions
    assert left_out(made, p < DAYS[0]) == total - regions, "the day of null, 1970"
    assert left_out(made, p.is_null()) == 0
    assert left_out(made, (p > DAYS[4]) | (pc.field("o") == 2)) == 0
    assert left_out(made, (p > DAYS[5]) & (pc.field("r") == "x")) == total - 1


def test_without_a_zone_the_neighbours_are_read(tmp_path: Path) -> None:
    """Which zone the writer had is not known: a day may have begun fourteen hours earlier, or twelve later."""
    made = table(tmp_path / "t", by=["p"], output="yyyy-MM-dd")
    file = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    file.write_text("".join(line for line in file.read_text().splitlines(True) if ".timezone" not in line))
    assert left_out(hf.open_table(made.path), (p >= DAYS[2]) & (p < DAYS[3])) == 7 - 3


@pytest.mark.parametrize("column", [pa.date32(), pa.timestamp("ms"), pa.int32(), pa.float64()], ids=str)
def test_columns_of_other_types(tmp_path: Path, column: pa.DataType) -> None:
    """A value counts as the number that it is stored as; of a float, which is cut, nothing is told."""
    schema = pa.schema([("k", pa.string()), ("o", pa.int64()), ("p", column)])
    unit = {"date32[day]": "DAYS", "timestamp[ms]": "MILLISECONDS"}.get(str(column), "SECONDS")
    size = {"DAYS": 1, "MILLISECONDS": DAY, "SECONDS": DAY // 1000}[unit]
    options = {TYPE: "SCALAR", "hoodie.keygen.timebased.timestamp.scalar.time.unit": unit}
    path = tmp_path / "t"
    made = hf.create_table(
        path, name="t", schema=schema, record_key="k", ordering="o", partition_by=["p"],
        options={**TIMESTAMP, **options, OUTPUT: "yyyyMMdd", ZONE: "UTC"},
    )  # fmt: skip
    numbers = pa.array([day * size for day in range(19_724, 19_728)], pa.int64())
    values = numbers.cast(pa.int32()).cast(column) if column == pa.date32() else numbers.cast(column)
    made.insert(pa.table({"k": ["a", "b", "c", "d"], "o": [1] * 4, "p": values}, schema))
    for at in range(4):
        gone = left_out(hf.open_table(path), p == values[at])
        assert gone == (0 if column == pa.float64() else 3)


@pytest.mark.parametrize("zone", [{}, {ZONE: "UTC"}], ids=["no zone", "UTC"])
def test_of_times_of_texts_those_with_certain_texts_are_read(tmp_path: Path, zone: dict[str, str]) -> None:
    """No order of texts is that of their times, and of a day in an unknown zone it is not known how a path is made."""
    schema = pa.schema([("k", pa.string()), ("o", pa.int64()), ("p", pa.string())])
    options = {**TIMESTAMP, TYPE: "DATE_STRING", INPUT: "yyyy-MM-dd,MM.yyyy", OUTPUT: "yyyy/MM", **zone}
    made = hf.create_table(
        tmp_path / "t", name="t", schema=schema, record_key="k", ordering="o", partition_by=["p"], options=options
    )
    texts = ["2024-1-05", "2024-02-05", "02.2024", "03.2024", None]
    made.insert(pa.table({"k": [str(number) for number in range(5)], "o": [1] * 5, "p": texts}, schema))
    table, all_known = hf.open_table(tmp_path / "t"), bool(zone)
    assert left_out(table, p == "2024-1-05") == (3 if all_known else 0)
    assert left_out(table, p.isin(["2024-02-05", "03.2024"])) == (2 if all_known else 0)
    assert left_out(table, (p == "02.2024") & (pc.field("o") == 1)) == (3 if all_known else 0)
    assert left_out(table, p > "2024-02") == left_out(table, p.is_null()) == left_out(table, p != "2024-1-05") == 0
    assert left_out(table, p == "no time") == left_out(table, p.isin([None, "2024-1-05"])) == 0
