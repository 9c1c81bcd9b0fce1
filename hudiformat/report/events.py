"""The instants of a timeline with the status of each: completed, pending, failed or rolled back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from hudiformat.errors import HudiFormatError, NameFormatError
from hudiformat.naming.instants import parse_instant
from hudiformat.report.facts import Event
from hudiformat.table.state import TableState
from hudiformat.timeline.rollbacks import RestoreMetadata, RollbackMetadata
from hudiformat.timeline.timeline import Action, Instant

MOST_EVENTS = 1000
COMPLETED, PENDING, FAILED, ROLLED_BACK = "completed", "pending", "failed", "rolled back"


def events_of(state: TableState, operations: Mapping[str, str], dead: Collection[Instant]) -> list[Event]:
    """Return the instants of the active timeline, and the instants that its rollbacks and restores have removed.

    *operations* maps the instants of completed writes to their operations; *dead* are pending writes whose writers show
    no sign of life.
    """
    found = [_event(one, operations, dead) for one in state.timeline.instants]
    known = {(one.time, one.action.completed_as.value) for one in state.timeline.instants}
    gone = {(event.time, event.action): event for event in _removed_instants(state)}
    found += [event for key, event in gone.items() if key not in known]
    return sorted(found, key=lambda event: (event.time, event.action))


def _event(one: Instant, operations: Mapping[str, str], dead: Collection[Instant]) -> Event:
    if one.is_completed:
        operation = operations.get(one.time, "") if one.action.is_write else ""
        return Event(one.time, one.action.value, COMPLETED, operation, one.completion_time or "", seconds_between(one))
    if one in dead:
        return Event(one.time, one.action.value, FAILED, note=f"{one.state.name.lower()}; no sign of life")
    return Event(one.time, one.action.value, PENDING, note=one.state.name.lower())


def _removed_instants(state: TableState) -> Iterator[Event]:
    """Yield the instants that completed rollbacks and restores have removed from the timeline."""
    for one in state.timeline.completed:
        if one.action not in (Action.ROLLBACK, Action.RESTORE):
            continue
        try:
            content = state.content(one)
        except HudiFormatError:
            continue  # verify_table reports it
        note = f"by the {one.action.value} {one.time}"
        if isinstance(content, RollbackMetadata):
            yield from _events_of_rollback(content, note)
        elif isinstance(content, RestoreMetadata):
            for rollbacks in content.hoodie_restore_metadata.values():
                for rollback in filter(None, rollbacks):
                    yield from _events_of_rollback(rollback, note)


def _events_of_rollback(content: RollbackMetadata, note: str) -> Iterator[Event]:
    named = {info.commit_time: info.action for info in content.instants_rollback}
    for time in content.commits_rollback:
        yield Event(time, named.get(time, "commit"), ROLLED_BACK, note=note)


def seconds_between(done: Instant) -> float | None:
    """Return the seconds from the request to the completion of a write; None if its completion time is unknown."""
    if done.completion_time is None:
        return None
    try:
        return (parse_instant(done.completion_time) - parse_instant(done.time)).total_seconds()
    except NameFormatError:
        return None
