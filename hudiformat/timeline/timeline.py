"""The active timeline: what happened to a table, as far as it has not been archived; and how an instant is written.

A state is reached by creating its file, whole and only once.  The file of the completed state is the commit: with it
everything that the instant wrote becomes visible, without it nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hudiformat.errors import NameFormatError
from hudiformat.storage import Storage
from hudiformat.timeline.commit_metadata import CommitMetadata, decode_commit_metadata
from hudiformat.timeline.instant import Action, Instant, State, parse_instant_name
from hudiformat.timeline.plans import CompactionPlan, decode_compaction_plan
from hudiformat.timeline.table_config import TableConfig

_WRITES = (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The instants of a table, each in its newest state, in the order of their requested times."""

    instants: tuple[Instant, ...] = ()

    @classmethod
    def of(cls, instants: Iterable[Instant]) -> Timeline:
        """The timeline of instants in any order and in several states.

        Source: TimelineLayout.filterHoodieInstantsByLatestState, Hudi 1.2.0.
        """
        newest: dict[tuple[str, Action], Instant] = {}
        for instant in sorted(instants, key=lambda instant: instant.sort_key):
            newest[instant.time, instant.action.completed_as] = instant
        return cls(tuple(newest.values()))

    @property
    def completed(self) -> tuple[Instant, ...]:
        """All completed instants."""
        return tuple(instant for instant in self.instants if instant.is_completed)

    @property
    def pending(self) -> tuple[Instant, ...]:
        """All instants that were requested or begun and have not completed."""
        return tuple(instant for instant in self.instants if not instant.is_completed)

    @property
    def completed_writes(self) -> tuple[Instant, ...]:
        """Completed commits, delta commits and replace commits: what changes the table's rows or files.

        Source: BaseTimelineV2.getCommitsTimeline, Hudi 1.2.0.
        """
        return tuple(instant for instant in self.completed if instant.action in _WRITES)

    @property
    def by_completion_time(self) -> tuple[Instant, ...]:
        """All completed instants in the order in which they were completed.

        Those of layout 1, whose names do not say when, count by their requested times.

        Source: InstantComparators.CompletionTimeBasedComparator, Hudi 1.2.0.
        """
        return tuple(sorted(self.completed, key=lambda done: (done.completion_time or done.time, done.time)))

    @property
    def latest_instant_time(self) -> str | None:
        """The greatest of all requested and completion times, which a new instant has to exceed; None when empty."""
        times = [instant.time for instant in self.instants]
        times += [instant.completion_time for instant in self.instants if instant.completion_time is not None]
        return max(times, default=None)

    @property
    def first_active(self) -> str | None:
        """The time of the first write that is here: what was written before and is not here has been archived.

        Commits with a savepoint stay when their neighbours are archived, so they mark no beginning.

        Source: BaseHoodieTimeline.getFirstNonSavepointCommit, Hudi 1.2.0.
        """
        saved = {instant.time for instant in self.instants if instant.action is Action.SAVEPOINT}
        writes = (instant.time for instant in self.instants if instant.action.completed_as in _WRITES)
        return next((time for time in writes if time not in saved), None)


def load_timeline(storage: Storage, config: TableConfig) -> Timeline:
    """The active timeline of a table.  Files that do not name an instant are passed over, as Hudi does.

    Source: ActiveTimelineV1, ActiveTimelineV2, Hudi 1.2.0.
    """
    return Timeline.of(list_instants(storage, config.timeline_folder, layout=config.layout_version))


def list_instants(storage: Storage, folder: str, *, layout: int) -> list[Instant]:
    """Every instant in every state that a file in *folder* stands for, in the timeline's order."""
    instants = []
    for info in storage.list(folder):
        if info.is_dir:
            continue
        try:
            instants.append(parse_instant_name(info.name, layout=layout))
        except NameFormatError:
            continue  # hoodie.properties, checksums, temporary files
    return sorted(instants, key=lambda instant: instant.sort_key)


def read_metadata(storage: Storage, config: TableConfig, instant: Instant) -> CommitMetadata:
    """What the file of a commit, delta commit or replace commit says, completed or inflight.

    Raises:
        CorruptTableError: the file is damaged.
        StorageError: it is not there (any more).
    """
    path = instant_path(config, instant)
    return decode_commit_metadata(storage.read(path), path=f"{storage.root}/{path}")


def read_compaction_plan(storage: Storage, config: TableConfig, instant: Instant) -> CompactionPlan:
    """What a pending compaction or log compaction is going to merge; its plan is in the requested file.

    Raises:
        CorruptTableError: the file is damaged.
        StorageError: it is not there (any more).
    """
    path = instant_path(config, Instant(instant.time, instant.action, State.REQUESTED))
    return decode_compaction_plan(storage.read(path), path=f"{storage.root}/{path}")


def latest_schema(storage: Storage, config: TableConfig, timeline: Timeline | None = None) -> str | None:
    """The Avro schema of the table's rows, without meta fields, as JSON; None when no commit has named one yet.

    The newest completed write by requested time that names a schema; whatever its operation.

    Raises:
        CorruptTableError: a commit's file is damaged.

    Source: TableSchemaResolver.getLatestCommitMetadataWithValidSchema, getTableCreateSchema, Hudi 1.2.0.
    """
    loaded = load_timeline(storage, config) if timeline is None else timeline
    for instant in reversed(loaded.completed_writes):
        schema = read_metadata(storage, config, instant).schema
        if schema is not None:
            return schema
    return config.create_schema


def instant_path(config: TableConfig, instant: Instant) -> str:
    """Where the file of an instant lies, relative to the table."""
    return f"{config.timeline_folder}/{instant.file_name}"
