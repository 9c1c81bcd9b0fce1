"""Plan a repair and carry it out.

A plan is based on the findings of ``verify``.  Each step is tried first, without changes: one that could not be ended
is refused in the plan, and never begun.  Some damage hides other damage: while the content of a commit is not known,
its files cannot be checked.  So after a plan was carried out, the repair plans again, until nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from hudiformat.check.repair.archive import plan_archive
from hudiformat.check.repair.groups import damaged_logs, groups_of, plan_groups
from hudiformat.check.repair.instants import plan_instants
from hudiformat.check.repair.keys import plan_keys
from hudiformat.check.repair.labels import plan_labels
from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.logs import plan_logs
from hudiformat.check.repair.loose_files import plan_loose_files
from hudiformat.check.repair.metadata import plan_building, plan_removal
from hudiformat.check.repair.properties import mend_properties
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job, Repair, RepairKind, RepairStep
from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.check.verify.verification import verify_state
from hudiformat.errors import TableError, without_warnings
from hudiformat.file_group.merging.rule import RecordMerger
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.naming.instants import format_instant
from hudiformat.storage.opening import Location, open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.agreement import options_of
from hudiformat.table.sources import with_sources
from hudiformat.table.state import Clock, TableClock, TableContext, TableState
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, load_timeline
from hudiformat.write.commit.changing import hold_table_lock

DEAD_AFTER = 600.0
"""Seconds without a sign of life after which a writer is considered dead."""
_MOST_ROUNDS, _MOST_LOOKS = 6, 5
_HIDING = (RepairKind.ARCHIVE, RepairKind.COMMIT, RepairKind.PLAN)
"""The kinds of steps that must be carried out before other damage can be found."""
_READ_TO_BUILD = (RepairKind.LOG, RepairKind.FILES)
_CHANGES_FILES = (RepairKind.LOG, RepairKind.FILES, RepairKind.KEYS)


def repair_table(
    path: Location,
    *,
    apply: bool = False,
    keys: bool = False,
    labels: bool = False,
    properties: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    dead_after: float = DEAD_AFTER,
    clock: Clock | None = None,
    merger: RecordMerger | None = None,
    storage_options: Mapping[str, str] | None = None,
    told: Callable[[tuple[RepairStep, ...]], None] = lambda _steps: None,
) -> Repair:
    """Plan the steps after which ``verify`` finds nothing wrong with the table at *path*; with *apply*, carry them out.

    The table may be one that cannot be opened because its properties are lost.  Properties that cannot be inferred from
    files are given in *properties*, which are used only in this case.  With *keys*, keys that are in two file groups
    are found, too, and their older rows are deleted.  With *labels*, base files that label times otherwise than the
    table are written anew, for readers that take the labels of files.  A writer without a sign of life for *dead_after*
    seconds is considered dead.  A step is refused if it concerns files or instants of a writer that may be alive.

    *told* is called with the steps of each plan before they are carried out.  There may be several plans, because some
    damage hides other damage.  Files that are moved or replaced are kept in a folder ``.hoodie/.repair/<instant>``.  If
    the process dies, the table can be repaired again.  *path*, *options*, *clock*, *merger* and *storage_options* are
    as for ``open_table``.

    Raises:
        NotATableError: there is no table.
        UnsupportedFeatureError: the table has a version that is not supported.
        OptionError: an option is unknown or has a bad value.
        StorageError: a folder cannot be listed.
        TableError: other writers changed the table during every attempt to verify it.

    Source: HoodieTableConfig.recover, RepairsCommand; docs/repair.md.
    """
    storage = open_storage(path, storage_options=storage_options)

    def context_of(config: TableConfig) -> TableContext:
        chosen = options_of(config, options or {})
        context = TableContext(storage, config, chosen, clock or TableClock(config.timeline_zone), merger=merger)
        return with_sources(context, storage_options=storage_options)

    look = _Planner(
        storage, context_of, dict(properties or {}), WriterTimeout(storage, dead_after), keys=keys, labels=labels
    )
    return _repair(look, told) if apply else _make_plan(look)


def repair_context(
    context: TableContext,
    *,
    apply: bool = False,
    keys: bool = False,
    labels: bool = False,
    properties: Mapping[str, str] | None = None,
    dead_after: float = DEAD_AFTER,
) -> Repair:
    """Plan or carry out a repair as :func:`repair_table` does, for a table that is open.

    Raises:
        StorageError: a folder cannot be listed.
    """
    storage = context.storage
    timeout = WriterTimeout(storage, dead_after)
    look = _Planner(
        storage,
        lambda config: replace(context, config=config),
        dict(properties or {}),
        timeout,
        keys=keys,
        labels=labels,
    )
    return _repair(look, lambda _steps: None) if apply else _make_plan(look)


def _make_plan(look: _Planner) -> Repair:
    return Repair.of(look.storage.root, tuple(job.step for job in look.plan()), applied=False)


def _repair(look: _Planner, told: Callable[[tuple[RepairStep, ...]], None]) -> Repair:
    taken = RepairFolder(look.storage, format_instant(datetime.now(timezone.utc)))
    steps = tuple(_apply(look, taken, told))
    return Repair.of(look.storage.root, steps, applied=True, taken_away=None if taken.is_empty else taken.folder)


def _apply(look: _Planner, taken: RepairFolder, told: Callable[[tuple[RepairStep, ...]], None]) -> Iterator[RepairStep]:
    """Plan and carry out steps until nothing is left to do; yield the steps that were done, then the others."""
    tried: set[tuple[RepairKind, str, str]] = set()
    left: list[RepairStep] = []
    for _ in range(_MOST_ROUNDS):
        jobs = look.plan()
        new = [job for job in jobs if (job.step.kind, job.step.path, job.step.what) not in tried]
        left = [job.step for job in jobs if job.run is None]
        if not any(job.run for job in new):
            break
        told(tuple(job.step for job in new))
        for job in new:
            tried.add((job.step.kind, job.step.path, job.step.what))
            if job.run is not None:
                with without_warnings():  # the steps say what is lost
                    done = job.carry_out(taken)
                yield done
    yield from left


@dataclass(frozen=True, slots=True)
class _Planner:
    """Makes plans; each plan is based on a new state of the table."""

    storage: Storage
    context_of: Callable[[TableConfig], TableContext]
    properties: Mapping[str, str]
    timeout: WriterTimeout
    keys: bool
    labels: bool

    def plan(self) -> list[Job]:
        """Return the jobs that can be planned now, in the order in which they are carried out."""
        mended = mend_properties(self.storage, self.properties, self.timeout)
        if mended.config is None or any(job.run is None for job in mended.jobs):
            return list(mended.jobs)
        for _ in range(_MOST_LOOKS):
            state = self._state(mended.config)
            with without_warnings():
                findings = list(verify_state(state))
            # Files that other writers cleaned or rolled back meanwhile would look like damage.
            if load_timeline(self.storage, mended.config) == state.timeline:
                return [*(_under_lock(job, state) for job in mended.jobs), *self._of_findings(state, findings)]
        raise TableError(
            f"{self.storage.root}: in each of {_MOST_LOOKS} looks at the table, others have changed it meanwhile; "
            "repair it when fewer writers are at work",
            path=self.storage.root,
        )

    def _state(self, config: TableConfig) -> TableState:
        """Return the state of the table; plans of restores are not read, because they may be damaged."""
        return TableState(self.context_of(config), config, load_timeline(self.storage, config))

    def _of_findings(self, state: TableState, findings: list[TableFinding]) -> list[Job]:
        timeout = self.timeout
        groups = groups_of(findings)
        jobs = [
            *plan_archive(state, findings, timeout),
            *plan_instants(state, findings, timeout, groups),
        ]
        is_undoing = any(one.action in (Action.ROLLBACK, Action.RESTORE) for one in state.timeline.pending)
        if is_undoing or any(job.step.kind in _HIDING for job in jobs):
            return self._with_metadata(state, findings, jobs, builds=False)
        jobs += plan_loose_files(state, findings, timeout)
        jobs += plan_logs(state, damaged_logs(findings, groups), timeout)
        jobs += plan_groups(state, groups, timeout)
        jobs += plan_keys(state, timeout) if self.keys and not groups else ()
        is_sound = not any(job.run for job in jobs)
        jobs += plan_labels(state, findings, timeout, labels=self.labels) if is_sound else ()
        return self._with_metadata(state, findings, jobs, builds=True)

    def _with_metadata(
        self, state: TableState, findings: list[TableFinding], jobs: list[Job], *, builds: bool
    ) -> list[Job]:
        """Return *jobs*, after a job that moves a wrong metadata table away, and before one that builds it."""
        jobs = [job.checked() for job in jobs]  # first: a metadata table is not taken away for what cannot be done
        wrong = [one.message for one in findings if one.kind is TableFindingKind.CONTRADICTION]
        changed = [job.step for job in jobs if job.run is not None and job.step.kind in _CHANGES_FILES]
        has_one = FILES in state.config.metadata_partitions
        if changed and has_one and not wrong:
            wrong = [f"{changed[0].path} changes, and its entries have to be those of the new file"]
        kept = [job.step for job in jobs if job.run is None and job.step.kind in _READ_TO_BUILD]
        removal = [_plan_removal(state, wrong[0], self.timeout, kept)] if wrong else []
        is_taken_away = any(job.run is not None for job in removal)
        if removal and not is_taken_away:
            jobs = [_refuse_job(job, removal[0].step.reason) if job.step in changed else job for job in jobs]
        return [*removal, *jobs, *(plan_building(state, is_taken_away=is_taken_away) if builds else ())]


def _plan_removal(state: TableState, why: str, timeout: WriterTimeout, kept: Sequence[RepairStep]) -> Job:
    """Return the job that takes the metadata table away, refused if damaged files are *kept*: it is built from them."""
    job = plan_removal(state, why, timeout).checked()
    if kept and job.run is not None:
        return Job.refused(job.step, f"it could not be built again, because {kept[0].path} stays damaged")
    return job


def _under_lock(job: Job, state: TableState) -> Job:
    """Return a job that holds the table's lock while it runs."""

    def run(taken: RepairFolder) -> None:
        assert job.run is not None  # noqa: S101 - those that are refused are in a plan of their own
        with hold_table_lock(state.context) as owning:
            owning.confirm()
            job.run(taken)

    return Job(job.step, run)


def _refuse_job(job: Job, reason: str) -> Job:
    return Job.refused(job.step, reason)
