"""Search for better settings: a small grid of them is played, and the best is advised if its effect is large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from hudiformat.advice.advice import Advice, Effect, Severity
from hudiformat.advice.facts import Facts
from hudiformat.advice.playing import MOST_GROUPS, Player
from hudiformat.advice.rules.buckets import LEAST_COMMITS
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.numbers import count_text, size_text
from hudiformat.simulation.result import Simulation
from hudiformat.sizing.record_size import SizingOptions
from hudiformat.table.options.values import ServiceOptions
from hudiformat.timeline.timeline import Action

HALF, TWICE, SAME = 0.5, 2.0, 1.25
"""A change is advised if it halves the files that queries read, and at most doubles the bytes written; or if it halves
the bytes written, and queries read at most a quarter more files, which nobody notices, nor few."""
NEARLY = 1.25
"""Of settings that are nearly as good as the best, those are advised that change the fewest keys."""
LEAST_FILES = 20
"""With fewer files to read, a query does not notice how many there are."""
_DELTAS = "hoodie.compact.inline.max.delta.commits"
_LIMIT, _TARGET = "hoodie.parquet.small.file.limit", "hoodie.parquet.max.file.size"
_PLAN = "hoodie.clustering.plan.strategy."


@dataclass(frozen=True, slots=True)
class _Costs:
    """Bytes that are written, and files that a query reads, on average over the commits and at their end."""

    written: int
    read: float
    read_at_end: int

    @classmethod
    def of(cls, found: Simulation) -> _Costs:
        layout = found.layout
        files = [
            base + log for base, log in zip(*(layout[n].to_pylist() for n in ("base_files", "log_files")), strict=True)
        ]
        return cls(int(found.summary["written_bytes"]), sum(files) / len(files), int(found.summary["read_files"]))

    def is_far_better_than(self, now: _Costs, *, file_size: int) -> bool:
        fewer = now.read >= LEAST_FILES and max(self.read / now.read, self.read_at_end / now.read_at_end) <= HALF
        less = self.written <= HALF * now.written and self.read <= max(SAME * now.read, LEAST_FILES)
        less = less and now.written - self.written >= file_size
        return (fewer and self.written <= TWICE * now.written) or less

    def share_of(self, now: _Costs) -> float:
        return self.written / max(now.written, 1) * self.read / max(now.read, 1)


def why_not_searched(facts: Facts) -> str:
    """Return why no settings are searched; an empty text if they are."""
    if facts.workload is None or not facts.knows_sizes:
        return "other settings: no commit on the active timeline says how large a row is"
    if len(facts.history.rows) < LEAST_COMMITS:
        return f"other settings: fewer than {LEAST_COMMITS} commits on the active timeline say what comes to the table"
    if facts.unnamed_buckets:
        named = " ".join(f"-o {one}" for one in facts.unnamed_buckets)
        return f"other settings: the table has buckets; name the writers' index, {named}"
    if len(facts.slices) > MOST_GROUPS:
        return f"other settings: more than {count_text(MOST_GROUPS)} file groups; hudiformat simulate --vary tries some"
    try:
        Player(facts, facts.workload).settings()
    except UnsupportedFeatureError as error:
        return f"other settings: {error}"
    return ""


def advise_settings(facts: Facts) -> Advice | None:
    """Advise the settings of the grid that are best, if they are far better than those of the table."""
    assert facts.workload is not None  # noqa: S101 - why_not_searched has said so
    player = Player(facts, facts.workload)
    try:
        now = _Costs.of(player.play())
        played = [(options, _Costs.of(player.play(options))) for options in grid(facts)]
    except UnsupportedFeatureError:  # a clustering of too many equal file groups
        return None
    better = [(options, costs) for options, costs in played if costs.is_far_better_than(now, file_size=facts.target)]
    if not better:
        return None
    best = min(costs.share_of(now) for _, costs in better)
    nearly = [(options, costs) for options, costs in better if costs.share_of(now) <= NEARLY * best]
    options, then = min(nearly, key=lambda one: (len(one[0]), one[1].share_of(now)))
    written = Effect("written_bytes", now.written, then.written, facts.commits)
    read = Effect("files_read", now.read_at_end, then.read_at_end, facts.commits)
    is_read = then.read <= HALF * now.read
    return Advice(
        severity=Severity.MEDIUM,
        finding="better-settings",
        verb=f"Set {', '.join(f'{key}={value}' for key, value in options.items())}",
        found=f"{count_text(facts.commits)} more commits write {size_text(now.written)} and leave "
        f"{count_text(now.read_at_end)} files to read; with the change, {size_text(then.written)} and "
        f"{count_text(then.read_at_end)}",
        reason="It is the best of the settings that were played on the table, by bytes written and files read.",
        effects=(read, written) if is_read else (written, read),
        properties=options,
    )


def _is_clustered(facts: Facts) -> bool:
    """Return whether somebody clusters the table beside its writers."""
    state = facts.state
    done = [one for one in state.timeline.completed if one.action is Action.REPLACE_COMMIT]
    return bool(state.in_clustering) or any(state.metadata(one).operation_type == "CLUSTER" for one in done)


def grid(facts: Facts) -> Iterator[dict[str, str]]:
    """Yield the changes of settings that are played, those of the fewest keys among them first.

    They are other small file limits, Hudi's file size if the table's is smaller, Hudi's default of commits between
    compactions, and clusterings.
    """
    options, hudi = facts.state.options, SizingOptions()
    limits: list[Mapping[str, str]] = [{}]
    targets: list[Mapping[str, str]] = [{}]
    if not facts.has_buckets:
        others = (limit for limit in (0, facts.default_small) if limit != options.sizing.small_file_limit)
        limits += ({_LIMIT: str(limit)} for limit in others)
        if facts.target < hudi.max_file_size:
            targets.append({_TARGET: str(hudi.max_file_size), _LIMIT: str(hudi.small_file_limit)})
    services: list[Mapping[str, str]] = [{}]
    if facts.is_mor:
        usual = ServiceOptions().compact_delta_commits
        services += [{_DELTAS: str(usual)}] if options.services.compact_delta_commits != usual else []
    clusterings: list[Mapping[str, str]] = [{}]
    if not facts.has_buckets and not options.clustering.inline and not _is_clustered(facts):
        sizes = {f"{_PLAN}small.file.limit": str(facts.small), f"{_PLAN}target.file.max.bytes": str(facts.target)}
        clusterings.append({"hoodie.clustering.inline": "true", **sizes})
    for chosen in product(limits, targets, services, clusterings):
        found = {key: value for one in chosen for key, value in one.items()}
        if found and not (chosen[0] and chosen[1]):
            yield found
