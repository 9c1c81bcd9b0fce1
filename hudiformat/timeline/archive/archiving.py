"""Move the oldest instants that are no longer needed from the active to the archived timeline.

The caller must hold the lock of the table.  An instant is archived before it is deleted.  If a writer crashes in
between, the instant is on both timelines, and the next writer deletes it from the active one.

In layout 2, files of the archived timeline are merged: ten of a level become one of the next level.  Otherwise a table
of 100,000 commits would have some ten thousand files, and each archiving would write a manifest that names all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, groupby

import pyarrow as pa

from hudiformat.codec.log.content.parquet_data import encode_parquet
from hudiformat.errors import OptionError
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import for_each
from hudiformat.timeline.archive.archive_log import read_archive_logs, write_archive_log
from hudiformat.timeline.archive.archived import ArchivedInstant, InstantFiles
from hudiformat.timeline.archive.history import (
    MANIFESTS_KEPT,
    file_range,
    latest_manifest,
    manifest_versions,
    read_history,
    read_history_rows,
    write_history,
    write_manifest,
)
from hudiformat.timeline.cleans import SAVEPOINTED_TIMESTAMPS, CleanerPlan
from hudiformat.timeline.config_files import MARKER_FOLDER, METADATA_FOLDER, VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.records import schema_text
from hudiformat.timeline.table_config import TableConfig, TableType
from hudiformat.timeline.timeline import Action, Instant, State, Timeline, instant_path, list_instants, load_timeline

_FILES = 10  # hoodie.timeline.compaction.batch.size
_MOST_BYTES = 1000 << 20  # hoodie.timeline.compaction.target.file.max.bytes
_RECORD = "HoodieLSMTimelineInstant"


def merge_history(storage: Storage, config: TableConfig) -> int:
    """Merge the files of each level that has ten; return the number of levels that were merged.

    Then files that no kept manifest names are deleted.  The caller must hold the lock of the table.  A merged file is
    valid once a manifest lists it; the files that it replaces stay as long as a manifest names them that a reader may
    still use.

    Raises:
        CorruptTableError: the manifest, or a file to be merged, is damaged; nothing has been replaced then.

    Source: LSMTimelineWriter.compactAndClean, Hudi 1.2.0.
    """
    for level in count():  # a merge of one level may fill the next one
        if not _merge_level(storage, config, level):
            break
    if level:
        _delete_unnamed(storage, config.history_folder, MANIFESTS_KEPT + level)
    return level


def _merge_level(storage: Storage, config: TableConfig, level: int) -> bool:
    folder = config.history_folder
    version, files = latest_manifest(storage, folder)
    names = sorted(name for name in files if name.endswith(f"_{level}.parquet"))
    chosen = _choose_files([(name, files[name]) for name in names]) if len(names) >= _FILES else []
    if len(chosen) < 2:  # noqa: PLR2004 - one file alone is not merged
        return False
    rows = pa.concat_tables([read_history_rows(storage, f"{folder}/{name}") for name in chosen])
    firsts, lasts = zip(*(file_range(name) for name in chosen), strict=True)
    merged = f"{min(firsts)}_{max(lasts)}_{level + 1}.parquet"
    data = encode_parquet(rows, schema_text(_RECORD)).to_pybytes()
    storage.create(f"{folder}/{merged}", data, overwrite=True)  # an existing file was left by a writer that crashed
    kept = {name: size for name, size in files.items() if name not in chosen}
    write_manifest(storage, folder, version + 1, {**kept, merged: len(data)})
    return True


def _choose_files(files: list[tuple[str, int]]) -> list[str]:
    """Return the oldest of *files*, names and sizes by time, that are merged: ten, or fewer if they are large.

    Of the sizes 2, 700, 900, 5 and 6 MB the first three are chosen, as the third passes 1,000; after a file of 1,200 MB
    the choice begins anew.

    Source: LSMTimelineWriter.getCandidateFiles.
    """
    chosen: list[str] = []
    total = 0
    for name, size in files:
        chosen.append(name)
        total += size
        if len(chosen) == _FILES:
            break
        if total > _MOST_BYTES:
            if len(chosen) > 1:
                break
            chosen, total = [], 0
    return chosen


def _delete_unnamed(storage: Storage, folder: str, manifests: int) -> None:
    """Delete all but the newest *manifests*, and the files that none of these manifests names."""
    versions = manifest_versions(storage, folder)
    kept = versions[-manifests:]
    named = {name for version in kept for name in latest_manifest(storage, folder, version)[1]}
    for version in versions[:-manifests]:
        storage.delete(f"{folder}/manifest_{version}")
    for info in storage.list(folder):
        if info.name.endswith(".parquet") and info.name not in named:
            storage.delete(f"{folder}/{info.name}")


_AFTER_ALL = ":"  # as a text, higher than every instant
_SERVICES = (Action.CLEAN, Action.ROLLBACK)
_OTHERS = (*_SERVICES, Action.RESTORE, Action.INDEXING)
"""The actions that are archived with the commits around them.

