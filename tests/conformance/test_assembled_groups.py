"""Row groups that are put together from chunks: Hudi reads, prunes and goes on with them, and we with Hudi's."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.file_group.base_file import assembled_groups
from hudiformat.write.handles import copied_groups, merge
from tests.conformance import partitioned
from tests.conformance.hudi import RealHudi
from tests.conformance.partitioned import HUDI, KEY, SCHEMA
from tests.rows import assert_same_rows

pytestmark = pytest.mark.hudi

rows = partial(partitioned.rows, partitions=2)

FEW_BYTES = 200


@pytest.fixture(autouse=True)
def _any_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembled_groups, "_ROWS_FOR_A_COLUMN", 0)
    monkeypatch.setattr(copied_groups, "LEAST_GROUP", 0)
    monkeypatch.setattr(merge, "_SMALL_FILE", 0)  # small files are merged together, and nothing is copied


def same(hudi: RealHudi, path: Path) -> pa.Table:
    found = hf.open_table(path).snapshot()
    assert_same_rows(hudi.read(path), found, key=KEY)
    return found


def counted(hudi: RealHudi, path: Path, condition: str) -> int:
    """The rows for which a condition is true, which Spark pushes down to the statistics and indexes of pages."""
    return int(hudi.eval_(f"result = spark.read.format('hudi').load({str(path)!r}).where({condition!r}).count()"))


def constants(table: hf.Table) -> set[str]:
    """The columns that have few bytes in each base file."""
    found = []
    for name in table.files():
        group = pq.read_metadata(Path(table.path, name)).row_group(0)
        columns = [group.column(place) for place in range(group.num_columns)]
        found.append({one.path_in_schema for one in columns if one.total_compressed_size < FEW_BYTES})
    return set.intersection(*found)


@pytest.mark.parametrize("codec", ["zstd", "gzip"])
def test_hudi_reads_prunes_and_goes_on(hudi: RealHudi, tmp_path: Path, codec: str) -> None:
    path, options = tmp_path / "t", {"hoodie.parquet.compression.codec": codec}
    hf.create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type="COPY_ON_WRITE",
        options=options,
    )
    table = hf.open_table(path, options=options)
    first = table.insert(rows(range(1000), 1)).instant
    assert constants(table) >= {"_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_file_name", "p"}
    same(hudi, path)
    second = table.upsert(rows(range(0, 1000, 50), 2)).instant
    same(hudi, path)
    for condition, count in {
        f"_hoodie_commit_time = '{first}'": 980,
        f"_hoodie_commit_time = '{second}'": 20,
        f"_hoodie_commit_time > '{second}'": 0,
        "id = 'k00050' and _hoodie_record_key = id": 1,
        "p = 'p1' and x > 500": 250,
        "_hoodie_partition_path = 'none'": 0,
    }.items():
        assert counted(hudi, path, condition) == count, condition
    hudi.write(rows(range(990, 1010), 3), path, HUDI | options)
    same(hudi, path)
    table.upsert(rows(range(0, 1010, 10), 4))
    assert same(hudi, path).num_rows == 1010
