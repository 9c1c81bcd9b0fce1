"""Files of few rows that are encoded together: Hudi reads all types, prunes, goes on with them and hands them back."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.write.handles import base_files
from tests.conformance.hudi import RealHudi
from tests.conformance.partitioned import HUDI, same, table_of

pytestmark = pytest.mark.hudi

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("p", pa.string()),
        ("flag", pa.bool_()),
        ("n", pa.int32()),
        ("f", pa.float32()),
        ("x", pa.float64()),
        ("b", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("t", pa.string()),
    ]
)
DAY = dt.date(1960, 3, 1)
AT = dt.datetime(1960, 3, 1, 12, 30, 1, 5, tzinfo=dt.timezone.utc)

CONDITIONS = (
    "id = 'k00050'",
    "id > 'k00097'",
    "p = 'p3' and n < -50",
    "x = 0",
    "t = 'none'",
    "t = 'ää'",
    f"day = date'{DAY + dt.timedelta(600)}'",
    "flag is null and p = 'p0'",
    "flag",
)


def rows(ids: range, ts: int) -> pa.Table:
    """Rows of ten partitions; each column but those of the key has nulls, in some partitions nothing else."""
    made = [
        {
            "id": f"k{one:05}",
            "ts": ts,
            "p": f"p{one % 10}",
            "flag": one % 3 == 0,
            "n": -one,
            "f": one / 4,
            "x": 0.0 if one % 4 else -one + ts / 8,
            "b": bytes([one % 256]) * (one % 5),
            "day": DAY + dt.timedelta(one * 100),
            "at": AT + dt.timedelta(one * 100),
            "t": "ä" * (one % 3),
        }
        for one in ids
    ]
    for one, row in zip(ids, made, strict=True):
        for place, name in enumerate(SCHEMA.names[3:]):
            if one % 10 == place or one % 7 == place % 7:
                row[name] = None
    return pa.Table.from_pylist(made, SCHEMA)


@pytest.mark.parametrize(
    ("kind", "version"), [("COPY_ON_WRITE", 6), ("COPY_ON_WRITE", 9), ("MERGE_ON_READ", 6), ("MERGE_ON_READ", 9)]
)
def test_hudi_reads_prunes_and_goes_on(
    hudi: RealHudi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, version: int
) -> None:
    monkeypatch.setattr(base_files, "_LEAST_FILES", 8)
    path = tmp_path / "t"
    table = table_of(path, kind=kind, version=version, schema=SCHEMA)
    table.insert(rows(range(100), 1))
    files = [pq.read_metadata(path / name) for name in table.files()]
    assert [(file.created_by, file.num_rows) for file in files] == [("hudiformat version 1", 10)] * 10
    same(hudi, path)
    given = rows(range(100), 1)
    for condition in CONDITIONS:
        expected = duckdb.from_arrow(given).filter(condition).count("*").fetchall()
        query = f"spark.read.format('hudi').load({str(path)!r}).where({condition!r}).count()"
        assert hudi.eval_(f"result = {query}") == expected[0][0], condition
    hudi.write(rows(range(95, 130), 2), path, HUDI | {"hoodie.datasource.write.table.type": kind})
    assert same(hudi, path)["ts"].to_pylist().count(2) == 35
    table.upsert(rows(range(0, 130, 3), 3))
    table.delete(rows(range(20), 4))
    assert same(hudi, path).num_rows == 110
    assert table.verify() == []
