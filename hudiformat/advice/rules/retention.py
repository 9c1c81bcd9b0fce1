"""Rules about what is kept: settings of cleaning and archiving, and savepoints."""

from __future__ import annotations

from hudiformat.advice.advice import Advice, Effect, Severity
from hudiformat.advice.commands import run
from hudiformat.advice.facts import Facts
from hudiformat.naming.file_names import base_name
from hudiformat.numbers import format_count, size_text
from hudiformat.services.cleaning import plan_clean
from hudiformat.table.options.values import CleanPolicy
from hudiformat.table.state import TableState
from hudiformat.timeline.archive.archiving import ArchiveLimits, instants_to_archive
from hudiformat.timeline.timeline import Action, Timeline

KEEP_MIN, KEEP_MAX = "hoodie.keep.min.commits", "hoodie.keep.max.commits"
APART = 10
"""How far Hudi's defaults are apart: 10 commits that a clean keeps, 20 and 30 that stay on the active timeline."""
LARGE_HISTORY = 3
"""How many times the bytes that queries read are stored, where nothing is ever cleaned: after three rewrites of all."""
LONG_TIMELINE = 2
"""How many times the commits that are to stay on the active timeline are there, where nothing is ever archived."""


def advise_limits(facts: Facts) -> Advice | None:
    """Advise other limits if those of cleaning and archiving contradict each other.

    Source: HoodieWriteConfig.Builder.validate, Hudi 1.2.0.
    """
    options = facts.state.options.services
    least, most, cleaned = options.archive_min_commits, options.archive_max_commits, options.clean_commits
    by_commits = options.clean_policy is CleanPolicy.BY_COMMITS and options.clean_automatic
    if not options.archive_automatic or (least < most and not (by_commits and least <= cleaned)):
        return None
    commits = len(facts.state.timeline.completed_writes)
    new_least = cleaned + APART if by_commits and least <= cleaned else least
    new_most = new_least + APART
    properties = {KEEP_MIN: str(new_least), KEEP_MAX: str(new_most)}
    if least >= most:
        return Advice(
            severity=Severity.HIGH if commits > LONG_TIMELINE * least else Severity.MEDIUM,
            finding="contradicting-settings",
            verb="Correct the limits of archiving",
            found=f"{KEEP_MIN}={least} is not below {KEEP_MAX}={most}, so nothing is archived; "
            f"{format_count(commits, 'commit')} on the active timeline",
            reason="Hudi refuses all writes with these settings, hudiformat all archiving; each query reads the active "
            "timeline.",
            effects=(Effect("active_commits", commits, new_least if commits > new_most else commits),),
            properties=properties,
            command=run(facts, "maintain --only archive", properties),
        )
    return Advice(
        severity=Severity.MEDIUM,
        finding="contradicting-settings",
        verb="Correct the limits of archiving",
        found=f"{KEEP_MIN}={least} is not above hoodie.clean.commits.retained={cleaned}: a clean keeps the files of "
        "commits that are archived",
        reason="Incremental queries do not find the changes of archived commits, although their files are kept.",
        effects=(
            Effect(
                "active_commits",
                commits_after(commits, least, most, facts.commits),
                commits_after(commits, new_least, new_most, facts.commits),
                facts.commits,
            ),
        ),
        properties=properties,
    )


def commits_after(now: int, least: int, most: int, further: int) -> int:
    """Return how many commits are on the active timeline after so many *further* ones, with an archiving after each."""
    count = now
    for _ in range(further):
        count = least if count + 1 > most else count + 1
    return count


def advise_cleaning(facts: Facts) -> Advice | None:
    """Advise to clean a table in which nothing is cleaned by itself."""
    live, options = sum(one.size for one in facts.slices), facts.state.options.services
    if options.clean_automatic or facts.stored_bytes < LARGE_HISTORY * max(live, 1):
        return None
    deleted = bytes_to_clean(facts.state)
    if facts.stored_bytes - deleted > facts.stored_bytes / 2:
        return None
    return Advice(
        severity=Severity.MEDIUM,
        finding="cleaning-off",
        verb="Clean",
        found=f"{size_text(facts.stored_bytes)} are stored for {size_text(live)} that queries read, and "
        "hoodie.clean.automatic is false",
        reason="Older versions of files stay on storage until a clean deletes them.",
        effects=(Effect("stored_bytes", facts.stored_bytes, facts.stored_bytes - deleted),),
        properties={"hoodie.clean.automatic": "true"},
        command=run(facts, "clean"),
    )


