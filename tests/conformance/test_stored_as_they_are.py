"""Columns that a codec makes hardly smaller: Hudi reads them, prunes by them, copies them and goes on, and so do we."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.conformance.partitioned import HUDI, same, table_of

pytestmark = pytest.mark.hudi

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("p", pa.string()),
        ("x", pa.float64()),
        ("digest", pa.binary()),
        ("vector", pa.list_(pa.float32())),
    ]
)
AS_THEY_ARE = {"x", "digest", "vector"}
ROWS = 20_000
CLASSES = "org.apache.hudi.client.clustering"
COPYING = {
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.class": f"{CLASSES}.plan.strategy.SparkStreamCopyClusteringPlanStrategy",
    "hoodie.clustering.execution.strategy.class": f"{CLASSES}.run.strategy.SparkStreamCopyClusteringExecutionStrategy",
    "hoodie.clustering.plan.strategy.sort.columns": "",
}
"""Hudi's clustering that copies column chunks."""


def rows(ids: range, ts: int) -> pa.Table:
    chosen, count = np.random.default_rng(ts), len(ids)
    vectors = pa.ListArray.from_arrays(
        pa.array(np.arange(count + 1, dtype=np.int32) * 3), pa.array(chosen.normal(size=count * 3).astype(np.float32))
    )
    columns = {
        "id": [f"k{one:06}" for one in ids],
        "ts": [ts] * count,
        "p": ["p0"] * count,
        "x": chosen.random(count),
        "digest": [chosen.bytes(64) for _ in ids],
        "vector": vectors.cast(SCHEMA.field("vector").type),
    }
    return pa.table(columns, SCHEMA)


def codecs(table: hf.Table) -> dict[str, set[str]]:
    """The codecs of each column in the newest base files."""
    found: dict[str, set[str]] = {}
    for name in table.files():
        group = pq.read_metadata(Path(table.path, name)).row_group(0)
        for place in range(group.num_columns):
            chunk = group.column(place)
            found.setdefault(chunk.path_in_schema.partition(".")[0], set()).add(chunk.compression)
    return found


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy"])
def test_hudi_reads_prunes_copies_and_goes_on(hudi: RealHudi, tmp_path: Path, codec: str) -> None:
    path, options = tmp_path / "t", {"hoodie.parquet.compression.codec": codec}
    table_of(path, schema=SCHEMA)
    table = hf.open_table(path, options=options)
    table.insert(rows(range(ROWS), 1))
    found = codecs(table)
    assert {name for name, names in found.items() if names == {"UNCOMPRESSED"}} == AS_THEY_ARE
    assert all(names == {codec.upper()} for name, names in found.items() if name not in AS_THEY_ARE)
    first = same(hudi, path)
    for condition, expected in {"x > 0.5": pc.field("x") > 0.5, "x > 2": pc.field("x") > 2}.items():
        counted = hudi.eval_(f"result = spark.read.format('hudi').load({str(path)!r}).where({condition!r}).count()")
        assert counted == first.filter(expected).num_rows, condition
    table.insert(rows(range(ROWS, 2 * ROWS), 2))
    hudi.write(rows(range(0, ROWS, 1000), 3), path, HUDI | options | COPYING)
    assert any("replacecommit" in name for name in hf.open_table(path).history()["action"].to_pylist())
    same(hudi, path)
    table.upsert(rows(range(5, 2 * ROWS, 1000), 4))
    assert same(hudi, path).num_rows == 2 * ROWS
