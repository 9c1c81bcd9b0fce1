"""Plans, markers, properties and the metadata table that name places outside of the table, or what is no data file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hudiformat as hf
from hudiformat.timeline.cleans import CleanerPlan, CleanFileInfo
from hudiformat.timeline.contents import begin_instant, create_requested, decode_content
from hudiformat.timeline.plans import CompactionOperation, CompactionPlan
from hudiformat.timeline.records import encode_record_file
from hudiformat.timeline.rollbacks import InstantInfo, RestorePlan, RollbackPlan, RollbackRequest
from hudiformat.timeline.timeline import Action, Instant, State
from tests.effort import sample
from tests.hostile.reading import Attempts
from tests.tables import content, edit, new_table, rows, tree

pytestmark = pytest.mark.unmeasured

TIME = "20300101000000000"
PLACES = ["..", "../..", "../../..", "../canary", "/tmp", "p1/../..", ".hoodie", ".hoodie/timeline", "a//b", "p\0"]
DATA_FILE = "f-0_0-0-0_20240101000000000.parquet"
NAMES = [
    "",
    "..",
    "p1",
    "hoodie.properties",
    ".hoodie_partition_metadata",
    f"{DATA_FILE}/..",
    "20240229120000010.commit",
]


def rollback_of(instant: str = TIME, folder: str = "p1", file: str = DATA_FILE, file_id: str = "f-0") -> RollbackPlan:
    request = RollbackRequest(folder, file_id, instant, (f"file:/somewhere/{file}",), {})
    return RollbackPlan(InstantInfo(instant, "deltacommit"), (request,))


def clean_of(folder: str = "p1", file: str = DATA_FILE) -> CleanerPlan:
    return CleanerPlan(file_paths_to_be_deleted_per_partition={folder: (CleanFileInfo(file),)})


def compaction_of(**named: Any) -> CompactionPlan:
    sound = {"base_instant_time": "1", "partition_path": "p1", "file_id": "f-0", "data_file_path": DATA_FILE}
    return CompactionPlan((CompactionOperation(**{**sound, **named}),))


def restore_of(instant: str) -> RestorePlan:
    return RestorePlan((InstantInfo(instant, "deltacommit"),), savepoint_to_restore_timestamp="1")


@pytest.fixture(params=[6, 9])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hf.Table:
    """A table with rows, beside which and below which canaries lie."""
    made = new_table(tmp_path / "outer" / "table", version=request.param)
    made.upsert(rows(("1", 1, "p1"), ("2", 1, "p2")))
    for folder in (tmp_path, tmp_path / "outer", tmp_path / "outer" / "canary"):
        folder.mkdir(exist_ok=True)
        (folder / DATA_FILE).write_bytes(b"canary")
    return made


def outside(table: hf.Table) -> dict[str, bytes]:
    root = Path(table.path).parents[1]
    return {path: data for path, data in tree(root).items() if not path.startswith("outer/table/")}


CHANGES: list[Callable[[hf.Table], object]] = [
    lambda table: table.upsert(rows(("3", 1, "p1"))),
    lambda table: table.clean(),
    lambda table: table.compact(),
    lambda table: table.restore(table.timeline.completed_writes[0].time),
]


def attacked(table: hf.Table, action: Action, plan: Any) -> list[BaseException]:
    """The errors of all operations on a table with this pending plan."""
    create_requested(table._context.storage, table.config, TIME, action, plan)
    attempt = Attempts()
    for change in CHANGES:
        attempt(partial(change, hf.open_table(table.path, options={"hudiformat.sync": "false"})))
    return attempt.errors


ATTACKS = [
    *[(Action.ROLLBACK, rollback_of(folder=place)) for place in PLACES],
    *[(Action.ROLLBACK, rollback_of(instant=place)) for place in PLACES],
    *[(Action.ROLLBACK, rollback_of(file_id=place)) for place in PLACES],
    *[(Action.ROLLBACK, rollback_of(file=name)) for name in NAMES],
    *[(Action.CLEAN, clean_of(folder=place)) for place in PLACES],
    *[(Action.CLEAN, clean_of(file=name)) for name in NAMES if name],
    *[(Action.COMPACTION, compaction_of(partition_path=place)) for place in PLACES],
    *[(Action.COMPACTION, compaction_of(file_id=place)) for place in PLACES],
    *[(Action.COMPACTION, compaction_of(base_instant_time=place)) for place in PLACES],
    *[(Action.COMPACTION, compaction_of(data_file_path=name)) for name in NAMES if name],
    *[(Action.RESTORE, restore_of(place)) for place in PLACES],
]


@pytest.mark.parametrize(("action", "plan"), ATTACKS, ids=str)
def test_a_plan_that_names_other_places_is_not_parsed(action: Action, plan: Any) -> None:
    with pytest.raises(hf.CorruptTableError, match="^f: expected a .*: expected "):
        decode_content(encode_record_file(plan), Instant(TIME, action, State.REQUESTED), path="f")


@pytest.mark.slow
@pytest.mark.parametrize(("action", "plan"), sample(ATTACKS, of=9), ids=str)
@pytest.mark.parametrize("table", [6, 9], indirect=True)
def test_a_plan_that_names_other_places_is_refused(table: hf.Table, action: Action, plan: Any) -> None:
    before, inside = outside(table), tree(Path(table.path))
    errors = attacked(table, action, plan)
    assert outside(table) == before
    assert any("expected" in str(error) for error in errors), errors
    after = tree(Path(table.path))
    assert [
        path for path in inside if path not in after and not path.startswith((".hoodie/.", ".hoodie/metadata"))
    ] == []


def test_markers_of_what_is_no_data_file_delete_nothing(table: hf.Table) -> None:
    storage, config = table._context.storage, table.config
    begin_instant(storage, config, TIME, Action.DELTA_COMMIT)
    for path in (
        "p1",
        "hoodie.properties",
        ".hoodie/hoodie.properties",
        "p1/.hoodie_partition_metadata",
        ".hoodie",
        "p2/x",
    ):
        storage.create(f".hoodie/.temp/{TIME}/{path}.marker.CREATE", b"")
    for file in Path(table.path).rglob("*.log.*"):  # of another write
        storage.create(f".hoodie/.temp/{TIME}/{file.relative_to(table.path)}.marker.CREATE", b"")
    rows_before = content(table)
    table.rollback(TIME)
    assert content(hf.open_table(table.path)) == rows_before


@pytest.mark.parametrize("place", ["..", "../..", "../../../canary", "/tmp", "a/../../b", "a\\u0000b", "a//b", "."])
@pytest.mark.parametrize(
    "key",
    [
        "hoodie.timeline.path",
        "hoodie.timeline.history.path",
        "hoodie.archivelog.folder",
        "hoodie.table.metadata.partitions",
    ],
)
def test_properties_that_name_other_folders_are_refused(table: hf.Table, key: str, place: str) -> None:
    edit(Path(table.path), key, place)
    of_version_6 = key == "hoodie.archivelog.folder"
    if key == "hoodie.table.metadata.partitions" or of_version_6 == (table.config.version == 6):
        with pytest.raises(hf.CorruptTableError, match=f"expected .*folder.* for {key}"):
            hf.open_table(table.path)


def test_a_link_out_of_the_table_is_not_read(table: hf.Table) -> None:
    folder = Path(table.path).parent / "other"
    Path(table.path, "p1").rename(folder)
    Path(table.path, "p1").symlink_to(folder)
    with pytest.raises(hf.StorageError, match="a symbolic link leads out of"):
        table.snapshot()
