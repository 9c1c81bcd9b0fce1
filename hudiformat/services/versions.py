"""Upgrade and downgrade a table between the versions 6, 8 and 9, so that an older or newer Hudi can use it.

Source: UpgradeDowngrade, UpgradeDowngradeUtils.rollbackFailedWritesAndCompact, Hudi 1.2.0; spec/services.md.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

from hudiformat.errors import CommitError, OptionError, format_value, warn
from hudiformat.services.cleaning import clean
from hudiformat.services.compaction import compact
from hudiformat.services.execution import mergeable_slices
from hudiformat.services.indexing import indexes_with_columns, rebuild_indexes
from hudiformat.services.log_compaction import log_compact
from hudiformat.table.registered import refuse_to_lose_registered
from hudiformat.table.relayout import convert_timeline, delete_timeline
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.table.versions import config_of_other_layout, config_of_version
from hudiformat.timeline.config_files import (
    PROPERTIES_FILE,
    SUPPORTED_VERSIONS,
    format_table_config,
    recover_table_config,
)
from hudiformat.timeline.table_config import TableConfig, TableType
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.failed_writes import roll_back_failed_writes
from hudiformat.write.metadata.indexes import MAINTAINED

_ROUNDS = 10
"""How many times log files that other writers have added in the meantime are merged."""
_PLANS_TO_KEEP = (Action.CLUSTERING, Action.REPLACE_COMMIT)


def change_version(context: TableContext, to: int) -> TableConfig:
    """Change the table to version *to*, and return its configuration afterwards.

    Interrupted writes are rolled back first, plans are run, and all log files are merged, as in Hudi: log files have
    other names in version 6, and would be assigned to wrong slices.  The metadata table is deleted, because each
    version has its own; with ``hoodie.metadata.enable=true`` its indexes are built again at the end.  The new timeline
    is written next to the old one, and the properties, which are replaced in one step, decide which of them counts.  So
    a process that dies leaves the table in one version or the other, and the same call finishes what it began.

    Raises:
        OptionError: there is no such version.
        UnsupportedFeatureError: the table cannot be written, or has what the other version cannot express.
        CommitError: another writer is writing, or a plan is left that cannot be run here.
        LockError: another writer keeps the table's lock.

    Source: UpgradeDowngrade.run, Hudi 1.2.0.
    """
    if type(to) is not int or to not in SUPPORTED_VERSIONS:
        known = ", ".join(map(str, SUPPORTED_VERSIONS))
        hint = f"; write {to} without quotes" if str(to) in map(str, SUPPORTED_VERSIONS) else ""
        raise OptionError(
            f"to: expected one of {known}, an int, found {format_value(to)}{hint}", option="hoodie.table.version"
        )
    state = context.state()
    refuse_unwritable(state)
    path = f"{context.storage.root}/{PROPERTIES_FILE}"
    config_of_version(state.config, to, path=path)  # raises, if it must, before anything is changed
    if state.config.version == to:
        return _finish_former(context, path)
    if state.config.metadata_partitions:
        refuse_to_lose_registered(state)
    indexes = indexes_with_columns(state)
    bare = _without_metadata_table(state)
    _run_everything_pending(bare)
    with change_timeline(bare) as current:
        _refuse_pending(current)
        config = _convert(current, to, path)
    if not (indexes and context.options.metadata_enable):
        return config
    rebuild_indexes(replace(context, config=config), indexes)
    return context.state().config


def _finish_former(context: TableContext, path: str) -> TableConfig:
    """Delete what an earlier process, which died, has left of the timeline of the former version.

    Its archive stays: Hudi upgrades in another order, and may have the archive only there.
    """
    with change_timeline(context) as state:
        former = config_of_other_layout(state.config, path=path)
        delete_timeline(state.storage, former, instead_of=state.config, archive=False, confirm=state.context.confirm)
        return state.config


def _run_everything_pending(context: TableContext) -> None:
    """Roll back failed writes, run what is planned and merge all log files, until nothing of that is left."""
    options = context.options
    unbounded = replace(options.services, compaction_target_io_mb=2**40, compaction_log_files=0, compaction_log_size=0)
    context = replace(context, options=replace(options, services=unbounded))
    for _ in range(_ROUNDS):
        with change_timeline(context) as seen:
            state = roll_back_failed_writes(seen)
        pending = {instant.action for instant in state.timeline.pending}
        if Action.CLEAN in pending:
            clean(context)
        if Action.LOG_COMPACTION in pending:
            log_compact(context)
        if state.config.table_type is TableType.MERGE_ON_READ and (
            Action.COMPACTION in pending or mergeable_slices(state)
        ):
            compact(context)
        elif pending <= set(_PLANS_TO_KEEP):
            return


def _refuse_pending(state: TableState) -> None:
    root = state.storage.root
    left = [str(instant) for instant in state.timeline.pending if instant.action not in _PLANS_TO_KEEP]
    if left:
        raise CommitError(
            f"{root}: expected nothing to be under way, found {', '.join(left)}; wait for its writer, or roll it back, "
            "and change the version then",
            path=root,
        )
    with_logs = [one for one in state.slices() if one.log_files]
    if with_logs:
        raise CommitError(
            f"{root}: expected all log files to be merged, found some in {len(with_logs)} file groups, such as "
            f"{with_logs[0].file_id}: a pending clustering holds them, or other writers add to them; run the "
            "clustering, or stop the writers, and change the version then",
            path=root,
        )


def _without_metadata_table(state: TableState) -> TableContext:
    """Return the table with options that make the first change drop the metadata table, whatever partitions it has."""
    partitions = state.config.metadata_partitions
    left = [name for name in partitions if name not in MAINTAINED] if state.options.metadata_enable else partitions
    if left and state.options.metadata_enable is not False:
        warn(
            f"{state.storage.root}: the metadata table ({', '.join(left)}) belongs to table version "
            f"{state.config.version}, and is deleted; it is built again by a writer that enables it: Hudi's by "
            "default, and here by the same call with hoodie.metadata.enable=true",
        )
    return replace(state.context, options=replace(state.options, metadata_enable=False))


def _convert(state: TableState, to: int, path: str) -> TableConfig:
    storage, confirm = state.storage, state.context.confirm
    new = config_of_version(state.config, to, path=path)
    # Until the properties are replaced, the old version counts, and the new timeline is ignored; after that, the old
    # timeline is ignored, and may be deleted.
    convert_timeline(storage, state.config, new, confirm=confirm)
    recover_table_config(storage)
    confirm()
    storage.create(PROPERTIES_FILE, format_table_config(new, saved_at=datetime.now(timezone.utc)), overwrite=True)
    delete_timeline(storage, state.config, instead_of=new, confirm=confirm)
    return new
