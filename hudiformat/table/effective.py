"""The timeline as queries see it: without the writes that a restore in progress is going to remove.

A restore removes one write after the other.  Without this, a query during the restore would see a state of the table
between the two.
"""

from __future__ import annotations

from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.rollbacks import RestorePlan
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, State, Timeline, instant_path


def without_restored_writes(storage: Storage, config: TableConfig, timeline: Timeline) -> Timeline:
    """Return *timeline* without the writes that a restore in progress removes.

    Raises:
        CorruptTableError: the plan of the restore is damaged.
    """
    begun = [one for one in timeline.pending if one.action is Action.RESTORE and one.state is State.INFLIGHT]
    gone = {info.commit_time for one in begun for info in _plan(storage, config, one).instants_to_rollback}
    kept = (one for one in timeline.instants if one.time not in gone or not one.action.completed_as.is_write)
    return Timeline(tuple(kept))


def restore_plan(storage: Storage, config: TableConfig, restore: Instant) -> RestorePlan:
    """Read the plan of a pending restore.

    Raises:
        CorruptTableError: the file has no plan, or is damaged.
        StorageError: the file of the plan does not exist.
    """
    requested = Instant(restore.time, restore.action, State.REQUESTED)
    plan = read_content(storage, config, requested)
    if not isinstance(plan, RestorePlan):
        path = f"{storage.root}/{instant_path(config, requested)}"
        raise CorruptTableError(f"{path}: expected the plan of a restore, found nothing", path=path)
    return plan


def _plan(storage: Storage, config: TableConfig, restore: Instant) -> RestorePlan:
    try:
        return restore_plan(storage, config, restore)
    except StorageError:  # the restore has been completed and archived meanwhile
        return RestorePlan()
