"""The instants of the metadata table whose log blocks are merged.

A write commits to the metadata table before it commits to the table.  So an instant may be completed on the timeline of
the metadata table although the write never became visible in the table.
"""

from __future__ import annotations

from hudiformat.codec.avro.container import decode_avro_file
from hudiformat.errors import CorruptTableError
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, Timeline, instant_path

_FIRST = "00000000000000"
"""The lowest instant; the instants that initialize a partition of the metadata table begin with it."""


def valid_instants(storage: Storage, config: TableConfig, timeline: Timeline, own: Timeline) -> frozenset[str]:
    """Return the instants whose log blocks are merged.

    These are the completed instants of the table's *timeline*, and the completed delta commits of the metadata table's
    *own* timeline that are not pending on the table's timeline.  Rolled-back instants are included, because the blocks
    of their rollback, which undo them, are merged too.

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
    # Log blocks of instants that were rolled back earlier have been compacted, or never existed.
    since = max(compacted, min(valid, default=_FIRST))
    for instant in timeline.completed:
        if instant.action in (Action.ROLLBACK, Action.RESTORE) and instant.time > since:
            valid.update(_rolled_back_instants(storage, config, instant))
    return frozenset(valid)


def _rolled_back_instants(storage: Storage, config: TableConfig, instant: Instant) -> list[str]:
    path = instant_path(config, instant)
    named = f"{storage.root}/{path}"
    record = decode_avro_file(storage.read(path), path=named)
    try:
        rollbacks = [record]
        if instant.action is Action.RESTORE:
            rollbacks = [rollback for group in record["hoodieRestoreMetadata"].values() for rollback in group]
        return [str(time) for rollback in rollbacks for time in rollback["commitsRollback"]]
    except (LookupError, TypeError, AttributeError) as error:
        raise CorruptTableError(f"{named}: expected the metadata of {instant}: {error!r}", path=named) from error
