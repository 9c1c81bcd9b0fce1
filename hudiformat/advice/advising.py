"""Advise on a table: ask all rules, and order what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hudiformat.advice.advice import Advice, AdviceList
from hudiformat.advice.facts import NEXT_COMMITS, Facts, gather_facts
from hudiformat.advice.rules.buckets import advise_buckets
from hudiformat.advice.rules.partitions import advise_partitions
from hudiformat.advice.rules.retention import advise_archiving, advise_cleaning, advise_limits, advise_savepoints
from hudiformat.advice.rules.rewrites import advise_merge_on_read
from hudiformat.advice.rules.searching import advise_settings, why_not_searched
from hudiformat.advice.rules.services import (
    advise_compaction,
    advise_pending_clustering,
    advise_pending_compaction,
    advise_rollback,
    advise_services,
)
from hudiformat.advice.rules.small_files import advise_clustering, advise_record_size
from hudiformat.errors import ArgumentError
from hudiformat.numbers import format_count
from hudiformat.table.state import TableContext

MOST_ADVICE = 5
_MOST_COMMITS = 100_000

RULES: Sequence[Callable[[Facts], Advice | None]] = (
    advise_rollback,
    advise_pending_compaction,
    advise_pending_clustering,
    advise_limits,
    advise_savepoints,
    advise_buckets,
    advise_partitions,
    advise_clustering,
    advise_record_size,
    advise_merge_on_read,
    advise_compaction,
    advise_cleaning,
    advise_archiving,
)
"""The rules, each for one kind of finding; of equally grave findings with equal effects the first comes first."""


def advise_table(context: TableContext, *, commits: int = NEXT_COMMITS) -> AdviceList:
    """Return the advice on a table, at most five, the most important first; nothing is changed.

    Effects are computed for *commits* further commits like those on the active timeline.

    Raises:
        ArgumentError: *commits* is not 1 to 100,000.
        CorruptTableError, StorageError: a file of the timeline cannot be read, or a folder not be listed.
    """
    if not 1 <= commits <= _MOST_COMMITS:
        raise ArgumentError(f"commits: expected 1 to {_MOST_COMMITS:,}, found {commits}", argument="commits")
    return advise_on(gather_facts(context.state(), commits=commits))


def advise_on(facts: Facts) -> AdviceList:
    """Return the advice on the table that *facts* are of."""
    found = [one for rule in RULES if (one := rule(facts)) is not None]
    unexamined = list(_not_examined(facts))
    if why := why_not_searched(facts):
        unexamined.append(why)
    elif (searched := advise_settings(facts)) is not None:
        known = {key for one in found for key in one.properties}
        found += [] if known & set(searched.properties) else [searched]
    found += advise_services(facts)
    found.sort(key=lambda one: one.order)
    if len(found) > MOST_ADVICE:
        unexamined.append(f"{format_count(len(found) - MOST_ADVICE, 'finding')} of less effect, not shown")
    return AdviceList(found[:MOST_ADVICE], not_examined=unexamined)


def _not_examined(facts: Facts) -> Iterator[str]:
    yield "the contents of files: hudiformat verify reads them"
    state = facts.state
    if facts.has_buckets and state.options.bucketing.rules:
        yield "the numbers of buckets: a rule gives each partition its own"
    if state.storage.list(state.config.history_folder):
        yield f"archived commits, before {state.timeline.first_active or 'now'}"
