"""Instants and the active timeline: the actions on a table that have not been archived, and their files.

An instant is an action with a time and a state.  It has one file for each state that it has reached; the newest state
is the current one.  A state is reached by creating its file, whole and only once.  The file of the completed state is
the commit: it makes everything visible that the instant wrote.  Some pending actions complete as another action: a
compaction as a commit, a log compaction as a delta commit, a clustering as a replace commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property, lru_cache
from operator import attrgetter

from hudiformat.errors import NameFormatError
from hudiformat.naming.instants import is_instant
from hudiformat.storage.protocol import Storage, TellsOneThing
from hudiformat.timeline.commit_metadata import CommitMetadata, decode_commit_metadata
from hudiformat.timeline.table_config import TableConfig

# Java: ^(\d+(_\d+)?)(\.\w+)(\.\D+)?$, then a look-up of everything after the digits.
_NAME = re.compile(r"([0-9]+)(?:_([0-9]+))?\.([a-z.]+)")
_COMPLETION_LAYOUT = 2


class Action(str, Enum):
    """The kind of change that an instant makes to the table.  The values are the extensions of file names.

    Source: HoodieTimeline, Hudi 1.2.0; spec/timeline.md.
    """

    COMMIT = "commit"
    DELTA_COMMIT = "deltacommit"
    COMPACTION = "compaction"
    LOG_COMPACTION = "logcompaction"
    REPLACE_COMMIT = "replacecommit"
    CLUSTERING = "clustering"
    CLEAN = "clean"
    ROLLBACK = "rollback"
    RESTORE = "restore"
    SAVEPOINT = "savepoint"
    INDEXING = "indexing"
    SCHEMA_COMMIT = "schemacommit"

    @property
    def completed_as(self) -> Action:
        """The action as which an instant of this action completes.

        Source: InstantComparatorV2.getComparableAction, Hudi 1.2.0.
        """
        return _COMPLETED_AS.get(self, self)

    @property
    def has_plan(self) -> bool:
        """Whether the requested file of an instant of this action may hold a plan: file groups to rewrite."""
        return self in _WITH_PLANS

    @property
    def is_write(self) -> bool:
        """Whether an instant of this action, once completed, changes the table's rows or files.

        Source: BaseTimelineV2.getCommitsTimeline, Hudi 1.2.0.
        """
        return self in _WRITES


class State(IntEnum):
    """The states of an instant, in their order.

    Source: HoodieInstant.State, Hudi 1.2.0; spec/timeline.md.
    """

    REQUESTED = 0
    INFLIGHT = 1
    COMPLETED = 2


_WITH_PLANS = (Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING, Action.REPLACE_COMMIT)
_WRITES = (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT)

_COMPLETED_AS = {
    Action.COMPACTION: Action.COMMIT,
    Action.LOG_COMPACTION: Action.DELTA_COMMIT,
    Action.CLUSTERING: Action.REPLACE_COMMIT,
}


def _extensions() -> dict[str, tuple[Action, State]]:
    """Return the action and the state for each extension of a timeline file."""
    known: dict[str, tuple[Action, State]] = {}
    for action in Action:
        if action is not Action.SAVEPOINT:
            known[f"{action.value}.requested"] = action, State.REQUESTED
        # A commit's inflight files are named ".inflight", without the action: commit was Hudi's first action.
        inflight = "inflight" if action is Action.COMMIT else f"{action.value}.inflight"
        known[inflight] = action, State.INFLIGHT
        if action.completed_as is action:
            known[action.value] = action, State.COMPLETED
    return known


_BY_EXTENSION = _extensions()
_EXTENSION_OF = {key: extension for extension, key in _BY_EXTENSION.items()}


@dataclass(frozen=True)
class Instant:
    """An action on the table, identified by the time at which it was requested, in one of its states.

    *completion_time* is known for completed instants of timeline layout 2.  Instants of layout 1, also in the timeline
    of a table that was upgraded later, have none.

    Source: HoodieInstant, Hudi 1.2.0; spec/timeline.md.
    """

    time: str
    action: Action
    state: State
    completion_time: str | None = None

    @property
    def is_completed(self) -> bool:
        """Whether the action is completed, so that its changes are visible."""
        return self.state is State.COMPLETED

    @property
    def file_name(self) -> str:
        """The name of the file of this instant in this state.

        Raises:
            NameFormatError: the action does not have this state (compactions complete as commits), a pending instant
                has a completion time, or a time is no instant.

        Source: InstantFileNameGeneratorV1 and V2, Hudi 1.2.0.
        """
        extension = _EXTENSION_OF.get((self.action, self.state))
        times = (self.time,) if self.completion_time is None else (self.time, self.completion_time)
        if extension is None or (len(times) > 1 and not self.is_completed) or not all(map(is_instant, times)):
            raise NameFormatError(f"there is no file name for {self}", name=self.time)
        completion = "" if self.completion_time is None else f"_{self.completion_time}"
        return f"{self.time}{completion}.{extension}"

    @cached_property  # each operation on a table sorts the same instants several times
    def sort_key(self) -> tuple[str, str, int]:
        """The sort key of the timeline: requested time, then action, then state.

        Source: InstantComparators.RequestedTimeBasedComparator, Hudi 1.2.0.
        """
        return self.time, self.action.completed_as.value, self.state

    def __str__(self) -> str:
        return f"{self.time} {self.action.value} ({self.state.name.lower()})"


@lru_cache(maxsize=4096)  # each operation on a table lists the same names several times
def parse_instant_name(name: str, *, layout: int) -> Instant:
    """Parse the name of a timeline file; ``file_name`` of the result is *name* again.

    Raises:
        NameFormatError: the name is not that of an instant.  In layout 1 that includes names with a completion time and
            clusterings.

    Source: InstantGeneratorV1 and V2.createNewInstant, ActiveTimelineV2.VALID_EXTENSIONS_IN_ACTIVE_TIMELINE,
        Hudi 1.2.0.
    """
    match = _NAME.fullmatch(name)
    known = match and _BY_EXTENSION.get(match[3])
    if match is None or known is None or not all(is_instant(time) for time in match.groups()[:2] if time is not None):
        raise NameFormatError(
            f"expected a timeline file <instant>[_<completion>].<action>[.requested|.inflight], found {name!r}",
            name=name,
        )
    action, state = known
    time, completion_time = match[1], match[2]
    if completion_time is not None and (layout < _COMPLETION_LAYOUT or state is not State.COMPLETED):
        raise NameFormatError(
            f"{name!r} has a completion time, which timeline layout {layout} does not have", name=name
        )
    if action is Action.CLUSTERING and layout < _COMPLETION_LAYOUT:
        raise NameFormatError(f"{name!r}: timeline layout {layout} calls clustering a replacecommit", name=name)
    return Instant(time, action, state, completion_time)


@dataclass(frozen=True)
class Timeline:
    """The instants of a table, each in its newest state, in the order of their requested times.

    Source: HoodieActiveTimeline, Hudi 1.2.0; spec/timeline.md.
    """

    instants: tuple[Instant, ...] = ()

    @classmethod
    def of(cls, instants: Iterable[Instant]) -> Timeline:
        """Return the timeline of *instants*, which are in any order, each in one or several states.

        Source: TimelineLayout.filterHoodieInstantsByLatestState, Hudi 1.2.0.
        """
        return cls.of_sorted(sorted(instants, key=attrgetter("sort_key")))

    @classmethod
    def of_sorted(cls, instants: Iterable[Instant]) -> Timeline:
        """Return the timeline of *instants*, which are in the order of the timeline, each in one or several states."""
        return cls(tuple({one.sort_key[:2]: one for one in instants}.values()))

    @cached_property
    def completed(self) -> tuple[Instant, ...]:
        """All completed instants."""
        return tuple(instant for instant in self.instants if instant.is_completed)

    @cached_property
    def pending(self) -> tuple[Instant, ...]:
        """All instants that are requested or inflight."""
        return tuple(instant for instant in self.instants if not instant.is_completed)

    @cached_property
    def completed_writes(self) -> tuple[Instant, ...]:
        """The completed commits, delta commits and replace commits, which change rows or files of the table.

        Source: BaseTimelineV2.getCommitsTimeline, Hudi 1.2.0.
        """
        return tuple(instant for instant in self.completed if instant.action.is_write)

    @cached_property
    def by_completion_time(self) -> tuple[Instant, ...]:
        """All completed instants by completion time; instants of layout 1, which have none, by requested time.

        Source: InstantComparators.CompletionTimeBasedComparator, Hudi 1.2.0.
        """
        return tuple(
            sorted(self.completed, key=lambda instant: (instant.completion_time or instant.time, instant.time))
        )

    @property
    def latest_instant_time(self) -> str | None:
        """The highest of all requested and completion times, which a new instant must exceed; None without instants."""
        times = [instant.time for instant in self.instants]
        times += [instant.completion_time for instant in self.instants if instant.completion_time is not None]
        return max(times, default=None)

    @property
    def first_active(self) -> str | None:
        """The time of the first write on the active timeline; older writes that are not on it have been archived.

        Commits with a savepoint are ignored, because they remain when the writes before and after them are archived.
        If every write has a savepoint, as after a restore to a savepoint, the result is the newest of them.  (Hudi has
        no first write then, and does not see the rows of archived writes until the next commit.)

        Source: BaseHoodieTimeline.getFirstNonSavepointCommit, Hudi 1.2.0.
        """
        savepoints = {instant.time for instant in self.instants if instant.action is Action.SAVEPOINT}
        writes = [instant.time for instant in self.instants if instant.action.completed_as.is_write]
        return next((time for time in writes if time not in savepoints), max(writes, default=None))


def load_timeline(storage: Storage, config: TableConfig) -> Timeline:
    """Load the active timeline of a table.  Other files in its folder are skipped, as in Hudi.

    Source: ActiveTimelineV1, ActiveTimelineV2, Hudi 1.2.0.
    """
    return Timeline.of_sorted(list_instants(storage, config.timeline_folder, layout=config.layout_version))


def list_instants(storage: Storage, folder: str, *, layout: int) -> list[Instant]:
    """List the instants in *folder* in all states that have a file, in the order of the timeline."""
    instants = []
    if isinstance(storage, TellsOneThing):
        names = storage.list_names(folder)
    else:
        names = [info.name for info in storage.list(folder) if not info.is_dir]
    for name in names:
        try:
            instants.append(parse_instant_name(name, layout=layout))
        except NameFormatError:  # noqa: PERF203 - nearly all names are those of instants
            continue  # hoodie.properties, checksums, temporary files
    return sorted(instants, key=attrgetter("sort_key"))


def read_metadata(storage: Storage, config: TableConfig, instant: Instant) -> CommitMetadata:
    """Read the metadata of a commit, delta commit or replace commit, completed or inflight.

    Raises:
        CorruptTableError: the file is damaged.
        StorageError: the file does not exist (any more).
    """
    path = instant_path(config, instant)
    return decode_commit_metadata(storage.read(path), path=f"{storage.root}/{path}")


def instant_path(config: TableConfig, instant: Instant) -> str:
    """Return the path of an instant's file, relative to the table."""
    return f"{config.timeline_folder}/{instant.file_name}"
