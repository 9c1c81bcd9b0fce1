"""A metadata table that real Hudi keeps up, through compactions of its own, rollbacks and cleaning."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import open_table
from hudiformat.metadata import METADATA_FOLDER, listing
from hudiformat.storage import LocalStorage
from hudiformat.timeline import load_table_config, load_timeline
from hudiformat.view import Visibility, list_partitions
from tests.conformance.hudi import RealHudi
from tests.metadata.tables import data_files

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


def check(path: Path) -> None:
    """The listing is that of the folders, and so are the slices."""
    storage = LocalStorage(path)
    config, timeline = load_table_config(storage), load_timeline(storage, load_table_config(storage))
    assert "files" in config.metadata_partitions
    visibility = Visibility.of(timeline)
    expected = {folder: data_files(files, visibility) for folder, files in list_partitions(storage)}
    found = listing(storage, config, timeline)
    listed = dict(found)
    assert {folder: data_files(files, visibility) for folder, files in listed.items()} == expected
    assert {folder: found.files(folder) for folder in found.partitions()} == listed
    slices = open_table(path).file_slices()  # a warning would be an error
    direct = open_table(path, options={"hoodie.metadata.enable": "false"}).file_slices()
    assert slices == sorted(direct, key=lambda item: (item.partition_path, item.file_id))


@pytest.mark.parametrize("partition", ["p", ""], ids=["partitions", "none"])
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
        check(path)

    for number in range(1, 6):
        write(number)
    assert len(list((path / METADATA_FOLDER / "files").glob("*.hfile"))) > 1
    name = f"t_{partition or 'none'}"
    hudi.sql(f"create table {name} using hudi location '{path}'")
    newest = open_table(path).timeline.completed_writes[-1].time
    hudi.sql(f"call rollback_to_instant(table => '{name}', instant_time => '{newest}')")
    check(path)
    write(6)
    write(7, "insert_overwrite_table")
    write(8)
    actions = {instant.action.value for instant in open_table(path).timeline.completed}
    assert {"clean", "rollback", "replacecommit"} <= actions
