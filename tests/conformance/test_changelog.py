"""A changelog table that Flink wrote and hudiformat goes on with, as Hudi on Spark sees it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.rows import assert_same_rows
from tests.table.test_operations import CHANGELOG, KEEP, things

NO_STATISTICS = "hoodie.metadata.index.column.stats.enable=false,hoodie.metadata.index.partition.stats.enable=false"
OPERATIONS = f"{KEEP}=true,hoodie.compact.inline.max.delta.commits=1,{NO_STATISTICS}"


def assert_reads_alike(hudi: RealHudi, table: hf.Table) -> pa.Table:
    found = table.snapshot()
    assert "_hoodie_operation" in found.column_names
    assert_same_rows(found, hudi.read(table.path), key=("_hoodie_record_key",))
    return found


def test_hudi_reads_a_changelog_that_each_goes_on_with(hudi: RealHudi, tmp_path: Path) -> None:
    with zipfile.ZipFile(CHANGELOG) as archive:
        archive.extractall(tmp_path)
    path = str(tmp_path / "table")
    table = hf.open_table(
        path, options={"hoodie.index.type": "INMEMORY", "hoodie.log.compaction.blocks.threshold": "2"}
    )
    table.upsert(things(("k002", 9, "p2"), ("new", 1, "p2")))
    table.delete(pa.table({"id": ["k044"], "p": ["p2"]}))
    assert assert_reads_alike(hudi, table).num_rows == 31
    table.log_compact()
    assert assert_reads_alike(hudi, table).num_rows == 31
    call = f"CALL run_compaction(op => 'scheduleAndExecute', path => '{path}', options => '{OPERATIONS}')"
    assert hudi.sql(call).num_rows
    table = hf.open_table(path)
    assert assert_reads_alike(hudi, table).num_rows == 31
    table.upsert(things(("k002", 10, "p2"), ("newer", 1, "p0")))
    table.compact()
    assert assert_reads_alike(hudi, table).num_rows == 32
