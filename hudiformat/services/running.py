"""Maintenance in a process of its own: all services of a table that are due, one after the other.

Each service reads the table again, because writers go on meanwhile.  If one service fails, the others still run.  If
writers share a lock, services and writers exclude each other as usual, by the lock and by heartbeats.  A single writer
takes no lock, so nothing is done while it is writing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from hudiformat.errors import HudiFormatError, LockError, OptionError
from hudiformat.file_group.slices import build_slices, latest_slices
from hudiformat.naming.file_names import parse_data_file
from hudiformat.services.cleaning import clean
from hudiformat.services.clustering import cluster
from hudiformat.services.compaction import compact
from hudiformat.services.deciding import Decision, Service, archive_table, decide
from hudiformat.services.indexing import build_metadata_table, lacks_indexes
from hudiformat.services.log_compaction import log_compact
from hudiformat.services.metadata_services import serve_metadata_table
from hudiformat.services.service_result import MaintenanceReport, ServiceReport, ServiceResult, TableSize
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.commit.failed_writes import roll_back_failed_writes
from hudiformat.write.commit.heartbeats import is_of_ended_process
from hudiformat.write.commit.transaction import Commit
from hudiformat.write.expiring import expire_partitions

_NOTHING = "nothing was left to do"


def maintain(
    context: TableContext,
    *,
    only: Collection[Service] = (),
    dry_run: bool = False,
    is_stopped: Callable[[], bool] = lambda: False,
) -> MaintenanceReport:
    """Decide which services are due and run them; return what was done, and why.

    *only* names the services to look at, which also turns them on; with *dry_run* nothing is changed.  No further
    service begins once *is_stopped* returns true.

    Raises:
        LockError: the table has a single writer, and it is writing.
        UnsupportedFeatureError: the table cannot be written.
    """
    context = _turn_on(context, only)
    state = context.state()
    refuse_unwritable(state)
    if not dry_run:
        refuse_single_writer_at_work(state)
    reports = []
    for service in Service:
        if is_stopped():
            break
        if not only or service in only:
            reports.append(_serve(context, service, dry_run=dry_run))
    return MaintenanceReport.of(context.storage.root, reports, is_dry_run=dry_run)


def _turn_on(context: TableContext, only: Collection[Service]) -> TableContext:
    """Return the table with options that turn on the services that *only* names."""
    options = context.options
    services = replace(
        options.services,
        log_compaction=options.services.log_compaction or Service.LOG_COMPACTION in only,
        clean_automatic=options.services.clean_automatic or Service.CLEANING in only,
        archive_automatic=options.services.archive_automatic or Service.ARCHIVING in only,
    )
    clustering = replace(options.clustering, is_async=options.clustering.is_async or Service.CLUSTERING in only)
    return replace(context, options=replace(options, services=services, clustering=clustering))


def refuse_single_writer_at_work(state: TableState) -> None:
    """Check that no write is pending in a table whose writers take no lock.

    Such a writer gives no sign of life at first, so a pending write counts as alive unless its process has ended.

    Raises:
        LockError: a write is pending.
    """
    if state.options.concurrency.has_other_writers:
        return
    alive = [one for one in state.pending_writes if not is_of_ended_process(state.storage, one.time)]
    if alive:
        raise LockError(
            f"{state.storage.root}: expected no write to be under way, found {alive[0]}: without a lock, maintenance "
            "beside a writer is refused; wait for it, or roll it back if its writer has died, or set "
            "hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL and the options of the lock "
            "(hoodie.write.lock.*) for all writers and for maintenance"
        )


def _serve(context: TableContext, service: Service, *, dry_run: bool) -> ServiceReport:
    """Decide whether one service is due, and run it if it is."""
    began, decision, before = time.monotonic(), Decision(False, "not known"), None
    try:
        state = context.state_with_schema()
        if not dry_run:
            refuse_single_writer_at_work(state)
        decision = decide(state, service)
        if not decision.is_due or dry_run:
            return _report(service, decision, began)
        before = size_of(state)
        done = _RUNNERS[service](state, decision)
        after = size_of(context.state())
    except Exception as error:  # noqa: BLE001 - whatever failed, the other services can run
        text = str(error) if isinstance(error, HudiFormatError) else f"{type(error).__name__}: {error}"
        return replace(_report(service, decision, began), before=before, error=text)
    ran = _report(service, decision, began)
    return replace(ran, done=done.done or _NOTHING, items=tuple(done), before=before, after=after)


def _report(service: Service, decision: Decision, began: float) -> ServiceReport:
    seconds = time.monotonic() - began
    return ServiceReport(service.value, is_due=decision.is_due, why=decision.why, seconds=seconds)


def size_of(state: TableState) -> TableSize:
    """Return the files and bytes of a table."""
    read: list[int] = []
    stored: list[int] = []
    for path, files in state.files():
        stored += [file.size for file in files if parse_data_file(file.name) is not None]
        for one in latest_slices(build_slices(path, files, state.visibility)):
            base = () if one.base_file is None else (one.base_file,)
            read += [file.size for file in (*base, *one.log_files)]
    return TableSize(len(read), sum(read), len(stored), sum(stored))


def _roll_back(state: TableState, _decision: Decision) -> ServiceResult[Instant]:
    with change_timeline(state.context) as now:
        pending = now.pending_writes
        left = {one.time for one in roll_back_failed_writes(now).timeline.instants}
    rolled_back = tuple(one for one in sorted(pending, key=lambda one: one.time) if one.time not in left)
    return ServiceResult(Service.ROLLBACK.value, f"{len(rolled_back)} rolled back", rolled_back)


def _serve_metadata(state: TableState, _decision: Decision) -> ServiceResult[Instant]:
    if state.options.metadata_enable and lacks_indexes(state):
        build_metadata_table(state)
        return ServiceResult(Service.METADATA.value, "the metadata table was built")
    return ServiceResult(Service.METADATA.value, "served" if serve_metadata_table(state) else "")


def _expire(state: TableState, decision: Decision) -> ServiceResult[Commit]:
    expired = expire_partitions(state, decision.partitions)
    return ServiceResult(Service.EXPIRY.value, *(() if expired is None else ("removed", (expired[0],))))


def _archive(state: TableState, _decision: Decision) -> ServiceResult[Instant]:
    done = archive_table(state.context)
    return ServiceResult(Service.ARCHIVING.value, f"{len(done)} instants archived")


_RUNNERS: dict[Service, Callable[[TableState, Decision], ServiceResult[Commit | Instant]]] = {
    Service.ROLLBACK: _roll_back,
    Service.METADATA: _serve_metadata,
    Service.COMPACTION: lambda state, _decision: compact(state.context),
    Service.LOG_COMPACTION: lambda state, _decision: log_compact(state.context),
    Service.CLUSTERING: lambda state, _decision: cluster(state.context),
    Service.EXPIRY: _expire,
    Service.CLEANING: lambda state, _decision: clean(state.context),
    Service.ARCHIVING: _archive,
}


def parse_services(names: Sequence[str]) -> tuple[Service, ...]:
    """Return the services with these *names*.

    Raises:
        OptionError: there is no service of one of the names.
    """
    known = {service.value: service for service in Service}
    for name in names:
        if name not in known:
            raise OptionError(f"only: expected names of services ({', '.join(known)}), found {name!r}", option="only")
    return tuple(known[name] for name in names)
