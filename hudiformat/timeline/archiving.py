"""The oldest instants leave the active timeline for the archived one, as far as nobody needs them where they are.

Whoever archives holds the table's lock.  An instant is archived before it is deleted, so that a writer that dies in
between leaves it in both places, and the next one deletes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from hudiformat.errors import OptionError
from hudiformat.storage import FolderStorage, Storage
from hudiformat.timeline.archive_log import read_archive_logs, write_archive_log
from hudiformat.timeline.archived import ArchivedInstant, InstantFiles
from hudiformat.timeline.cleans import KEEP_LATEST_FILE_VERSIONS, SAVEPOINTED_TIMESTAMPS, CleanerPlan
from hudiformat.timeline.config_files import MARKER_FOLDER, METADATA_FOLDER, VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.history import read_history, write_history
from hudiformat.timeline.table_config import TableConfig, TableType
from hudiformat.timeline.timeline import Action, Instant, State, Timeline, instant_path, list_instants, load_timeline

_AFTER_ALL = ":"  # greater than every instant, as text


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much stays on the active timeline; the names are those of Hudi's properties.

    When there are more than *max_commits* completed writes, the oldest are archived until *min_commits* are left.
    *compaction_delta_commits* delta commits stay that no compaction has followed, so that the next one can be told to
    be due.  Nothing from *retain_from* on is archived: for a metadata table, the earliest instant of its data table.

    Source: HoodieArchivalConfig, HoodieCompactionConfig, Hudi 1.2.0.
    """

    max_commits: int = 30  # hoodie.keep.max.commits
    min_commits: int = 20  # hoodie.keep.min.commits
    compaction_delta_commits: int = 5  # hoodie.compact.inline.max.delta.commits
    beyond_savepoint: bool = False  # hoodie.archive.beyond.savepoint
    retain_from: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.min_commits < self.max_commits:
            raise OptionError(
                f"expected 0 < hoodie.keep.min.commits < hoodie.keep.max.commits, found {self.min_commits} and "
                f"{self.max_commits}",
                option="hoodie.keep.min.commits",
            )


def read_archived(storage: Storage, config: TableConfig, *, contents: bool = True) -> tuple[ArchivedInstant, ...]:
    """The archived timeline, in the order of requested times; without *contents* the instants alone, which is faster.

    Raises:
        CorruptTableError: a file of it is damaged.
    """
    layout_1 = config.version < VERSION_WITH_COMPLETION_TIMES
    found = read_archive_logs(storage, config) if layout_1 else read_history(storage, config, contents=contents)
    newest = {(one.instant.time, one.instant.action): one for one in found}
    return tuple(sorted(newest.values(), key=lambda one: one.instant.sort_key))


def archive(
    storage: Storage, config: TableConfig, limits: ArchiveLimits = ArchiveLimits()
) -> tuple[Instant, ...]:  # a frozen default
    """Move what :func:`instants_to_archive` names into the archived timeline; the completed instants that went.

    Their files go in Hudi's order: first those of pending states, for whoever meets them without the completed state
    takes them for work to be done; then the completed ones from the oldest on, so that there is never a gap.

    Raises:
        CorruptTableError: a file to be archived is damaged; nothing has been deleted then.

    Source: TimelineArchiverV1 and V2.archiveIfRequired and deleteArchivedActions, Hudi 1.2.0.
    """
    chosen = instants_to_archive(storage, config, limits)
    groups = _with_all_states(storage, config, chosen)
    if not groups:
        return ()
    layout_1 = config.version < VERSION_WITH_COMPLETION_TIMES
    (write_archive_log if layout_1 else write_history)(storage, config, groups)
    for instant in (pending for files in groups for pending in files.pending):
        storage.delete(instant_path(config, instant))
    for files in groups:
        storage.delete(instant_path(config, files.completed))
        storage.delete(f"{MARKER_FOLDER}/{files.completed.time}")
    return tuple(files.completed for files in groups)


def instants_to_archive(
    storage: Storage, config: TableConfig, limits: ArchiveLimits = ArchiveLimits()
) -> tuple[Instant, ...]:
    """The completed instants that nobody needs on the active timeline any more, the oldest first.

    Source: TimelineArchiverV1 and V2.getInstantsToArchive, Hudi 1.2.0.
    """
    timeline = load_timeline(storage, config)
    commits = _commits_to_archive(storage, config, timeline, limits)
    others = [instant for instant in timeline.completed if instant.action in (Action.CLEAN, Action.ROLLBACK)]
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        chosen = [*commits, *_by_count(others, limits)]
        compacted = _last_metadata_compaction(storage, config)
        chosen = [instant for instant in chosen if compacted is None or instant.time < compacted]
    else:
        chosen = [*commits, *(other for other in others if commits and other.time < commits[-1].time)]
    return tuple(sorted(chosen, key=lambda instant: instant.sort_key))


