"""Tables with numbered instants."""

from __future__ import annotations

from pathlib import Path

from hudiformat.storage.local import LocalStorage
from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.archive.archived import ArchivedInstant
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants, instants_to_archive, read_archived
from hudiformat.timeline.cleans import CleanMetadata
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.contents import Content, Metadata, complete_instant, create_requested, transition_inflight
from hudiformat.timeline.rollbacks import RollbackMetadata, SavepointMetadata
from hudiformat.timeline.table_config import TableConfig, TableType
from hudiformat.timeline.timeline import Action, Instant, State, load_timeline

FEW = ArchiveLimits(max_commits=2, min_commits=1, compaction_delta_commits=1)
COMMIT = CommitMetadata("UPSERT", extra_metadata={"schema": "{}"})
REPLACE = CommitMetadata("INSERT_OVERWRITE", partition_to_replace_file_ids={"p": ("a-0",)})
METADATA: dict[Action, Metadata] = {
    Action.CLEAN: CleanMetadata("1", 1, 0, "1", "1", {}),
    Action.ROLLBACK: RollbackMetadata("1", 1, 0, ("0",), {}),
    Action.SAVEPOINT: SavepointMetadata("me", 1, "", {}),
    Action.REPLACE_COMMIT: REPLACE,
    Action.CLUSTERING: REPLACE,
}


def time(number: int, millis: int = 0) -> str:
    return f"202402291200{number:02d}{millis:03d}"


def number_of(instant: Instant) -> int:
    return int(instant.time[12:14])


class Table:
    """A table whose instants are numbered: requested at the second of their number, completed half a second later."""

    def __init__(self, folder: Path, version: int, table_type: TableType) -> None:
        self.storage = LocalStorage(folder)
        self.config: TableConfig = new_table_config(
            name="t", record_key_fields=["k"], table_type=table_type, version=version
        )

    def begin(self, number: int, action: Action, plan: Content | None = None) -> Instant:
        requested = create_requested(self.storage, self.config, time(number), action, plan)
        savepoint = requested.state is State.INFLIGHT
        return requested if savepoint else transition_inflight(self.storage, self.config, requested)

    def add(self, number: int, action: Action, plan: Content | None = None) -> Instant:
        inflight = self.begin(number, action, plan)
        metadata = METADATA.get(action, COMMIT)
        return complete_instant(self.storage, self.config, inflight, metadata, completion_time=time(number, 500))

    def add_all(self, *numbers: int, action: Action = Action.DELTA_COMMIT) -> list[Instant]:
        return [self.add(number, action) for number in numbers]

    def chosen(self, limits: ArchiveLimits = FEW) -> list[int]:
        return [number_of(instant) for instant in instants_to_archive(self.storage, self.config, limits)]

    def archive(self, limits: ArchiveLimits = FEW) -> list[int]:
        return [number_of(instant) for instant in archive_instants(self.storage, self.config, limits)]

    def archived(self) -> tuple[ArchivedInstant, ...]:
        return read_archived(self.storage, self.config)

    def active(self) -> list[int]:
        return [number_of(instant) for instant in load_timeline(self.storage, self.config).instants]
