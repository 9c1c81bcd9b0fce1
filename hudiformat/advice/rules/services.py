"""Rules about services: writes that died, plans that nobody runs, compactions that do not run, services due."""

from __future__ import annotations

from collections.abc import Sequence

from hudiformat.advice.advice import Advice, Effect, Severity
from hudiformat.advice.commands import run
from hudiformat.advice.facts import Facts
from hudiformat.naming.file_names import base_name
from hudiformat.numbers import count_text, format_count, size_text
from hudiformat.services.compaction import plan_compaction
from hudiformat.services.deciding import Service, since_compaction
from hudiformat.services.execution import is_running
from hudiformat.timeline.plans import RequestedReplaceMetadata
from hudiformat.timeline.timeline import Action, Instant
from hudiformat.write.commit.failed_writes import dead_writes

WAITED, WAITED_LONG = 5, 20
"""Commits after a plan: a service that runs beside the writers has come by the first of them; the second is Hudi's
default of the commits that stay on the timeline, which such a plan holds back."""
OVERDUE, LONG_OVERDUE = 2, 4
"""How many times the delta commits after which a compaction is due have passed: a service that looks every few minutes
may be one round late."""
LARGE_LOGS = 0.3
"""Bytes of log files for each byte of base files, from which on queries become slow."""
LEAST_LOGS = 0.1
"""Bytes of log files for each byte that a base file may have: fewer are read in no time."""
_VERBS = {
    Service.METADATA: "Serve the metadata table",
    Service.EXPIRY: "Expire partitions",
    Service.LOG_COMPACTION: "Compact log files",
    Service.CLUSTERING: "Cluster",
    Service.CLEANING: "Clean",
    Service.ARCHIVING: "Archive",
}


def advise_rollback(facts: Facts) -> Advice | None:
    """Advise to roll back writes whose writers show no sign of life, the newest first."""
    decision = facts.decisions.get(Service.ROLLBACK)
    if decision is None or not decision.is_due:
        return None
    dead = [one.time for one in dead_writes(facts.state)]
    show = "shows" if len(dead) == 1 else "show"
    return Advice(
        severity=Severity.HIGH,
        finding="dead-writes",
        verb="Roll back",
        found=f"{format_count(len(dead), 'write')} {show} no sign of life, the newest of {dead[-1]}; "
        "if nobody is writing",
        reason="Their files are no part of the table, and hold back archiving.",
        effects=(Effect("pending_writes", len(dead), 0),),
        command=" && ".join(f"hudiformat rollback {facts.table} {time}" for time in reversed(dead)),
    )


def advise_pending_compaction(facts: Facts) -> Advice | None:
    """Advise to run a compaction that was planned, and that nobody runs."""
    waiting = _waiting(facts, Action.COMPACTION)
    if not waiting:
        return None
    planned = [one for one in facts.state.pending_groups if one.instant in waiting]
    names = {base_name(path) for one in planned for path in one.files}
    keys = {one.key for one in planned}
    taken = [one for one in facts.slices if (one.partition_path, one.file_id) in keys]
    merged = sum(name in names for one in taken for name in one.log_names)
    logs = int(facts.columns.log_files.sum())
    waited = _commits_since(facts, waiting[0])
    return Advice(
        severity=_severity(waited),
        finding="pending-compaction",
        verb="Compact",
        found=f"the compaction {waiting[0].time} of {format_count(len(planned), 'file group')} was planned, and has "
        f"not run in the {format_count(waited, 'commit')} since",
        reason="Until it runs, queries merge its log files, and its commits stay on the active timeline.",
        effects=(
            Effect("log_files", logs, logs - merged),
            Effect("files_read", facts.columns.files_read, facts.columns.files_read - merged),
        ),
        command=run(facts, "compact"),
        cost_bytes=sum(one.size for one in taken),
    )


def advise_pending_clustering(facts: Facts) -> Advice | None:
    """Advise to run a clustering that was planned, and that nobody runs."""
    waiting = _waiting(facts, Action.CLUSTERING)
    if not waiting:
        return None
    plans = [facts.state.plan(one) for one in waiting]
    clusterings = [one.clustering_plan for one in plans if isinstance(one, RequestedReplaceMetadata)]
    groups = [group for plan in clusterings if plan is not None for group in plan.input_groups or ()]
    taken = sum(len(group.slices or ()) for group in groups)
    made = sum(group.num_output_file_groups or 1 for group in groups)
    keys = {(part.partition_path, part.file_id) for group in groups for part in group.slices or ()}
    waited = _commits_since(facts, waiting[0])
    return Advice(
        severity=_severity(waited),
        finding="pending-clustering",
        verb="Cluster",
        found=f"the clustering {waiting[0].time} of {format_count(taken, 'file group')} was planned, and has not run "
        f"in the {format_count(waited, 'commit')} since",
        reason="Until it runs, its file groups take no new rows, updates of them are refused, and its commits stay on "
        "the active timeline.",
        effects=(Effect("file_groups", len(facts.slices), len(facts.slices) - taken + made),),
        command=run(facts, "cluster"),
        cost_bytes=sum(one.size for one in facts.slices if (one.partition_path, one.file_id) in keys),
    )