def _commits_to_archive(
    storage: Storage, config: TableConfig, timeline: Timeline, limits: ArchiveLimits
) -> Sequence[Instant]:
    commits = timeline.completed_writes
    if len(commits) <= limits.max_commits:
        return ()
    needed = [
        limits.retain_from,
        _first_beside_pending(timeline),
        _first_for_compaction(config, timeline, limits.compaction_delta_commits),
        _first_replace_not_cleaned(storage, config, timeline),
        _first_not_in_metadata_table(storage, config, timeline),
    ]
    bound = min((time for time in needed if time is not None), default=_AFTER_ALL)
    saved = [instant.time for instant in timeline.completed if instant.action is Action.SAVEPOINT]
    if saved and not limits.beyond_savepoint:
        bound = min(bound, saved[0])
    old = [instant for instant in commits if instant.time < bound and instant.time not in saved]
    return old[: len(commits) - limits.min_commits]


def _by_count(instants: Iterable[Instant], limits: ArchiveLimits) -> list[Instant]:
    """Layout 1: cleans and rollbacks, each action for itself, by the limits of commits."""
    chosen: list[Instant] = []
    for _, group in groupby(sorted(instants, key=lambda instant: instant.action.value), lambda instant: instant.action):
        those = list(group)
        chosen += those[: -limits.min_commits] if len(those) > limits.max_commits else []
    return chosen


def _first_beside_pending(timeline: Timeline) -> str | None:
    """The newest completed write before the first pending one, so that archiving leaves no gap there."""
    pending = next((one.time for one in timeline.pending if one.action.completed_as.is_write), None)
    if pending is None:
        return None
    return max((done.time for done in timeline.completed_writes if done.time < pending), default=pending)


def _first_for_compaction(config: TableConfig, timeline: Timeline, count: int) -> str | None:
    """The first of the *count* newest delta commits since the last compaction, or where there are fewer that itself.

    Source: CompactionUtils.getEarliestInstantToRetainForCompaction, Hudi 1.2.0.
    """
    if config.table_type is not TableType.MERGE_ON_READ:
        return None
    deltas = [instant for instant in timeline.instants if instant.action is Action.DELTA_COMMIT]
    compactions = [instant.time for instant in timeline.completed if instant.action is Action.COMMIT]
    first = max(compactions, default=deltas[0].time if deltas else None)
    if compactions:
        completed = [delta for delta in deltas if delta.is_completed]
        deltas = [delta for delta in completed if (delta.completion_time or delta.time) > compactions[-1]]
    return deltas[-count].time if len(deltas) >= count else first


def _first_replace_not_cleaned(storage: Storage, config: TableConfig, timeline: Timeline) -> str | None:
    """The first replace commit whose replaced files may still be there: without it they would be in the table again.

    Source: ClusteringUtils.getEarliestInstantToRetainForClustering, Hudi 1.2.0.
    """
    replaces = [one for one in timeline.instants if one.action.completed_as is Action.REPLACE_COMMIT]
    cleans = [instant.time for instant in timeline.completed if instant.action is Action.CLEAN]
    if not replaces or not cleans:
        return replaces[0].time if replaces else None
    plan = read_content(storage, config, Instant(cleans[-1], Action.CLEAN, State.REQUESTED))
    bound = _cleaned_up_to(plan, replaces) if isinstance(plan, CleanerPlan) else None
    return next((one.time for one in replaces if one.time >= (bound or cleans[-1])), None)


def _cleaned_up_to(plan: CleanerPlan, replaces: Sequence[Instant]) -> str | None:
    """Where a clean stopped; at its first savepoint, where that held the files of a replace commit back."""
    earliest = plan.earliest_instant_to_retain.timestamp if plan.earliest_instant_to_retain else None
    savepoint = min((plan.extra_metadata or {}).get(SAVEPOINTED_TIMESTAMPS, "").split(","))
    if plan.policy == KEEP_LATEST_FILE_VERSIONS or not earliest or not savepoint or earliest <= savepoint:
        return earliest
    held_back = any(one.is_completed and savepoint <= one.time <= earliest for one in replaces)
    return savepoint if held_back else earliest


def _first_not_in_metadata_table(storage: Storage, config: TableConfig, timeline: Timeline) -> str | None:
    compacted = _last_metadata_compaction(storage, config)
    if compacted is None:
        return None
    writes = timeline.completed_writes
    return next((one.time for one in writes if (one.completion_time or one.time) > compacted), None)


def _last_metadata_compaction(storage: Storage, config: TableConfig) -> str | None:
    """The last compaction of the metadata table, which may read the timeline from there on.

    Empty where there has been none yet, None without a metadata table.

    Source: HoodieBackedTableMetadata.getLatestCompactionTime, Hudi 1.2.0.
    """
    if not config.metadata_partitions:
        return None
    own = FolderStorage(storage, METADATA_FOLDER)
    instants = list_instants(own, config.timeline_folder, layout=config.layout_version)
    return max((one.time for one in instants if one.action is Action.COMMIT and one.is_completed), default="")


def _with_all_states(storage: Storage, config: TableConfig, chosen: Iterable[Instant]) -> list[InstantFiles]:
    states: dict[tuple[str, Action], list[Instant]] = {}
    for instant in list_instants(storage, config.timeline_folder, layout=config.layout_version):
        states.setdefault((instant.time, instant.action.completed_as), []).append(instant)
    return [
        InstantFiles(tuple(one for one in states[done.time, done.action] if not one.is_completed), done)
        for done in chosen
    ]
