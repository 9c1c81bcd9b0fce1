"""Advice on what to do about a table, the most urgent first; the first advice is the headline of the report.

The rules, in this order:

1. repair files and instants that are damaged, missing or contradictory;
2. roll back writes whose writers show no sign of life, the newest first;
3. run the services that are due, by the rules of ``maintain``;
4. compact log files before a compaction is due, if they are large compared with the base files;
5. cluster file groups, even if the options do not enable clustering, if that leaves far fewer file groups;
6. delete files that belong to no commit.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from hudiformat.advice.numbers import count_text, format_count, size_text
from hudiformat.check.verify.finding import TableFindingKind
from hudiformat.report.events import FAILED
from hudiformat.report.facts import Advice, Prospect, ServiceState, TableFacts
from hudiformat.report.outlook import CLUSTERING, COMPACTION
from hudiformat.services.deciding import Service

LARGE_LOGS = 0.3
"""Bytes of log files per byte of base files; from this ratio on, a compaction is advised, as queries become slow."""
FEWER_GROUPS, LEAST_GROUPS = 0.5, 8
"""A clustering is advised if it leaves at most this share of the file groups, and there are at least so many."""
_HARMLESS = (TableFindingKind.UNCOMMITTED.name, TableFindingKind.ORPHAN.name, TableFindingKind.LEFTOVER.name)
"""Kinds of findings that readers skip."""
_NOUNS = {
    TableFindingKind.DAMAGED.name: "damaged file",
    TableFindingKind.MISSING.name: "missing file",
    TableFindingKind.PARTITION.name: "hidden partition",
}
_VERBS = {
    Service.METADATA.value: "Serve the metadata table",
    Service.EXPIRY.value: "Expire partitions",
    Service.LOG_COMPACTION.value: "Compact log files",
    Service.CLEANING.value: "Clean",
    Service.ARCHIVING.value: "Archive",
}


def advice_on(facts: TableFacts) -> tuple[Advice, ...]:
    """Return what to do, the most urgent first; one item without a command if there is nothing to do."""
    table = shlex.quote(facts.identity.path)
    found = (*_repairs(facts, table), *_services(facts, table), *_tidying(facts, table))
    if found:
        return found
    unread = "" if facts.findings is not None else "files were not verified"
    return (Advice("Nothing to do", unread),)


def is_damaged(facts: TableFacts) -> bool:
    """Return whether there are findings that readers do not just skip, or a part of the table cannot be read."""
    return bool(_grave(facts) or facts.problems)


def _grave(facts: TableFacts) -> dict[str, int]:
    """Return the number of findings of each kind that readers do not just skip."""
    counts = {} if facts.findings is None else facts.findings.counts
    return {kind: count for kind, count in counts.items() if kind not in _HARMLESS}


def _repairs(facts: TableFacts, table: str) -> Iterator[Advice]:
    wrong = _grave(facts)
    if wrong:
        parts = [format_count(count, _NOUNS.get(kind, kind.lower())) for kind, count in wrong.items()]
        yield Advice("Repair", ", ".join(parts), f"hudiformat repair {table}")
    elif facts.problems:
        yield Advice("Repair", f"a part of the table cannot be read: {facts.problems[0]}", f"hudiformat repair {table}")
    dead = [event.time for event in facts.events if event.status == FAILED]
    if dead:
        show = "shows" if len(dead) == 1 else "show"
        text = (
            f"{format_count(len(dead), 'write')} {show} no sign of life, the newest of {dead[-1]}; if nobody is writing"
        )
        yield Advice("Roll back", text, f"hudiformat rollback {table} {dead[-1]}")


def _services(facts: TableFacts, table: str) -> Iterator[Advice]:
    prospects = {one.service: one for one in facts.prospects}
    for service in facts.services:
        if service.service == Service.ROLLBACK.value or service.error:
            continue
        if service.service == COMPACTION:
            yield from _compaction(facts, service, table)
        elif service.service == CLUSTERING:
            yield from _clustering(facts, service, prospects.get(CLUSTERING), table)
        elif service.is_due:
            command = f"hudiformat maintain --only {service.service} {table}"
            yield Advice(_VERBS[service.service], service.why, command)


def _compaction(facts: TableFacts, service: ServiceState, table: str) -> Iterator[Advice]:
    totals, with_logs = facts.layout.totals, facts.layout.groups_with_logs
    is_large = totals.log_bytes > LARGE_LOGS * totals.base_bytes
    can_run = any(one.service == COMPACTION and one.groups_before for one in facts.prospects)
    if not with_logs or not (service.is_due or (is_large and can_run)):
        return
    carry = "carries" if with_logs == 1 else "carry"
    text = (
        f"{count_text(with_logs)} of {format_count(totals.file_groups, 'file group')} {carry} log files, "
        f"{size_text(totals.log_bytes)} of logs against {size_text(totals.base_bytes)} of base files"
    )
    yield Advice("Compact", text, f"hudiformat compact {table}")


def _clustering(facts: TableFacts, service: ServiceState, prospect: Prospect | None, table: str) -> Iterator[Advice]:
    if service.is_due:
        yield Advice("Cluster", service.why, f"hudiformat cluster {table}")
    elif prospect is not None and _is_worth_it(prospect):
        text = (
            f"{format_count(prospect.groups_before, 'small file group')} would become about "
            f"{count_text(prospect.groups_after)}, "
            f"of {format_count(facts.layout.totals.file_groups, 'file group')} in all"
        )
        yield Advice("Cluster", text, f"hudiformat cluster {table}")


def _is_worth_it(prospect: Prospect) -> bool:
    return prospect.groups_before >= LEAST_GROUPS and prospect.groups_after <= FEWER_GROUPS * prospect.groups_before


def _tidying(facts: TableFacts, table: str) -> Iterator[Advice]:
    counts = {} if facts.findings is None else facts.findings.counts
    loose = sum(counts.get(kind, 0) for kind in _HARMLESS[1:])
    if loose:
        text = (
            f"{format_count(loose, 'file')} that belong to no commit"
            if loose > 1
            else "a file that belongs to no commit"
        )
        yield Advice("Tidy up", text, f"hudiformat repair {table}")
