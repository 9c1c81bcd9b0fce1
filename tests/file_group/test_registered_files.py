"""Files of other formats that were registered with a table, as XTable does it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.cleans import CleanerPlan, CleanFileInfo
from hudiformat.timeline.config_files import update_table_config
from hudiformat.timeline.contents import create_requested
from hudiformat.timeline.rollbacks import SavepointMetadata
from hudiformat.timeline.timeline import Action
from tests.foreign.foreign_tables import ForeignTable, names, unpack
from tests.foreign.make_registered import rows
from tests.tables import tree

TABLES = names("registered-")
COLUMNS = ["k", "ts", "p", "v"]
PAYLOAD = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"


@pytest.fixture(params=TABLES)
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> ForeignTable:
    return unpack(request.param, tmp_path)


def test_rows_are_those_that_hudi_shows(foreign: ForeignTable) -> None:
    """One group has been written to by Hudi, one was replaced, one is as it was registered."""
    table = hf.open_table(foreign.path)
    expected = foreign.rows("snapshot").sort_by("k").select(COLUMNS).to_pylist()
    assert table.snapshot(columns=COLUMNS).sort_by("k").to_pylist() == expected
    assert table.snapshot(columns=["v"], filter="k = 'c'")["v"].to_pylist() == [30]
    assert sorted(table.snapshot(columns=["v"], filter="p = 'y'")["v"].to_pylist()) == [4, 30]
    first, second, _ = (one.time for one in table.timeline.completed_writes)
    assert sorted(table.snapshot(columns=["k"], as_of=first)["k"].to_pylist()) == ["a", "b", "c"]
    assert sorted(table.snapshot(columns=["v"], as_of=second)["v"].to_pylist()) == [1, 2, 4, 30]
    assert table.verify() == []


def test_without_the_metadata_table_they_are_not_listed(foreign: ForeignTable) -> None:
    table = hf.open_table(foreign.path, options={"hoodie.metadata.enable": "false"})
    with pytest.raises(hf.UnsupportedFeatureError, match="found one that may have been registered"):
        table.snapshot()


def test_a_lost_file_is_an_error_by_name(foreign: ForeignTable) -> None:
    (foreign.path / "y" / "data_2.parquet").unlink()
    table = hf.open_table(foreign.path)
    with pytest.raises(hf.HudiFormatError, match=r"y/data_2.parquet"):
        table.snapshot()
    assert "missing" in {one.kind.value for one in table.verify()}


def test_a_damaged_file_is_found(foreign: ForeignTable) -> None:
    (foreign.path / "y" / "data_2.parquet").write_bytes(b"PAR1 and no more")
    assert "y/data_2.parquet" in {one.path for one in hf.open_table(foreign.path).verify()}


WRITES: dict[str, tuple[Callable[[hf.Table], Any], str]] = {
    "upsert": (lambda table: table.upsert(rows(("c", 3, "y", 31))), "a10 b2 c31 d4 e5"),
    "insert": (lambda table: table.insert(rows(("z", 3, "y", 6))), "a10 b2 c30 d4 e5 z6"),
    "delete": (lambda table: table.delete(rows(("c", 3, "y", 0))), "a10 b2 d4 e5"),
    "insert_overwrite": (lambda table: table.insert_overwrite(rows(("z", 3, "y", 6))), "a10 b2 e5 z6"),
    "insert_overwrite_table": (lambda table: table.insert_overwrite_table(rows(("z", 3, "y", 6))), "z6"),
    "delete_partitions": (lambda table: table.delete_partitions("y"), "a10 b2 e5"),
    "cluster": (lambda table: table.cluster(), "a10 b2 c30 d4 e5"),
}
EVERY_GROUP = {"hoodie.clustering.plan.strategy.small.file.limit": "999999999"}
REGISTERED = "y/data_2.parquet"


def values(path: Path) -> str:
    found = hf.open_table(path).snapshot(columns=["k", "v"]).sort_by("k").to_pylist()
    return " ".join(f"{row['k']}{row['v']}" for row in found)


def listed(path: Path, partition: str) -> list[str]:
    return [file.name for _, files in hf.open_table(path)._context.state().files(partition) for file in files]


@pytest.mark.parametrize("name", sorted(WRITES))
def test_they_are_written_on(foreign: ForeignTable, name: str) -> None:
    """The file of the others stays as it is."""
    write, expected = WRITES[name]
    before = (foreign.path / REGISTERED).read_bytes()
    write(hf.open_table(foreign.path, options=EVERY_GROUP))
    assert values(foreign.path) == expected
    assert (foreign.path / REGISTERED).read_bytes() == before
    assert hf.open_table(foreign.path).verify() == []


@pytest.mark.parametrize("name", ["upsert", "insert"])
def test_their_next_base_file_is_named_as_hudis(foreign: ForeignTable, name: str) -> None:
    commit = WRITES[name][0](hf.open_table(foreign.path))
    table = hf.open_table(foreign.path)
    registered = table.timeline.completed_writes[1].time
    assert f"y/data_2.parquet_0-0-0_{commit.instant}.parquet" in table.files()
    [stat] = table._context.state().metadata(table.timeline.completed_writes[-1]).write_stats
    assert (stat.file_id, stat.prev_base_file, stat.prev_commit) == ("data_2.parquet", "data_2.parquet", registered)


def test_keys_are_looked_up_in_them_by_bounds_of_footers_too(foreign: ForeignTable) -> None:
    hf.open_table(foreign.path, options={"hoodie.index.type": "BLOOM"}).upsert(rows(("c", 3, "y", 31)))
    assert values(foreign.path) == "a10 b2 c31 d4 e5"


def test_what_was_written_on_them_is_rolled_back(foreign: ForeignTable) -> None:
    commit = hf.open_table(foreign.path).upsert(rows(("c", 3, "y", 31)))
    hf.open_table(foreign.path).rollback(commit)
    assert values(foreign.path) == "a10 b2 c30 d4 e5"
    assert hf.open_table(foreign.path).verify() == []


def test_a_savepoint_names_them_as_their_folder_does_and_keeps_them(foreign: ForeignTable) -> None:
    table = hf.open_table(foreign.path, options={"hoodie.clean.commits.retained": "1"})
    kept = table.timeline.completed_writes[-1].time
    table.savepoint(kept)
    done = next(one for one in table.timeline.completed if one.action is Action.SAVEPOINT)
    content = table._context.state().content(done)
    assert isinstance(content, SavepointMetadata)
    assert "data_2.parquet" in content.partition_metadata["y"].savepoint_data_file
    for number in range(3):
        table.upsert(rows(("c", 3, "y", number)))
    table.clean()
    assert any(name.startswith("data_2.parquet_") and name.endswith("_hudiext") for name in listed(foreign.path, "y"))
    table.restore(kept)
    assert values(foreign.path) == "a10 b2 c30 d4 e5"


def test_a_clean_takes_them_off_the_list_and_leaves_them_to_others(foreign: ForeignTable) -> None:
    table = hf.open_table(foreign.path, options={"hoodie.clean.commits.retained": "1"})
    for number in range(2):
        table.upsert(rows(("c", 3, "y", number)))
    table.clean()
    assert not [name for name in listed(foreign.path, "y") if name.endswith("_hudiext")]
    assert (foreign.path / REGISTERED).exists()
    assert hf.open_table(foreign.path).verify() == []


def test_a_clean_that_hudi_has_planned_leaves_them_to_others(foreign: ForeignTable) -> None:
    """Hudi names a registered file in its plan as the folder does, and would delete it."""
    table = hf.open_table(foreign.path)
    table.upsert(rows(("c", 3, "y", 31)))
    state = hf.open_table(foreign.path)._context.state()
    file = CleanFileInfo(f"file:{foreign.path}/{REGISTERED}", is_bootstrap_base_file=False)
    newest = state.timeline.completed_writes[-1].time
    plan = CleanerPlan(last_completed_commit_timestamp=newest, file_paths_to_be_deleted_per_partition={"y": (file,)})
    create_requested(state.storage, state.config, state.next_instant, Action.CLEAN, plan)
    hf.open_table(foreign.path).clean()
    assert not [name for name in listed(foreign.path, "y") if name.startswith("data_2") and name.endswith("_hudiext")]
    assert (foreign.path / REGISTERED).exists()
    assert values(foreign.path) == "a10 b2 c31 d4 e5"


def test_the_last_row_of_a_write_wins(foreign: ForeignTable) -> None:
    """So says HoodieAvroPayload, whatever the ordering value."""
    hf.open_table(foreign.path).upsert(rows(("c", 1, "y", 31), ("c", 0, "y", 32)))
    assert values(foreign.path) == "a10 b2 c32 d4 e5"


REFUSED: dict[str, Callable[[hf.Table], Any]] = {
    "deleting the metadata table of registered files": lambda table: table.drop_index("files"),
    "indexes of registered files": lambda table: table.create_index("column_stats"),
}


@pytest.mark.parametrize("feature", sorted(REFUSED))
def test_nothing_is_written_where_rows_would_be_lost(foreign: ForeignTable, feature: str) -> None:
    before = tree(foreign.path)
    with pytest.raises(hf.UnsupportedFeatureError) as error:
        REFUSED[feature](hf.open_table(foreign.path))
    assert error.value.feature == feature
    assert tree(foreign.path) == before


def test_a_write_without_the_metadata_table_is_refused(foreign: ForeignTable) -> None:
    before = tree(foreign.path)
    table = hf.open_table(foreign.path, options={"hoodie.metadata.enable": "false"})
    with pytest.raises(hf.UnsupportedFeatureError, match="registered"):
        table.upsert(rows(("c", 3, "y", 31)))
    assert tree(foreign.path) == before


def test_the_version_is_not_changed(foreign: ForeignTable) -> None:
    before, to = tree(foreign.path), 8 if hf.open_table(foreign.path).config.version == 9 else 9
    with pytest.raises(hf.UnsupportedFeatureError, match="nothing else would list"):
        hf.open_table(foreign.path).change_version(to)
    assert tree(foreign.path) == before


def test_log_files_of_them_are_not_written(foreign: ForeignTable) -> None:
    """Hudi could not parse the names."""
    by_commit_time = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", "hoodie.compaction.payload.class": PAYLOAD}
    change_properties(foreign.path, {"hoodie.table.type": "MERGE_ON_READ", **by_commit_time})
    with pytest.raises(hf.UnsupportedFeatureError, match="log files of registered files"):
        hf.open_table(foreign.path).upsert(rows(("c", 3, "y", 31)))


def test_statistics_with_which_hudi_fails_are_refused(foreign: ForeignTable) -> None:
    version = hf.open_table(foreign.path).config.version
    change_properties(foreign.path, {"hoodie.table.metadata.partitions": "column_stats,files"})
    if version == 6:
        return
    with pytest.raises(hf.UnsupportedFeatureError, match="hoodie.metadata.index.drop=column_stats"):
        hf.open_table(foreign.path).upsert(rows(("c", 3, "y", 31)))


def test_files_without_partition_columns_are_not_rewritten(foreign: ForeignTable) -> None:
    """Delta Lake's have none: their values would be null in a new file, and Hudi fails."""
    file = foreign.path / REGISTERED
    pq.write_table(rows(("c", 2, "y", 30), ("d", 1, "y", 4)).drop_columns(["p"]), file)
    before = tree(foreign.path)
    for write in (WRITES["upsert"][0], WRITES["cluster"][0]):
        with pytest.raises(hf.UnsupportedFeatureError, match="found no p"):
            write(hf.open_table(foreign.path, options=EVERY_GROUP))
    assert tree(foreign.path) == before


def change_properties(path: Path, changes: dict[str, str]) -> None:
    update_table_config(LocalStorage(path), changes, saved_at=datetime(2024, 2, 29, tzinfo=timezone.utc))
