"""Tables whose partition paths are made of times pass between hudiformat and real Hudi."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import create_table, open_table
from hudiformat.naming.timed_partitions import INPUT, OUTPUT, OUTPUT_ZONE, TYPE, UNIT, ZONE
from tests.conformance.hudi import RealHudi, RealHudiError

pytestmark = pytest.mark.hudi
MILLIS, DAY = 1_704_069_015_000, 86_400_000
_EPOCH = datetime(1970, 1, 1)
_HUDIS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.precombine.field": "o",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.auto.upgrade": "false",
}


@dataclass(frozen=True)
class Case:
    """Times of a type, for three keys; the last one is null."""

    kind: pa.DataType
    values: tuple[Any, Any]
    options: dict[str, str]


def at(zone: timezone | None) -> tuple[Any, Any]:
    found = [_EPOCH + timedelta(milliseconds=MILLIS + more) for more in (0, DAY)]
    return found[0].replace(tzinfo=zone), found[1].replace(tzinfo=zone)


_ISO = "yyyy-MM-dd'T'HH:mm:ss"
CASES = {
    "millis": Case(
        pa.int64(),
        (MILLIS, MILLIS + DAY),
        {TYPE: "EPOCHMILLISECONDS", OUTPUT: "yyyy/MM/dd", ZONE: "America/New_York"},
    ),
    "moment": Case(pa.timestamp("us", "UTC"), at(timezone.utc), {TYPE: "EPOCHMICROSECONDS", OUTPUT: "yyyy-MM-dd HH"}),
    "local": Case(pa.timestamp("us"), at(None), {TYPE: "EPOCHMICROSECONDS", OUTPUT: "yyyy-MM-dd"}),
    "text": Case(
        pa.string(),
        ("2024-01-01T00:30:00+0100", "2024-01-02"),
        {TYPE: "DATE_STRING", INPUT: f"{_ISO}Z,{_ISO}.SSSZ,yyyy-MM-dd", OUTPUT: "yyyyMMdd", OUTPUT_ZONE: "UTC"},
    ),
    "date": Case(
        pa.date32(),
        (date(2024, 1, 1), date(2024, 2, 2)),
        {TYPE: "SCALAR", UNIT: "DAYS", OUTPUT: "yyyy/MM"},
    ),
    "hive": Case(
        pa.int32(),
        (MILLIS // 1000, (MILLIS + DAY) // 1000),
        {
            TYPE: "UNIX_TIMESTAMP",
            OUTPUT: "yyyy/MM/dd",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.partitionpath.urlencode": "true",
        },
    ),
    "double": Case(pa.float64(), (MILLIS / 1000, (MILLIS + DAY) / 1000), {TYPE: "UNIX_TIMESTAMP", OUTPUT: "yyyyMMdd"}),
}


def rows(case: Case, keys: str, order: int) -> pa.Table:
    """Rows of the keys *keys*; a key has always the same time."""
    times = [(*case.values, None)["abcdef".index(key) % 3] for key in keys]
    fixed = {"k": list(keys), "o": [order] * len(keys), "r": ["x"] * len(keys)}
    return pa.table({**fixed, "p": pa.array(times, case.kind)})


def folders(path: Path) -> list[str]:
    found = path.rglob(".hoodie_partition_metadata")
    return sorted(str(one.parent.relative_to(path)) for one in found if ".hoodie" not in one.relative_to(path).parts)


def read_by(hudi: RealHudi, path: Path, *, has_texts: bool) -> list[pa.Table]:
    """The rows that Hudi reads, its own tables no better: none if it fails on the partition column.

    It takes the text of a path for a value of the column; or, where it shows the times as texts (*has_texts*), it reads
    timestamps as texts.
    """
    try:
        return [hudi.read(path)]
    except RealHudiError as error:
        assert has_texts or "Failed to cast value" in str(error)
        return []


@pytest.mark.parametrize(
    ("version", "maker", "generator", "table_type"),
    [
        (6, "hudi", "TimestampBased", "COPY_ON_WRITE"),
        (6, "ours", "Custom", "MERGE_ON_READ"),
        (9, "hudi", "Custom", "MERGE_ON_READ"),
        (9, "ours", "TimestampBased", "COPY_ON_WRITE"),
        (9, "ours", "TimestampBased", "MERGE_ON_READ"),
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_both_write_in_turns(
    hudi: RealHudi, tmp_path: Path, *, name: str, version: int, maker: str, generator: str, table_type: str
) -> None:
    path, case, is_custom = tmp_path / "t", CASES[name], generator == "Custom"
    fields = "r:SIMPLE,p:TIMESTAMP" if is_custom else "p"
    asked = {
        **case.options,
        "hoodie.datasource.write.partitionpath.field": fields,
        "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{generator}KeyGenerator",
    }
    if is_custom:  # Hudi does not read tables with more folders than fields
        asked[OUTPUT] = asked[OUTPUT].replace("/", "-")
    options = {**_HUDIS, **asked, "hoodie.datasource.write.table.type": table_type}
    options["hoodie.write.table.version"] = str(version)
    if maker == "hudi":
        hudi.write(rows(case, "abc", 1), path, options)
    else:
        create_table(
            path,
            name="t",
            schema=rows(case, "abc", 1).schema,
            record_key="k",
            ordering="o",
            partition_by=fields.split(","),
            table_type=table_type,
            version=version,
            options={key: value for key, value in asked.items() if key not in _HUDIS},
        ).insert(rows(case, "abc", 1))
    first = folders(path)
    assert len(first) == 3
    own = {} if maker == "ours" else {key: asked[key] for key in asked if "hive" not in key and "urlencode" not in key}
    for order, keys in ((2, "abde"), (3, "bcef")):
        open_table(path, options=own).upsert(rows(case, keys, order))
        hudi.write(rows(case, keys[1:], 10 * order), path, options)
    table = open_table(path, options=own)
    expected = dict(zip("abcdef", (2, 20, 30, 20, 30, 30), strict=True))
    assert folders(path) == first
    for found in (table.snapshot(), *read_by(hudi, path, has_texts=pa.types.is_timestamp(case.kind) and not is_custom)):
        assert dict(zip(found["k"].to_pylist(), found["o"].to_pylist(), strict=True)) == expected
        assert found.num_rows == len(expected)
        assert sorted(set(found["_hoodie_partition_path"].to_pylist())) == first
    assert table.verify() == []