Hudi 1.2.0 leaves restores and indexings on the active timeline, and then does not look up the completion times of
archived instants after the first of them (CompletionTimeQueryViewV2.cursorInstant): it treats log files of these
instants, which were compacted long ago, as the newest ones.
"""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How many instants remain on the active timeline; the comments have the keys of Hudi's properties.

    If there are more than *max_commits* completed writes, the oldest are archived until *min_commits* remain.  The
    newest *compaction_delta_commits* delta commits since the last compaction remain, because the next compaction is
    scheduled by their number.  Instants from *retain_from* on remain: for a metadata table, that is the earliest
    pending instant of its data table.

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

    def surplus(self, commits: int) -> int:
        """Return how many of so many completed writes archiving may take off the active timeline."""
        return commits - self.min_commits if commits > self.max_commits else 0


def read_archived(storage: Storage, config: TableConfig, *, contents: bool = True) -> tuple[ArchivedInstant, ...]:
    """Return the archived timeline by requested time; without *contents* only the instants, which is faster.

    Raises:
        CorruptTableError: a file of the archived timeline is damaged.
    """
    layout_1 = config.version < VERSION_WITH_COMPLETION_TIMES
    states = read_archive_logs(storage, config) if layout_1 else read_history(storage, config, contents=contents)
    newest = {(archived.instant.time, archived.instant.action): archived for archived in states}
    return tuple(sorted(newest.values(), key=lambda archived: archived.instant.sort_key))


def archive_instants(
    storage: Storage,
    config: TableConfig,
    limits: ArchiveLimits = ArchiveLimits(),  # a frozen default
    *,
    confirm: Callable[[], None] = lambda: None,
) -> tuple[Instant, ...]:
    """Move the instants of :func:`instants_to_archive` to the archived timeline; return those that were completed.

    Their files are deleted in Hudi's order.  First come the files of pending states: without the completed state they
    would look like unfinished work.  Then come the files of completed states, the oldest first, so that there is no
    gap.  *confirm* is called before each change; it raises if the caller has lost the table's lock.

    Raises:
        CorruptTableError: a file to be archived is damaged; nothing has been deleted then.

    Source: TimelineArchiverV1 and V2.archiveIfRequired and deleteArchivedActions, and
    LSMTimelineWriter.compactAndClean, Hudi 1.2.0.
    """
    chosen = instants_to_archive(storage, config, limits)
    groups = _files_of(storage, config, chosen)
    if not groups:
        return ()
    layout_1 = config.version < VERSION_WITH_COMPLETION_TIMES
    confirm()
    (write_archive_log if layout_1 else write_history)(storage, config, groups)

    def confirmed_paths(instants: Iterable[Instant]) -> Iterator[str]:
        for instant in instants:
            confirm()
            yield instant_path(config, instant)

    pending = chain.from_iterable(files.pending for files in groups)
    for_each(storage, storage.delete, confirmed_paths(pending))
    for path in confirmed_paths(files.completed for files in groups):
        storage.delete(path)
    marked = {entry.name for entry in storage.list(MARKER_FOLDER)}
    for files in groups:
        if files.completed.time in marked:
            storage.delete_folder(f"{MARKER_FOLDER}/{files.completed.time}")
    if not layout_1:
        confirm()
        merge_history(storage, config)
    return tuple(files.completed for files in groups)


def instants_to_archive(
    storage: Storage, config: TableConfig, limits: ArchiveLimits = ArchiveLimits()
) -> tuple[Instant, ...]:
    """Return the completed instants that are no longer needed on the active timeline, the oldest first.

    Source: TimelineArchiverV1 and V2.getInstantsToArchive, Hudi 1.2.0.
    """
    timeline = load_timeline(storage, config)
    commits = _commits_to_archive(storage, config, timeline, limits)
    layout_1 = config.version < VERSION_WITH_COMPLETION_TIMES
    others = [one for one in timeline.completed if one.action in (_SERVICES if layout_1 else _OTHERS)]
    if layout_1:
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
    surplus = limits.surplus(len(commits))
    if not surplus:
        return ()
    needed = [
        limits.retain_from,
        _first_beside_pending(timeline),
        _first_for_compaction(config, timeline, limits.compaction_delta_commits),
        _first_replace_not_cleaned(storage, config, timeline),
        _first_not_in_metadata_table(storage, config, timeline),
    ]
    bound = min((time for time in needed if time is not None), default=_AFTER_ALL)
    savepoints = [instant.time for instant in timeline.completed if instant.action is Action.SAVEPOINT]
    if savepoints and not limits.beyond_savepoint:
        bound = min(bound, savepoints[0])
    old = [instant for instant in commits if instant.time < bound and instant.time not in savepoints]
    return old[:surplus]


def _by_count(instants: Iterable[Instant], limits: ArchiveLimits) -> list[Instant]:
    """Return the cleans and rollbacks to archive in layout 1: each action separately, by the limits of commits."""
    chosen: list[Instant] = []
    for _, group in groupby(sorted(instants, key=lambda instant: instant.action.value), lambda instant: instant.action):
        same_action = list(group)
        chosen += same_action[: -limits.min_commits] if len(same_action) > limits.max_commits else []
    return chosen


def _first_beside_pending(timeline: Timeline) -> str | None:
    """Return the newest completed write before the first pending one, so that archiving leaves no gap there."""
    pending = next((instant.time for instant in timeline.pending if instant.action.completed_as.is_write), None)
    if pending is None:
        return None
    return max((instant.time for instant in timeline.completed_writes if instant.time < pending), default=pending)


def _first_for_compaction(config: TableConfig, timeline: Timeline, count: int) -> str | None:
    """Return the first of the *count* newest delta commits since the last compaction.

    If there are fewer, the result is the compaction itself.

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
    """Return the first replace commit whose replaced files may still exist.

    Without that replace commit on the timeline, the files would be part of the table again.

    Source: ClusteringUtils.getEarliestInstantToRetainForClustering, Hudi 1.2.0.
    """
    replaces = [instant for instant in timeline.instants if instant.action.completed_as is Action.REPLACE_COMMIT]
    cleans = [instant.time for instant in timeline.completed if instant.action is Action.CLEAN]
    if not replaces or not cleans:
        return replaces[0].time if replaces else None
    plan = read_content(storage, config, Instant(cleans[-1], Action.CLEAN, State.REQUESTED))
    bound = _cleaned_up_to(plan, replaces, at=cleans[-1]) if isinstance(plan, CleanerPlan) else cleans[-1]
    return next((instant.time for instant in replaces if instant.time >= bound), None)


