"""Repair a metadata table that contradicts the table: move it away, and build it again with its indexes.

Between the two steps, writers work without a metadata table.  The list of moved files also says which indexes to build,
so that if this repair dies, the next one builds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.repair_folder import RepairFolder, note_built_indexes, unbuilt_indexes
from hudiformat.check.repair.steps import Job, RepairKind, RepairStep
from hudiformat.errors import CorruptTableError, HudiFormatError
from hudiformat.metadata_table.definitions import DEFINITIONS_KEY, load_definitions
from hudiformat.services.indexing import indexes_with_columns, rebuild_indexes
from hudiformat.table.state import TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.timeline.config_files import METADATA_FOLDER, load_table_config
from hudiformat.write.commit.changing import hold_table_lock
from hudiformat.write.metadata.dropping import drop_partitions
from hudiformat.write.metadata.indexes import MAINTAINED


def plan_removal(state: TableState, why: str, timeout: WriterTimeout) -> Job:
    """Return the job that moves the metadata table to the folder of the repair."""
    names = ", ".join(state.config.metadata_partitions)
    others = [name for name in state.config.metadata_partitions if name not in MAINTAINED]
    lost = f"the indexes {', '.join(others)}, which Spark SQL has to create again" if others else ""
    what = f"the metadata table ({names}) is taken away, to be built again"
    step = RepairStep(RepairKind.METADATA, METADATA_FOLDER, what, why, lost)
    reason = timeout.of_writers(state)
    run, check = partial(_take_away, state, why), partial(refuse_unwritable, state)
    return Job(step, run, check) if reason is None else Job.refused(step, reason)


def _take_away(state: TableState, why: str, taken: RepairFolder) -> None:
    with hold_table_lock(state.context) as owning:
        current = replace(state, context=owning, config=load_table_config(state.storage))
        taken.note_unbuilt_indexes(_indexes(current))
        owning.confirm()
        _keep_definitions(current, why, taken)
        drop_partitions(current, current.config.metadata_partitions, remove=lambda path: taken.take_folder(path, why))


def _keep_definitions(state: TableState, why: str, taken: RepairFolder) -> None:
    """Copy the definitions of the indexes, which change with the metadata table.

    They are moved away if they cannot be read, because no index could be dropped from them.
    """
    path = state.config.properties.get(DEFINITIONS_KEY)
    if path is None:
        return
    try:
        load_definitions(state.storage, state.config)
    except CorruptTableError as error:
        taken.move_file(path, str(error))
    else:
        taken.copy_file(path, why)


def _indexes(state: TableState) -> Mapping[str, Sequence[str]]:
    """Return the existing indexes, each with its columns if they are known."""
    try:
        return indexes_with_columns(state)
    except HudiFormatError:
        return dict.fromkeys(state.config.metadata_partitions, ())


def plan_building(state: TableState, *, is_taken_away: bool) -> Iterator[Job]:
    """Yield the job that builds the metadata table again, if this repair or an earlier one moved it away."""
    owed = unbuilt_indexes(state.storage)
    if is_taken_away or owed:
        why = "it was taken away" if is_taken_away else f"the repair {max(owed)} had taken it away"
        step = RepairStep(RepairKind.METADATA, METADATA_FOLDER, "the metadata table is built again", why)
        yield Job(step, partial(_build, state))


def _build(state: TableState, taken: RepairFolder) -> None:
    for instant, indexes in unbuilt_indexes(state.storage).items():
        if state.context.options.metadata_enable is not False:
            rebuild_indexes(state.context, indexes)
        if instant == taken.instant:
            taken.note_unbuilt_indexes({})
        else:
            note_built_indexes(state.storage, instant)
