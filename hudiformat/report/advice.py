"""What to do about a table, the most urgent first; the first advice is the headline of the report.

1. Repair files and instants that are damaged, missing or contradictory, which only ``verify`` finds.
2. What ``advise`` says of the table.
3. Delete files that belong to no commit.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from hudiformat.advice.advice import Advice, Severity
from hudiformat.check.verify.finding import TableFindingKind
from hudiformat.numbers import format_count
from hudiformat.report.facts import TableFacts

_HARMLESS = (TableFindingKind.UNCOMMITTED.name, TableFindingKind.ORPHAN.name, TableFindingKind.LEFTOVER.name)
"""Kinds of findings that readers skip."""
_NOUNS = {
    TableFindingKind.DAMAGED.name: "damaged file",
    TableFindingKind.MISSING.name: "missing file",
    TableFindingKind.PARTITION.name: "hidden partition",
}


def advice_on(facts: TableFacts, advised: Sequence[Advice]) -> tuple[Advice, ...]:
    """Return what to do, the most urgent first; *advised* is what ``advise`` says of the table."""
    table = shlex.quote(facts.identity.path)
    return (*_repairs(facts, table), *advised, *_tidying(facts, table))


def is_damaged(facts: TableFacts) -> bool:
    """Return whether there are findings that readers do not just skip, or a part of the table cannot be read."""
    return bool(_grave(facts) or facts.problems)


def _grave(facts: TableFacts) -> dict[str, int]:
    """Return the number of findings of each kind that readers do not just skip."""
    counts = {} if facts.findings is None else facts.findings.counts
    return {kind: count for kind, count in counts.items() if kind not in _HARMLESS}


def _repairs(facts: TableFacts, table: str) -> Iterator[Advice]:
    wrong = _grave(facts)
    if not wrong and not facts.problems:
        return
    parts = [format_count(count, _NOUNS.get(kind, kind.lower())) for kind, count in wrong.items()]
    yield Advice(
        severity=Severity.HIGH,
        finding="damage",
        verb="Repair",
        found=", ".join(parts) or f"a part of the table cannot be read: {facts.problems[0]}",
        reason="Queries fail, or lack rows.",
        command=f"hudiformat repair {table}",
    )


def _tidying(facts: TableFacts, table: str) -> Iterator[Advice]:
    counts = {} if facts.findings is None else facts.findings.counts
    loose = sum(counts.get(kind, 0) for kind in _HARMLESS[1:])
    if loose:
        yield Advice(
            severity=Severity.LOW,
            finding="loose-files",
            verb="Tidy up",
            found=f"{format_count(loose, 'file')} that belong to no commit"
            if loose > 1
            else "a file that belongs to no commit",
            reason="No query reads them, and no clean deletes them.",
            command=f"hudiformat repair {table}",
        )