def advise_archiving(facts: Facts) -> Advice | None:
    """Advise to archive a table in which nothing is archived by itself."""
    options, commits = facts.state.options.services, len(facts.state.timeline.completed_writes)
    least, most = options.archive_min_commits, options.archive_max_commits
    if options.archive_automatic or least >= most or commits <= LONG_TIMELINE * most:
        return None
    archived = archivable_writes(facts.state, ArchiveLimits(most, least, options.compact_delta_commits))
    if not archived:
        return None
    return Advice(
        severity=Severity.MEDIUM,
        finding="archiving-off",
        verb="Archive",
        found=f"{format_count(commits, 'commit')} are on the active timeline, more than {most} ({KEEP_MAX}), and "
        "hoodie.archive.automatic is false",
        reason="Each query and each write reads the active timeline.",
        effects=(Effect("active_commits", commits, commits - archived),),
        properties={"hoodie.archive.automatic": "true"},
        command=run(facts, "maintain --only archive"),
    )


def advise_savepoints(facts: Facts) -> Advice | None:
    """Advise to delete savepoints that hold back archiving, with the bytes that cleaning could delete then."""
    state, options = facts.state, facts.state.options.services
    saved = [one.time for one in state.timeline.completed if one.action is Action.SAVEPOINT]
    commits, least, most = (
        len(state.timeline.completed_writes),
        options.archive_min_commits,
        options.archive_max_commits,
    )
    if not saved or least >= most or commits <= most:
        return None
    held = ArchiveLimits(most, least, options.compact_delta_commits)
    free = ArchiveLimits(most, least, options.compact_delta_commits, beyond_savepoint=True)
    gain = archivable_writes(state, free) - archivable_writes(state, held)
    if gain <= 0:
        return None
    archived = min(archivable_writes(state, free) + len(saved), commits - least)
    without = TableState(
        state.context,
        state.config,
        Timeline.of([one for one in state.timeline.instants if one.action is not Action.SAVEPOINT]),
    )
    left = facts.stored_bytes - bytes_to_clean(without)
    deletions = [f"hudiformat savepoint --delete {facts.table} {time}" for time in saved]
    return Advice(
        severity=Severity.HIGH if commits > LONG_TIMELINE * most else Severity.MEDIUM,
        finding="savepoints-hold-archiving",
        verb="Delete savepoints that nobody needs",
        found=f"{format_count(len(saved), 'savepoint')}, the oldest of {saved[0]}, "
        f"{'holds' if len(saved) == 1 else 'hold'} {format_count(commits, 'commit')} on the active timeline, more than "
        f"{most} ({KEEP_MAX})",
        reason="No commit after the oldest savepoint is archived, and no clean deletes the files of savepoints.",
        effects=(
            Effect("active_commits", commits, commits - archived),
            Effect("stored_bytes", facts.stored_bytes, left),
        ),
        command=" && ".join([*deletions, run(facts, "clean"), run(facts, "maintain --only archive")]),
    )


def archivable_writes(state: TableState, limits: ArchiveLimits) -> int:
    """Return how many commits archiving would take off the active timeline."""
    return sum(one.action.is_write for one in instants_to_archive(state.storage, state.config, limits))


def bytes_to_clean(state: TableState) -> int:
    """Return the bytes of the files that a clean would delete."""
    plan = plan_clean(state)
    planned = {} if plan is None else plan.file_paths_to_be_deleted_per_partition or {}
    names = {path: {base_name(one.file_path or "") for one in files} for path, files in planned.items()}
    return sum(
        file.size for path, files in state.files() if path in names for file in files if file.name in names[path]
    )
