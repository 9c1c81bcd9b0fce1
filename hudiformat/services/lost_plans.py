"""Compactions on the timeline whose plan is lost: nobody could run them, and they would stay pending for ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hudiformat.services.claims import is_running
from hudiformat.services.execution import compaction_operation
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.contents import encode_content, remove_pending
from hudiformat.timeline.plans import CompactionOperation, CompactionPlan
from hudiformat.timeline.timeline import Action, Instant, State, instant_path
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.files import delete_files


def find_lost_plans(state: TableState) -> list[Instant]:
    """Return the pending compactions without a plan that nobody runs."""
    pending = (one for one in state.timeline.pending if one.action is Action.COMPACTION)
    return [one for one in pending if state.plan(one) is None and not is_running(state, one)]


def mend_lost_plans(context: TableContext) -> TableState:
    """Take such compactions off the timeline, or in table version 6 plan them again; return the state after that.

    In table version 6, log files written since then are named by the compaction.  They belong to the slices before it
    until it is completed, so it cannot be removed.
    """
    with change_timeline(context) as state:
        for instant in find_lost_plans(state):
            delete_files(state.storage, state.config, instant.time)
            operations = tuple(_begun_slices(state, instant)) if state.logs_name_slices else ()
            if operations:
                plan = encode_content(CompactionPlan(operations, missing_schedule_partitions=()), state.config)
                requested = Instant(instant.time, instant.action, State.REQUESTED)
                state.storage.create(instant_path(state.config, requested), plan, overwrite=True)
            else:
                remove_pending(state.storage, state.config, instant)
        return state.context.state()


def _begun_slices(state: TableState, compaction: Instant) -> Iterator[CompactionOperation]:
    """Yield what the compaction has to merge: the slices with log files that are named by it."""
    for found in state.slices():
        earlier = tuple(log for log in found.log_files if log.name.instant < compaction.time)
        if found.base_instant < compaction.time and len(earlier) < len(found.log_files):
            yield compaction_operation(replace(found, log_files=earlier))
