"""Real Hudi reads tables that a repair has mended, and writes on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.schema.meta_fields import META_FIELDS
from hudiformat.timeline.timeline import Action
from tests.check.repair.breaking import BREAKS, V9, Break, age, damaged_base, own_rows
from tests.conformance.hudi import RealHudi
from tests.conformance.test_both_ways import kept_at
from tests.effort import LONG, only_long
from tests.tables import tree, unpack

CHOSEN = BREAKS if LONG else list({one.kind: one for one in reversed(BREAKS)}.values())
"""One table for each kind of repair; ``tests/check/repair`` has each way of breaking one."""


def theirs(hudi: RealHudi, table: hf.Table) -> list[str]:
    found = hudi.read(table.path, {"hoodie.metadata.enable": bool(table.config.metadata_partitions)})
    names = [name for name in table.snapshot().column_names if not name.startswith("_hoodie_")]
    schema = pa.schema([table.schema.field(name) for name in names])
    return sorted(map(repr, found.select(names).cast(schema).to_pylist()))


def without_meta_fields(rows: pa.Table) -> pa.Table:
    return rows.drop_columns([name for name in META_FIELDS if name in rows.column_names])


def write_options(table: hf.Table) -> dict[str, Any]:
    config = table.config
    return {
        "hoodie.table.name": config.name,
        "hoodie.datasource.write.table.type": config.table_type.value,
        "hoodie.datasource.write.recordkey.field": ",".join(config.record_key_fields),
        "hoodie.datasource.write.partitionpath.field": ",".join(config.partition_fields),
        "hoodie.datasource.write.hive_style_partitioning": config.hive_style_partitioning,
        **({"hoodie.table.ordering.fields": ",".join(config.ordering_fields)} if config.ordering_fields else {}),
        "hoodie.metadata.enable": bool(config.metadata_partitions),
        **kept_at(config.version),
    }


def check(hudi: RealHudi, path: Path) -> None:
    """Hudi sees our rows; after a write of Hudi's, and a clean, both see the same rows again."""
    table = hf.open_table(path)
    assert theirs(hudi, table) == own_rows(table)
    hudi.write(without_meta_fields(table.snapshot()).slice(0, 5), path, write_options(table))
    table = hf.open_table(path)
    assert theirs(hudi, table) == own_rows(table)
    assert table.verify() == []


@pytest.mark.hudi
@pytest.mark.parametrize("broken", CHOSEN, ids=lambda one: one.name)
def test_hudi_reads_what_was_repaired(hudi: RealHudi, broken: Break, tmp_path: Path) -> None:
    path = broken.make(tmp_path)
    steps = hf.repair_table(path, apply=True, properties=broken.given).steps
    assert broken.kind in {step.kind for step in steps}
    check(hudi, path)


@only_long
@pytest.mark.hudi
def test_hudi_reads_a_table_whose_duplicates_were_deleted(hudi: RealHudi, tmp_path: Path) -> None:
    path = unpack(V9, tmp_path).table
    table = hf.open_table(path)
    before, rows = own_rows(table), without_meta_fields(table.snapshot())
    hudi.write(rows.slice(0, 7), path, {**write_options(table), "hoodie.datasource.write.operation": "bulk_insert"})
    age(path)
    assert len(own_rows(hf.open_table(path))) == len(before) + 7
    assert hf.open_table(path).repair(apply=True, keys=True).left == ()
    assert own_rows(hf.open_table(path)) == before
    check(hudi, path)


@only_long
@pytest.mark.hudi
def test_hudis_services_leave_what_was_taken_away(hudi: RealHudi, tmp_path: Path) -> None:
    """Its cleaner, its archiving and the building of its metadata table do not look into the folder."""
    broken = next(one for one in BREAKS if one.by is damaged_base and one.golden == "v9-cow-small-files-h120")
    path = broken.make(tmp_path)
    taken = hf.repair_table(path, apply=True).taken_away
    assert taken is not None
    before = tree(path / taken)
    table = hf.open_table(path)
    services = {
        "hoodie.metadata.enable": True,
        "hoodie.metadata.index.column.stats.enable": True,
        "hoodie.clean.commits.retained": 1,
        "hoodie.clean.automatic": True,
        "hoodie.keep.min.commits": 2,
        "hoodie.keep.max.commits": 3,
    }
    rows = without_meta_fields(table.snapshot())
    for start in (0, 5):
        hudi.write(rows.slice(start, 5), path, {**write_options(table), **services})
    table = hf.open_table(path)
    assert {"files", "column_stats"} <= set(table.config.metadata_partitions)
    assert any(one.action is Action.CLEAN for one in table.timeline.completed)
    assert tree(path / taken) == before
    assert theirs(hudi, table) == own_rows(table)
    assert table.verify() == []