def advise_compaction(facts: Facts) -> Advice | None:
    """Advise a compaction that has not run for long, that is due, or without which queries read large log files."""
    decision, columns = facts.decisions.get(Service.COMPACTION), facts.columns
    logs, log_bytes = int(columns.log_files.sum()), int(columns.log_bytes.sum())
    if not facts.is_mor or not logs or decision is None or _waiting(facts, Action.COMPACTION):
        return None
    services = facts.state.options.services
    deltas = len(since_compaction(facts.state.timeline))
    is_large = log_bytes > max(LEAST_LOGS * facts.target, LARGE_LOGS * int(columns.base_bytes.sum()))
    if not decision.is_due and not is_large:
        return None
    plan = plan_compaction(facts.state, facts.slices)
    operations = () if plan is None else plan.operations or ()
    if not operations:
        return None
    merged = sum(len(one.delta_file_paths or ()) for one in operations)
    keys = {(one.partition_path or "", one.file_id or "") for one in operations}
    late = deltas // services.compact_delta_commits
    finding = "compaction-not-run" if late >= OVERDUE else "compaction-due" if decision.is_due else "large-logs"
    since = f"; {format_count(deltas, 'delta commit')} since the newest compaction" if decision.is_due else ""
    with_logs = int((columns.log_files > 0).sum())
    return Advice(
        severity=Severity.HIGH if late >= LONG_OVERDUE else Severity.MEDIUM if late >= OVERDUE else Severity.LOW,
        finding=finding,
        verb="Compact",
        found=f"{count_text(with_logs)} of {format_count(len(facts.slices), 'file group')} "
        f"{'carries' if with_logs == 1 else 'carry'} log files, {size_text(log_bytes)} of logs against "
        f"{size_text(int(columns.base_bytes.sum()))} of base files{since}",
        reason="Each query merges the log files that no compaction has merged.",
        effects=(
            Effect("log_files", logs, logs - merged),
            Effect("files_read", columns.files_read, _read_after(facts, keys, merged)),
        ),
        properties={} if services.compact_inline or late < OVERDUE else {"hoodie.compact.inline": "true"},
        command=run(facts, "compact"),
        cost_bytes=sum(one.size for one in facts.slices if (one.partition_path, one.file_id) in keys),
    )


def advise_services(facts: Facts) -> list[Advice]:
    """Advise to run the other services that are due."""
    found = []
    for service, verb in _VERBS.items():
        decision = facts.decisions.get(service)
        if decision is None or not decision.is_due:
            continue
        if service is Service.CLUSTERING and _waiting(facts, Action.CLUSTERING):
            continue
        command = (
            run(facts, "cluster") if service is Service.CLUSTERING else run(facts, f"maintain --only {service.value}")
        )
        found.append(
            Advice(
                severity=Severity.LOW,
                finding=f"{service.value}-due",
                verb=verb,
                found=decision.why,
                reason="By the options, the service is due.",
                command=command,
            )
        )
    return found


def _read_after(facts: Facts, keys: set[tuple[str, str]], merged: int) -> int:
    new = sum(one.base_file is None and (one.partition_path, one.file_id) in keys for one in facts.slices)
    return facts.columns.files_read - merged + new


def _waiting(facts: Facts, action: Action) -> Sequence[Instant]:
    """Return the plans of an action that nobody runs, the oldest first."""
    state = facts.state
    if action is Action.CLUSTERING:
        planned = [one for one in state.timeline.pending if state.is_clustering(one)]
    else:
        planned = [one for one in state.timeline.pending if one.action is action]
    return [one for one in planned if not is_running(state, one)]


def _commits_since(facts: Facts, planned: Instant) -> int:
    return sum(one.time > planned.time for one in facts.state.timeline.completed_writes)


def _severity(waited: int) -> Severity:
    return Severity.HIGH if waited >= WAITED_LONG else Severity.MEDIUM if waited >= WAITED else Severity.LOW
