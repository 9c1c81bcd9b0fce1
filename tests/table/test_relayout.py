"""The timeline in the layout of another version: all actions and states, the archive, and what was left before."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from hudiformat import CorruptTableError
from hudiformat.storage.local import LocalStorage
from hudiformat.table.new_table import new_table_config
from hudiformat.table.relayout import convert_timeline, delete_timeline
from hudiformat.timeline.archive.archive_log import add_archive_log
from hudiformat.timeline.archive.archived import ArchivedInstant
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.archive.history import add_history
from hudiformat.timeline.commit_metadata import CommitMetadata, decode_commit_metadata
from hudiformat.timeline.contents import encode_content
from hudiformat.timeline.table_config import TableConfig, TimelineZone
from hudiformat.timeline.timeline import Action, Instant, State, instant_path, list_instants
from tests.tables import tree

METADATA = CommitMetadata("UPSERT", {}, {"schema": '"string"'})
TIMES = [f"2024022912000{number}000" for number in range(5)]


def config(version: int, **extra: str) -> TableConfig:
    return new_table_config(
        name="t", record_key_fields=["k"], version=version, timeline_zone=TimelineZone.UTC, extra=extra
    )


def add(storage: LocalStorage, of: TableConfig, instant: Instant, *, written: str = "2024-02-29 12:00:00.500") -> None:
    is_write = instant.action.completed_as.is_write and instant.state is not State.REQUESTED
    storage.create(instant_path(of, instant), encode_content(METADATA, of) if is_write else b"")
    moment = datetime.fromisoformat(written).replace(tzinfo=timezone.utc)
    storage.set_modified(instant_path(of, instant), int(moment.timestamp() * 1000))


def instants(storage: LocalStorage, of: TableConfig) -> list[Instant]:
    return list_instants(storage, of.timeline_folder, layout=of.layout_version)


ALL = [
    Instant(TIMES[0], Action.DELTA_COMMIT, State.REQUESTED),
    Instant(TIMES[0], Action.DELTA_COMMIT, State.INFLIGHT),
    Instant(TIMES[0], Action.DELTA_COMMIT, State.COMPLETED),
    Instant(TIMES[1], Action.COMMIT, State.INFLIGHT),
    Instant(TIMES[1], Action.COMMIT, State.COMPLETED),
    Instant(TIMES[2], Action.REPLACE_COMMIT, State.REQUESTED),
]


def test_from_layout_1_to_2_and_back(tmp_path: Path) -> None:
    storage, old, new = LocalStorage(tmp_path), config(6), config(9)
    for instant in ALL:
        add(storage, old, instant)
    convert_timeline(storage, old, new)
    completed = f"{TIMES[0][:-3]}500", f"{TIMES[1][:-3]}001"
    assert instants(storage, new) == [
        *ALL[:2],
        Instant(TIMES[0], Action.DELTA_COMMIT, State.COMPLETED, completed[0]),  # when its file was written
        ALL[3],
        Instant(TIMES[1], Action.COMMIT, State.COMPLETED, completed[1]),  # written before it began: a copy
        Instant(TIMES[2], Action.CLUSTERING, State.REQUESTED),
    ]
    for instant in (one for one in instants(storage, new) if one.state is not State.REQUESTED):
        data = storage.read(instant_path(new, instant))
        assert data.startswith(b"Obj")
        assert decode_commit_metadata(data, path="") == METADATA
    assert instants(storage, old) == ALL  # which counts until the properties are changed
    delete_timeline(storage, old, instead_of=new)
    assert instants(storage, old) == []
    convert_timeline(storage, new, old)
    assert instants(storage, old) == ALL
    assert storage.read(instant_path(old, ALL[2])).startswith(b"{")
    modified = {info.name: info.modified for info in storage.list(".hoodie")}
    assert (modified[ALL[2].file_name] or 0) % 60_000 == 500


def test_a_completion_is_before_the_next_instant(tmp_path: Path) -> None:
    """A copied table has files that are newer than all instants."""
    storage, old, new = LocalStorage(tmp_path), config(6), config(8)
    for number in range(3):
        add(storage, old, Instant(TIMES[number], Action.COMMIT, State.COMPLETED), written="2030-01-01")
    convert_timeline(storage, old, new)
    ends = [instant.completion_time for instant in instants(storage, new)]
    assert ends == ["20240229120000999", "20240229120001999", "20300101000000000"]


def test_the_archive_and_what_an_earlier_attempt_left(tmp_path: Path) -> None:
    storage, old, new = LocalStorage(tmp_path), config(6), config(9)
    archived = [ArchivedInstant(Instant(time, Action.COMMIT, State.COMPLETED, time), METADATA) for time in TIMES[:4]]
    add_archive_log(storage, old, archived[:3])
    add_archive_log(storage, old, archived[2:])  # one is in both, after a crash
    for _ in range(2):
        convert_timeline(storage, old, new)
        found = read_archived(storage, new)
        assert [one.instant.time for one in found] == TIMES[:4]
        assert all((one.instant.completion_time or "") > one.instant.time for one in found)
        assert {one.metadata for one in found} == {METADATA}
    delete_timeline(storage, old, instead_of=new)
    convert_timeline(storage, new, old)
    assert [(one.instant.time, one.metadata) for one in read_archived(storage, old)] == [
        (time, METADATA) for time in TIMES[:4]
    ]


def test_one_layout_is_left_as_it_is(tmp_path: Path) -> None:
    storage, old, new = LocalStorage(tmp_path), config(8), config(9)
    add_history(storage, old, [ArchivedInstant(Instant(TIMES[0], Action.COMMIT, State.COMPLETED), METADATA)])
    before = tree(tmp_path)
    convert_timeline(storage, old, new)
    delete_timeline(storage, old, instead_of=new)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("folder", ["timeline/history", "timeline", "timeline/history/deeper"])
def test_archives_in_each_other_are_refused(tmp_path: Path, folder: str) -> None:
    """Deleting the one would delete the other."""
    extra = {"hoodie.archivelog.folder": folder}
    with pytest.raises(CorruptTableError, match="expected archived timelines in folders of their own"):
        convert_timeline(LocalStorage(tmp_path), config(6, **extra), config(9, **extra))
