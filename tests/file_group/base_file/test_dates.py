"""Dates and times that Spark wrote as INT96 or in its legacy calendar are the ones that Hudi reads."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.codec.parquet.dates import CALENDAR_KEYS, VERSION
from hudiformat.file_group.base_file.copying import can_be_copied
from hudiformat.write.handles import clustered
from tests.foreign.foreign_tables import names, unpack
from tests.rows import assert_same_rows

OWN = ["k", "o", "d", "t", "u", "s", "l", "m"]
TABLES = names("dates-")
LEGACY = [name for name in TABLES if "legacy" in name]


def base_files(table: Path) -> list[Path]:
    return sorted(path for path in table.rglob("*.parquet") if ".hoodie" not in path.parts)


@pytest.mark.parametrize("name", TABLES)
def test_dates_and_times_are_those_that_hudi_reads(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path)
    assert_same_rows(table.snapshot(columns=OWN), foreign.rows("snapshot"), key=("k",))
    assert table.verify() == []
    assert table.repair().steps == ()


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("text", ["d < '1550-01-01'", "d = '1500-01-01'", "t < '1500-02-01'", "t > '2262-05-01'"])
def test_conditions_on_dates_find_what_is_shown(name: str, text: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table, column, value = hf.open_table(foreign.path), text[0], text.split("'")[1]
    shown = foreign.rows("snapshot")
    moment = pc.field(column) if column == "d" else pc.field(column).cast(pa.timestamp("us"))
    wanted = pa.scalar(value).cast(pa.date32() if column == "d" else pa.timestamp("us"))
    expected = shown.filter({"<": moment < wanted, "=": moment == wanted, ">": moment > wanted}[text[2]])[
        "k"
    ].to_pylist()
    assert sorted(table.snapshot(columns=["k"], filter=text)["k"].to_pylist()) == sorted(expected) != []


@pytest.mark.parametrize("name", TABLES)
def test_files_that_are_written_anew_have_the_same_dates_in_the_one_calendar(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path, options={"hoodie.index.type": "SIMPLE"})
    row = table.snapshot(columns=OWN, filter="k = 'a'")
    before = set(base_files(foreign.path))
    table.upsert(row)
    if "mor" in name:
        table.compact()
    assert_same_rows(table.snapshot(columns=OWN), foreign.rows("snapshot"), key=("k",))
    written = set(base_files(foreign.path)) - before
    assert written
    marks = [set(pq.read_metadata(path).metadata or {}) & set(CALENDAR_KEYS) for path in written]
    assert all(one == {VERSION} for one in marks)


@pytest.mark.parametrize("name", LEGACY)
def test_clustering_does_not_copy_dates_of_the_legacy_calendar(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clustered, "can_be_copied", partial(can_be_copied, least_group=0))
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path, options={"hoodie.parquet.compression.codec": "snappy"})
    if "mor" in name:
        table.compact()
    table.cluster()
    assert_same_rows(table.snapshot(columns=OWN), foreign.rows("snapshot"), key=("k",))


def test_old_times_of_a_zone_that_only_java_knows_are_refused_by_name(tmp_path: Path) -> None:
    foreign = unpack("dates-legacy-zone-cow9-h120", tmp_path)
    [path] = base_files(foreign.path)
    path.write_bytes(path.read_bytes().replace(b"Europe/Berlin", b"Europe/Bonn  "))
    table = hf.open_table(foreign.path)
    with pytest.raises(
        hf.UnsupportedFeatureError, match=r"column t: expected times before 1900 .* found .* Europe/Bonn"
    ):
        table.snapshot()
    assert len(table.snapshot(columns=["k", "d"])) == 7
    assert table.verify() == []
    assert table.repair().steps == ()


def test_old_times_without_a_zone_are_refused_by_name(tmp_path: Path) -> None:
    foreign = unpack("dates-legacy-cow9-h120", tmp_path)
    [path] = base_files(foreign.path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"org.apache.spark.timeZone", b"org.apache.spark.timeZonf"))
    with pytest.raises(hf.DataError, match=re.escape("does not name (org.apache.spark.timeZone)")):
        hf.open_table(foreign.path).snapshot()


@pytest.mark.parametrize(("version", "is_legacy"), [(b"2.4.9", True), (b"3.5.9", False)])
def test_files_of_spark_2_are_in_the_legacy_calendar_without_a_mark(
    version: bytes, *, is_legacy: bool, tmp_path: Path
) -> None:
    foreign = unpack("dates-legacy-cow9-h120", tmp_path)
    [path] = base_files(foreign.path)
    data = path.read_bytes().replace(b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyDateTimf")
    path.write_bytes(data.replace(b"3.5.9", version))
    found = hf.open_table(foreign.path).snapshot(columns=["d"], filter="k = 'a'")["d"][0].as_py()
    assert str(found) == ("1500-01-01" if is_legacy else "1500-01-10")


def test_statistics_of_old_dates_are_not_those_of_the_footer(tmp_path: Path) -> None:
    foreign = unpack("dates-legacy-cow9-h120", tmp_path)
    table = hf.open_table(foreign.path, options={"hoodie.metadata.index.column.stats.enable": "true"})
    table.create_index("column_stats")
    found = table.snapshot(columns=["k"], filter="d < '0001-02-01'")
    assert found["k"].to_pylist() == ["b"]
