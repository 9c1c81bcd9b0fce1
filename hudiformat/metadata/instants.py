"""Which instants of the metadata table count.

A write commits to the metadata table before it commits to the table, so what is completed there may never have become
visible here.
"""

from __future__ import annotations

from hudiformat.avro.container import decode_avro_file
from hudiformat.storage import Storage
from hudiformat.timeline import Action, Instant, TableConfig, Timeline, instant_path

_FIRST = "00000000000000"
"""What the instants begin with that set a partition of the metadata table up; the first thinkable instant."""


def valid_instants(storage: Storage, config: TableConfig, timeline: Timeline, own: Timeline) -> frozenset[str]:
    """The instants whose log blocks count.

    Those completed on the table's *timeline*, and those that are completed on the metadata table's *own* and not
    pending on the former: its own work.  What was rolled back counts, for so does the rollback, which takes it out.

    Raises:
        CorruptTableError: the metadata of a rollback or restore is damaged.

    Source: HoodieTableMetadataUtil.getValidInstantTimestamps.
    """
    pending = {instant.time for instant in timeline.pending}
    valid = {instant.time for instant in timeline.completed}
    compacted = _FIRST
    for instant in own.completed:
        if instant.action is Action.DELTA_COMMIT and (instant.time not in pending or instant.time.startswith(_FIRST)):
            valid.add(instant.time)
        elif instant.action is Action.COMMIT:
            compacted = instant.time
    # The log blocks of what was rolled back earlier have been compacted, or there never were any.
    since = max(compacted, min(valid, default=_FIRST))
    for instant in timeline.completed:
        if instant.action in (Action.ROLLBACK, Action.RESTORE) and instant.time > since:
            valid.update(_rolled_back_by(storage, config, instant))
    return frozenset(valid)


def _rolled_back_by(storage: Storage, config: TableConfig, instant: Instant) -> list[str]:
    path = instant_path(config, instant)
    record = decode_avro_file(storage.read(path), path=f"{storage.root}/{path}")
    if instant.action is Action.ROLLBACK:
        return list(record["commitsRollback"])
    every = (rollback for group in record["hoodieRestoreMetadata"].values() for rollback in group)
    return [time for rollback in every for time in rollback["commitsRollback"]]
