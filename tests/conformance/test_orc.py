"""Tables with base files in ORC pass between hudiformat and real Hudi.

Spark reads such files of Hudi's only row by row; Hudi 1.2.0 cannot write dates into them, and loses the fractions of
seconds of all rows of a file that it rewrites.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import Table, create_table, open_table
from tests.conformance.hudi import RealHudi
from tests.foreign.make_orc import SCHEMA, rows

pytestmark = pytest.mark.hudi

HUDIS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "o",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.embed.timeline.server": "false",
}


@pytest.fixture
def row_by_row(hudi: RealHudi) -> Iterator[RealHudi]:
    """Real Hudi on a Spark that reads ORC row by row."""
    key = "spark.sql.orc.enableVectorizedReader"
    hudi.eval_(f"spark.conf.set('{key}', 'false'); result = None")
    yield hudi
    hudi.eval_(f"spark.conf.unset('{key}'); result = None")


def assert_same(table: Table, hudi: RealHudi, path: Path) -> None:
    assert table.verify() == []
    ours, theirs = (one.sort_by("k").select(table.schema.names) for one in (table.snapshot(), hudi.read(path)))
    assert ours.to_pylist() == theirs.to_pylist()


def new_table(path: Path, schema: pa.Schema, table_type: str, version: int = 9) -> Table:
    return create_table(
        path,
        name="t",
        schema=schema,
        record_key="k",
        partition_by="p",
        ordering="o",
        table_type=table_type,
        version=version,
        options={"hoodie.table.base.file.format": "ORC"},
    )


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [6, 9])
def test_hudi_reads_ours(row_by_row: RealHudi, table_type: str, version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = new_table(path, SCHEMA, table_type, version)
    table.insert(rows(range(8), moment=0))
    table.upsert(rows(range(4, 12), moment=1))
    assert_same(table, row_by_row, path)
    table.delete(where="k = 'k03'")
    if table_type == "MERGE_ON_READ":
        table.compact()
    assert_same(table, row_by_row, path)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_both_write_in_turns(row_by_row: RealHudi, table_type: str, tmp_path: Path) -> None:
    path, schema = tmp_path / "t", pa.schema([field for field in SCHEMA if field.name != "day"])
    table = new_table(path, schema, table_type)
    table.insert(rows(range(8), moment=0).select(schema.names))
    for moment in (1, 3):
        given = rows(range(4 * moment, 4 * moment + 6), moment=moment).select(schema.names)
        row_by_row.write(given, path, {**HUDIS, "hoodie.datasource.write.table.type": table_type})
        assert_same(open_table(path), row_by_row, path)
        open_table(path).upsert(rows(range(moment, moment + 12, 3), moment=moment + 1).select(schema.names))
        assert_same(open_table(path), row_by_row, path)
