"""Services that were planned before a column was renamed and run after it: Hudi reads ours, and runs its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, only_long
from tests.services.test_changed_columns import SERVICES, planned, run

ON_READ = {"hoodie.schema.on.read.enable": "true"}
RENAMES: dict[str, dict[str, str]] = {"a column": {"v": "w"}, "a field of a struct": {"s.x": "z"}}
SETS = [(service, version) for service in SERVICES for version in (9, 6)]


def own(rows: pa.Table) -> list[dict[str, Any]]:
    names = sorted(name for name in rows.column_names if not name.startswith("_hoodie"))
    return rows.select(names).sort_by("k").to_pylist()


def renamed(path: Path, service: str, version: int) -> list[dict[str, Any]]:
    """Make a table with a plan and a column and a field that are renamed after it; its rows."""
    table = planned(path, service, version)
    for change in RENAMES.values():
        table.evolve(rename=change)
    return own(table.snapshot())


@pytest.mark.parametrize(("service", "version"), SETS if LONG else [("log compaction", 9)])
def test_hudi_reads_what_was_planned_before_a_rename_and_run_after_it(
    hudi: RealHudi, tmp_path: Path, service: str, version: int
) -> None:
    rows = renamed(tmp_path / "t", service, version)
    run(hf.open_table(tmp_path / "t", options={"hoodie.log.compaction.blocks.threshold": "1"}), service)
    hudi.sql("set spark.sql.parquet.enableVectorizedReader=false")  # it does not know renamed fields of structs
    try:
        assert own(hudi.read(tmp_path / "t", ON_READ)) == rows
    finally:
        hudi.sql("reset spark.sql.parquet.enableVectorizedReader")
    assert own(hf.open_table(tmp_path / "t").snapshot()) == rows


_CLIENT = """
given = jvm.java.util.HashMap()
for key, value in {options!r}.items():
    given.put(key, value)
client = jvm.org.apache.hudi.DataSourceUtils.createHoodieClient(spark._jsc, {schema!r}, {path!r}, 't', given)
try:
    done = client.logCompact({instant!r})
    if not done.isCommitted():
        client.commitLogCompaction({instant!r}, done, jvm.org.apache.hudi.common.util.Option.empty())
finally:
    client.close()
result = None
"""


@only_long
def test_hudi_itself_loses_what_was_renamed_after_its_plan(hudi: RealHudi, tmp_path: Path) -> None:
    rows = renamed(tmp_path / "t", "log compaction", 9)
    table = hf.open_table(tmp_path / "t")
    [plan] = table.timeline.pending
    options = {
        **ON_READ,
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.insert.drop.duplicates": "false",
        "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
        "hoodie.datasource.compaction.async.enable": "false",
        "hoodie.datasource.clustering.async.enable": "false",
        "hoodie.datasource.clustering.inline.enable": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.log.compaction.enable": "true",
        "hoodie.metadata.enable": "false",
    }
    schema = table._context.state().schema.avro
    hudi.eval_(_CLIENT.format(options=options, schema=schema, path=str(tmp_path / "t"), instant=plan.time))
    after = hf.open_table(tmp_path / "t")
    assert not after.timeline.pending
    theirs = own(hudi.read(tmp_path / "t", ON_READ))
    assert own(after.snapshot()) == theirs
    lost = next(row for row in rows if row["k"] == "a")  # the row of the blocks that were planned
    assert theirs == [{**row, "w": None, "s": {**row["s"], "z": None}} if row is lost else row for row in rows]
