"""Which services are due, and what a compaction or a clustering would change; nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hudiformat.errors import HudiFormatError
from hudiformat.file_group.slices import FileSlice
from hudiformat.report.facts import Prospect, ServiceState
from hudiformat.services.clustering_plan import plan_clustering, resizes_buckets
from hudiformat.services.compaction import plan_compaction
from hudiformat.services.deciding import Service, decide
from hudiformat.table.options.values import IndexType
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import TableType

COMPACTION, CLUSTERING = Service.COMPACTION.value, Service.CLUSTERING.value


def services_of(state: TableState) -> tuple[ServiceState, ...]:
    """Return for each service whether it is due, and why or why not."""
    return tuple(_decide(state, service) for service in Service)


def _decide(state: TableState, service: Service) -> ServiceState:
    try:
        decision = decide(state, service)
    except HudiFormatError as error:
        return ServiceState(service.value, is_due=False, why=str(error), error=True)
    return ServiceState(service.value, decision.is_due, decision.why)


def prospects_of(state: TableState, slices: Sequence[FileSlice]) -> tuple[Prospect, ...]:
    """Return what the next compaction and the next clustering would change; *slices* are the newest file slices."""
    by_key = {(one.partition_path, one.file_id): one for one in slices}
    return _compaction(state, slices, by_key), _clustering(state, by_key)


_ByKey = dict[tuple[str, str], FileSlice]


def _compaction(state: TableState, slices: Sequence[FileSlice], by_key: _ByKey) -> Prospect:
    if state.config.table_type is TableType.COPY_ON_WRITE:
        return Prospect(COMPACTION, why_not="a copy-on-write table has no log files")
    plan = plan_compaction(state, slices)
    if plan is None:
        return Prospect(COMPACTION, why_not="no file group has log files that are not planned for already")
    keys = ((one.partition_path or "", one.file_id or "") for one in plan.operations or ())
    taken = [by_key[key] for key in keys if key in by_key]
    return _prospect(COMPACTION, taken, len(taken))


def _clustering(state: TableState, by_key: _ByKey) -> Prospect:
    if state.options.index_type is IndexType.BUCKET and not resizes_buckets(state):
        return Prospect(CLUSTERING, why_not="the hash of a record key names its file group, which clustering changes")
    plan = plan_clustering(state)
    if plan is None:
        return Prospect(CLUSTERING, why_not="no file groups are small enough to be worth it")
    groups = plan.input_groups or ()
    keys = ((one.partition_path or "", one.file_id or "") for group in groups for one in group.slices or ())
    files = sum(group.num_output_file_groups or 1 for group in groups)
    return _prospect(CLUSTERING, [by_key[key] for key in keys if key in by_key], files)


def _prospect(service: str, taken: Iterable[FileSlice], groups_after: int) -> Prospect:
    """Return what a service would change of the slices *taken*.

    The estimate of a new base file's bytes is the size of the old base file, or else of the log files.
    """
    slices = list(taken)
    return Prospect(
        service=service,
        groups_before=len(slices),
        groups_after=groups_after,
        files_before=sum((one.base_file is not None) + len(one.log_files) for one in slices),
        files_after=groups_after,
        bytes_before=sum(one.size for one in slices),
        bytes_after=sum(one.log_bytes if one.base_file is None else one.base_file.size for one in slices),
    )
