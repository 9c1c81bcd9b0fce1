"""A metadata table that real Hudi keeps up, through compactions of its own, rollbacks and cleaning."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat import open_table
from hudiformat.metadata import METADATA_FOLDER
from hudiformat.options.values import Operation
from hudiformat.transaction.transaction import begin_write
from tests.conformance.hudi import RealHudi
from tests.effort import LONG
from tests.metadata.tables import check_listing
from tests.rows import assert_same_rows

OPTIONS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.compact.max.delta.commits": "3",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.automatic": "true",
}


@pytest.mark.parametrize("partition", ["p", ""] if LONG else ["p"])
def test_the_listing_is_that_of_the_folders_at_every_step(hudi: RealHudi, tmp_path: Path, partition: str) -> None:
    path = tmp_path / "t"
    options = {**OPTIONS, "hoodie.datasource.write.partitionpath.field": partition}

    def write(number: int, operation: str = "upsert") -> None:
        rows = pa.table(
            {
                "id": [f"k{i}" for i in range(6)],
                "ts": [number] * 6,
                "p": [f"p{i % 3}" for i in range(6)],
                "n": [number] * 6,
            }
        )
        hudi.write(rows, str(path), {**options, "hoodie.datasource.write.operation": operation})
        check_listing(path)

    for number in range(1, 6):
        write(number)
    assert len(list((path / METADATA_FOLDER / "files").glob("*.hfile"))) > 1
    name = f"t_{partition or 'none'}"
    hudi.sql(f"create table {name} using hudi location '{path}'")
    newest = open_table(path).timeline.completed_writes[-1].time
    hudi.sql(f"call rollback_to_instant(table => '{name}', instant_time => '{newest}')")
    check_listing(path)
    write(6)
    write(7, "insert_overwrite_table")
    write(8)
    actions = {instant.action.value for instant in open_table(path).timeline.completed}
    assert {"clean", "rollback", "replacecommit"} <= actions


def rows(keys: range, number: int, *, partition: str | None = None) -> pa.Table:
    count = len(keys)
    return pa.table(
        {
            "id": [f"k{i}" for i in keys],
            "ts": [number] * count,
            "p": [partition or f"p{i % 3}" for i in keys],
            "n": [number] * count,
        }
    )


def test_hudi_sees_no_stale_listing_after_any_of_our_actions(hudi: RealHudi, tmp_path: Path) -> None:
    path, name = tmp_path / "t", "kept_up"
    often = {"hoodie.metadata.compact.max.delta.commits": "4", "hoodie.clean.automatic": "false"}
    options = {**OPTIONS, **often, "hoodie.compact.inline": "false"}

    def hudi_writes(data: pa.Table) -> None:
        hudi.write(data, path, {**options, "hoodie.datasource.write.partitionpath.field": "p"})

    def agree() -> None:
        check_listing(path)
        key = ("_hoodie_partition_path", "_hoodie_record_key")
        listed, walked = (hudi.read(path, {"hoodie.metadata.enable": str(on).lower()}) for on in (True, False))
        assert_same_rows(listed, walked, key=key)
        assert_same_rows(hf.open_table(path).snapshot(), walked, key=key)

    def metadata_timeline() -> list[str]:
        return [one.time for one in hf.open_table(path / METADATA_FOLDER).timeline.completed]

    hudi_writes(rows(range(12), 1))
    hudi.sql(f"create table {name} using hudi location '{path}'")
    table = hf.open_table(path, options={**often, "hoodie.clean.commits.retained": "1"})
    table.insert(rows(range(20, 30), 2))
    table.upsert(rows(range(5), 3))
    table.insert(rows(range(100, 102), 3, partition="new"))
    table.delete(rows(range(5, 8), 3).select(["id", "p"]))
    table.compact()
    agree()
    hudi_writes(rows(range(3, 9), 4))
    first = metadata_timeline()[0]
    table.insert_overwrite(rows(range(3), 5))
    table.delete_partitions(["new"])
    table.rollback(table.upsert(rows(range(4), 7)).instant)
    begin_write(table.context, Operation.UPSERT)  # and never heard of again
    for number in range(8, 14):
        table.upsert(rows(range(4), number))
    assert table.clean() is not None
    agree()
    hudi_writes(rows(range(3, 12), 14))
    table.upsert(rows(range(4), 15))
    agree()
    assert metadata_timeline()[0] == first == "00000000000000000"  # it has never been built anew
    validated = hudi.sql(f"call validate_metadata_table_files(table => '{name}')")
    assert validated.num_rows == 0, validated.to_pylist()