def _cleaned_up_to(plan: CleanerPlan, replaces: Sequence[Instant], *, at: str) -> str:
    """Return the instant up to which a clean, run *at* an instant, deleted files.

    If a savepoint of that time kept replaced files, it is the first savepoint.  (Hudi ignores savepoints under the
    policy that keeps file versions, and then the files are part of the table again.)
    """
    earliest = plan.earliest_instant_to_retain
    bound = (earliest.timestamp if earliest else "") or at
    savepoint = min((plan.extra_metadata or {}).get(SAVEPOINTED_TIMESTAMPS, "").split(","))
    is_kept = any(instant.is_completed and savepoint <= instant.time <= bound for instant in replaces)
    return savepoint if savepoint and savepoint < bound and is_kept else bound


def _first_not_in_metadata_table(storage: Storage, config: TableConfig, timeline: Timeline) -> str | None:
    compacted = _last_metadata_compaction(storage, config)
    if compacted is None:
        return None
    writes = timeline.completed_writes
    return next((instant.time for instant in writes if (instant.completion_time or instant.time) > compacted), None)


def _last_metadata_compaction(storage: Storage, config: TableConfig) -> str | None:
    """Return the last compaction of the metadata table; the metadata table may need the table's timeline from there on.

    The result is empty if there has been none yet, and None without a metadata table.

    Source: HoodieBackedTableMetadata.getLatestCompactionTime, Hudi 1.2.0.
    """
    if not config.metadata_partitions:
        return None
    own = FolderStorage(storage, METADATA_FOLDER)
    instants = list_instants(own, config.timeline_folder, layout=config.layout_version)
    return max(
        (instant.time for instant in instants if instant.action is Action.COMMIT and instant.is_completed), default=""
    )


def _files_of(storage: Storage, config: TableConfig, chosen: Iterable[Instant]) -> list[InstantFiles]:
    states: dict[tuple[str, Action], list[Instant]] = {}
    for instant in list_instants(storage, config.timeline_folder, layout=config.layout_version):
        states.setdefault((instant.time, instant.action.completed_as), []).append(instant)
    return [
        InstantFiles(tuple(state for state in states[instant.time, instant.action] if not state.is_completed), instant)
        for instant in chosen
    ]
