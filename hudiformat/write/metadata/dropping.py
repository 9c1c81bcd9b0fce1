"""Drop partitions of a metadata table, or all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone

from hudiformat.table.registered import refuse_to_lose_registered
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import METADATA_FOLDER, update_table_config
from hudiformat.write.metadata.definitions import forget_definitions

PARTITIONS_KEY = "hoodie.table.metadata.partitions"
INFLIGHT_KEY = "hoodie.table.metadata.partitions.inflight"


def drop_partitions(
    state: TableState, partitions: Iterable[str], *, remove: Callable[[str], object] | None = None
) -> TableState:
    """Remove *partitions*, or the whole metadata table if none is left, from the properties, then delete their folders.

    In the other order a reader would fail: the properties would name a partition without a folder.  *remove* is called
    with each folder instead of deleting it.

    Raises:
        UnsupportedFeatureError: the metadata table alone lists files of the table.
    """
    dropped = set(partitions)
    left = [name for name in state.config.metadata_partitions if name not in dropped]
    if not left:
        refuse_to_lose_registered(state)
    changes = {PARTITIONS_KEY: ",".join(left), **({} if left else {INFLIGHT_KEY: ""})}
    update_table_config(state.storage, changes, saved_at=datetime.now(timezone.utc))
    for folder in sorted(f"{METADATA_FOLDER}/{name}" for name in dropped) if left else [METADATA_FOLDER]:
        (remove or state.storage.delete_folder)(folder)
    forget_definitions(state, dropped)
    return state.context.state()
