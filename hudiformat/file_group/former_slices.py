"""Find the slices of log files that were written in table version 8 or 9, in a table since changed to version 6.

The name of such a log file has the instant of its own delta commit, and not that of its slice.  A change to version 6
merges all log files, so the newest slices have none of them.  But the older slices keep theirs, and time travel reads
them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from hudiformat.errors import StorageError
from hudiformat.naming.file_names import BaseFileName, LogFileName, base_name, parse_data_file
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.contents import Content, read_content
from hudiformat.timeline.plans import CompactionPlan, RequestedReplaceMetadata
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, State, Timeline, instant_path

_Group = tuple[str, str]
"""Partition path and file id of a file group."""
_NEVER = ":"  # as a text, higher than every instant


@dataclass(slots=True)
class FormerSlices:
    """Finds by the timeline the slices of log files that do not name them, in a table of version 6.

    The plan of the compaction or clustering that read a log file names its slice.  A log file that none has read is in
    a file group that was replaced.  If its delta commit made it, it belongs to the newest slice that existed then.

    Plans and commits are read when the first such log file is looked up.  The archived timeline is read only for a log
    file of an archived delta commit that is not the oldest of its file group, because in version 6, too, a file group
    may begin with log files.  And it is read if the plan of the slice after the log file is not on the timeline any
    more: archiving deletes plans before it deletes what has completed, and may end between.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline
    _plans: _Plans | None = field(default=None, repr=False)
    _made: dict[str, frozenset[_Group]] = field(default_factory=dict, repr=False)
    _has_archived: bool = field(default=False, repr=False)

    def of(self, partition_path: str, name: LogFileName, slices: Collection[str]) -> str:
        """Return the instant of a log file's slice: one of *slices*, or else the instant in the log file's name.

        Raises:
            CorruptTableError: a plan, a commit or the archived timeline is damaged.
        """
        group, plans = (partition_path, name.file_id), self._read_plans()
        earlier = [one for one in slices if one < name.instant]
        following = min((one for one in slices if one > name.instant), default=None)
        is_archived = name.instant < (self.timeline.first_active or "")
        reads_archive = earlier if is_archived else following and following not in plans.compactions.get(group, ())
        if reads_archive and (group, name.instant) not in plans.slices:
            self._add_archived(plans)
        planned = plans.slices.get((group, name.instant))
        if planned is not None and (planned == name.instant or planned in slices):
            return planned
        if planned is None and group not in self._made_by(name.instant):
            return name.instant
        compactions = plans.compactions.get(group, set())
        is_read = planned is not None or (following is not None and following not in compactions)
        unread = () if is_read else compactions.intersection(slices)
        return max((*earlier, *unread), default=name.instant)

    def completed_after(self, done: Instant) -> str:
        """Return the newest instant that began before *done* completed, by the plans; the time of *done* if none did.

        Such an instant is a compaction that read the file group of the delta commit *done*, but not its log file.

        Raises:
            CorruptTableError: a plan or a commit is damaged.
        """
        if done.action is not Action.DELTA_COMMIT:
            return done.time
        plans = self._read_plans()
        unread = [done.time]
        for group in self._made_by(done.time):
            read_by = plans.readers.get((group, done.time), _NEVER)
            unread += [time for time in plans.compactions.get(group, ()) if time < read_by]
        return max(unread)

    def _read_plans(self) -> _Plans:
        if self._plans is None:
            plans = _Plans()
            for done in self.timeline.completed:
                plans.add(done.time, self._plan(done))
            self._plans = plans
        return self._plans

    def _plan(self, done: Instant) -> Content | None:
        """Return the plan of a completed compaction or clustering; None for other instants, or if it does not exist."""
        actions = {Action.COMMIT: Action.COMPACTION, Action.REPLACE_COMMIT: Action.REPLACE_COMMIT}
        if done.action not in actions:
            return None
        requested = Instant(done.time, actions[done.action], State.REQUESTED)
        try:
            return read_content(self.storage, self.config, requested)
        except StorageError:
            if self.storage.exists(instant_path(self.config, requested)):
                raise
            return None

    def _add_archived(self, plans: _Plans) -> None:
        for one in () if self._has_archived else read_archived(self.storage, self.config):
            plans.add(one.instant.time, one.plan)
            if one.instant.action is Action.DELTA_COMMIT:
                self._made.setdefault(one.instant.time, _made_by(one.metadata, one.instant.time))
        self._has_archived = True

    def _made_by(self, time: str) -> frozenset[_Group]:
        """Return the file groups for which the delta commit of *time* made log files with *time* in their names."""
        if time not in self._made:
            found = (one for one in self.timeline.completed if (one.time, one.action) == (time, Action.DELTA_COMMIT))
            done = next(found, None)
            content = None if done is None else read_content(self.storage, self.config, done)
            self._made[time] = _made_by(content, time)
        return self._made[time]


@dataclass(slots=True)
class _Plans:
    """The log files that compactions and clusterings read.

    - ``slices``: by file group and instant in the name of log files, the instant of their slice.
    - ``readers``: by the same, the first compaction or clustering that read these log files.
    - ``compactions``: by file group, the compactions that read it.
    """

    slices: dict[tuple[_Group, str], str] = field(default_factory=dict)
    readers: dict[tuple[_Group, str], str] = field(default_factory=dict)
    compactions: dict[_Group, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, time: str, plan: Content | None) -> None:
        """Add the *plan* of an instant; plans other than those of compactions and clusterings add nothing."""
        for group, instant, logs in _slices_of(plan):
            if isinstance(plan, CompactionPlan):
                self.compactions[group].add(time)
            for log in logs:
                self.slices[group, log.instant] = instant
                self.readers[group, log.instant] = min(time, self.readers.get((group, log.instant), time))


def _slices_of(plan: Content | None) -> Iterator[tuple[_Group, str, list[LogFileName]]]:
    """Yield the file group, the instant and the log files of each slice that a plan reads."""
    if isinstance(plan, CompactionPlan):
        for one in plan.operations or ():
            logs = _log_names(one.delta_file_paths or ())
            yield (one.partition_path or "", one.file_id or ""), one.base_instant_time or "", logs
    elif isinstance(plan, RequestedReplaceMetadata) and plan.clustering_plan is not None:
        for part in (part for group in plan.clustering_plan.input_groups or () for part in group.slices or ()):
            logs = _log_names(part.delta_file_paths or ())
            base = parse_data_file(base_name(part.data_file_path or ""))
            instant = base.instant if isinstance(base, BaseFileName) else min((log.instant for log in logs), default="")
            yield (part.partition_path or "", part.file_id or ""), instant, logs


def _log_names(paths: Iterable[str]) -> list[LogFileName]:
    return [name for name in map(parse_data_file, map(base_name, paths)) if isinstance(name, LogFileName)]


def _made_by(content: object, time: str) -> frozenset[_Group]:
    if not isinstance(content, CommitMetadata):
        return frozenset()
    logs = ((stat.partition_path or "", _log_names([stat.path or ""])) for stat in content.write_stats)
    return frozenset((path, name.file_id) for path, names in logs for name in names if name.instant == time)
