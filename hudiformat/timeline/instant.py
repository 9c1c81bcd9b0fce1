"""One instant of the timeline: an action at a time, in a state; and the name of the file that says so.

Every instant leaves a file for each state it went through; the newest state counts.  What is pending under one action
may complete under another: a compaction as a commit, a log compaction as a delta commit, a clustering as a replace
commit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, IntEnum

from hudiformat.errors import NameFormatError
from hudiformat.naming import is_instant

# Java: ^(\d+(_\d+)?)(\.\w+)(\.\D+)?$, then a look-up of everything after the digits.
_NAME = re.compile(r"([0-9]+)(?:_([0-9]+))?\.([a-z.]+)")
_COMPLETION_LAYOUT = 2


class Action(str, Enum):
    """What an instant does to the table.  The values are the words in file names."""

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
        """The action under which an instant of this one completes.

        Source: InstantComparatorV2.getComparableAction, Hudi 1.2.0.
        """
        return _COMPLETED_AS.get(self, self)


class State(IntEnum):
    """How far an instant has come, in this order."""

    REQUESTED = 0
    INFLIGHT = 1
    COMPLETED = 2


_COMPLETED_AS = {
    Action.COMPACTION: Action.COMMIT,
    Action.LOG_COMPACTION: Action.DELTA_COMMIT,
    Action.CLUSTERING: Action.REPLACE_COMMIT,
}


def _extensions() -> dict[str, tuple[Action, State]]:
    known: dict[str, tuple[Action, State]] = {}
    for action in Action:
        if action is not Action.SAVEPOINT:
            known[f"{action.value}.requested"] = action, State.REQUESTED
        # The first action that there was: its inflight files do not name it.
        inflight = "inflight" if action is Action.COMMIT else f"{action.value}.inflight"
        known[inflight] = action, State.INFLIGHT
        if action.completed_as is action:
            known[action.value] = action, State.COMPLETED
    return known


_BY_EXTENSION = _extensions()
_EXTENSION_OF = {key: extension for extension, key in _BY_EXTENSION.items()}


@dataclass(frozen=True, slots=True)
class Instant:
    """An action at a time.

    *time* is when it was requested, which names it.  *completion_time* is known for completed instants of timeline
    layout 2; those of layout 1, and those that an upgraded table kept from it, have none.
    """

    time: str
    action: Action
    state: State
    completion_time: str | None = None

    @property
    def is_completed(self) -> bool:
        """Whether the action is done and visible."""
        return self.state is State.COMPLETED

    @property
    def file_name(self) -> str:
        """The name of the file that stands for this instant in this state.

        Raises:
            NameFormatError: the action has no such state (compactions complete as commits), or a completion time where
                there can be none.

        Source: InstantFileNameGeneratorV1 and V2, Hudi 1.2.0.
        """
        extension = _EXTENSION_OF.get((self.action, self.state))
        if extension is None or (self.completion_time is not None and not self.is_completed):
            raise NameFormatError(f"there is no file name for {self}", name=self.time)
        completion = "" if self.completion_time is None else f"_{self.completion_time}"
        return f"{self.time}{completion}.{extension}"

    @property
    def sort_key(self) -> tuple[str, str, int]:
        """The timeline's order: by requested time, then action, then state.

        Source: InstantComparators.RequestedTimeBasedComparator, Hudi 1.2.0.
        """
        return self.time, self.action.completed_as.value, self.state

    def __str__(self) -> str:
        return f"{self.time} {self.action.value} ({self.state.name.lower()})"


def parse_instant_name(name: str, *, layout: int) -> Instant:
    """The instant that a timeline file's name stands for; its ``file_name`` is *name* again.

    Raises:
        NameFormatError: not an instant's file; in layout 1 also one with a completion time or of a clustering.

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
        raise NameFormatError(f"{name!r} has a completion time, where layout {layout} has none", name=name)
    if action is Action.CLUSTERING and layout < _COMPLETION_LAYOUT:
        raise NameFormatError(f"{name!r}: timeline layout {layout} calls clustering a replacecommit", name=name)
    return Instant(time, action, state, completion_time)
