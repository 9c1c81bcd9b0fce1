"""The state of a simulated table between two commits: partitions, lanes, file groups, rates of updates, counts."""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.slices import FileSlice
from hudiformat.simulation.groups import FRACTION, HITS, Groups, RowBytes, fixed_point
from hudiformat.simulation.settings import Engine, Settings, Writing
from hudiformat.simulation.start import Start
from hudiformat.simulation.totals import Sample, Totals
from hudiformat.simulation.workload import Spread, UpdateSpread, Workload
from hudiformat.sizing.flink import FlinkAssigner, Profile, Task
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.sizing.record_size import RecordSize, record_sizes
from hudiformat.sizing.small_files import GroupVerdict, Kind, Verdict, flink_small_files, spark_small_files
from hudiformat.sizing.spark import room_for_records, rows_of_file

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

NOBODY = -1
FAR = 1 << 62
CLASSES = tuple(1 << (20 + power) for power in range(11))
"""The upper bounds of the size classes of base files, in bytes: 1 MiB to 1 GiB."""
_EPOCH, _LONGEST_EPOCH, _LOOK = 16, 4096, 64
"""Updates are spread anew when the rows of the table, or the updates of a commit, have changed by one of 16 parts."""
_LANE_COLUMNS = (
    "partition",
    "task",
    "weight",
    "phase",
    "origin",
    "target",
    "spare",
    "following",
    "hidden",
    "unsettled",
)


def expected(hits: Floats) -> Numbers:
    """Return the probability that something happens that is expected *hits* times, times ``2 ** HITS``."""
    found: Numbers = np.rint(-np.expm1(-hits) * (1 << HITS)).astype(np.int64)
    return found


@dataclass(frozen=True, slots=True)
class Rates:
    """What the updates of each commit of an epoch do, in expectation; arrays have an item per file group.

    ``hits`` are expected updates of each file group, and ``share`` the probability of at least one, both times
    ``2 ** HITS``; ``updated`` are the bytes that they add to its log files, times ``2 ** FRACTION``.  The sums are over
    file groups that are no targets; of files, times ``2 ** FRACTION``.
    """

    hits: Numbers
    share: Numbers
    updated: Numbers
    is_target: Flags
    rewritten_bytes: int = 0
    rewritten_rows: int = 0
    rewritten_files: int = 0
    logged_bytes: int = 0
    logged_files: int = 0

    @classmethod
    def none(cls) -> Rates:
        """Return the rates without updates."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, np.zeros(0, bool))

    @property
    def is_any(self) -> bool:
        """Whether there are updates."""
        return len(self.hits) > 0

    @property
    def hits_of_others(self) -> Numbers:
        """The hits of the file groups that are no targets."""
        return np.where(self.is_target, 0, self.hits)

    def in_bucket(self, target: Numbers) -> Floats:
        """Return how many updates are expected in each bucket of lanes, by the items of their buckets."""
        if not self.is_any:
            return np.zeros(len(target))
        return np.where(target == NOBODY, 0, self.hits[np.maximum(target, 0)]) / float(1 << HITS)


@dataclass(frozen=True, slots=True)
class Merged:
    """What a compaction writes, and what it makes old; ``files`` times ``2 ** FRACTION``."""

    written: int = 0
    rows: int = 0
    old: int = 0
    files: int = 0


@dataclass(slots=True)
class _LaneState:
    """What only the rules need of a lane: its open file groups, and Flink's assigner between commits."""

    open_groups: list[int] = field(default_factory=list)
    assigner: FlinkAssigner | None = None


class Board:
    """A table that a workload is played on."""

    weight_bits = 20
    """The bits behind the point of the share of a lane."""

    def __init__(
        self, load: Workload, settings: Settings, *, seed: int, samples: int, start: Start | None = None
    ) -> None:
        self.load, self.settings = load, settings
        self.sizing, self.kind = settings.options.sizing, settings.kind
        self._random = np.random.default_rng(seed)
        rows = load.rows_by_commit()
        self.updates = load.updates_by_commit(rows)
        self.new = np.concatenate([[0], np.cumsum(rows - self.updates)])
        """The new rows of all commits before each."""
        self._days = load.days() if start is None and load.partitions.spread == Spread.BY_DAY else None
        self.row = RowBytes(
            base=fixed_point(load.row_bytes, FRACTION),
            log=fixed_point(load.logged_row_bytes, FRACTION),
            file=load.file_bytes,
            block=load.block_bytes,
        )
        self.groups, self.totals = Groups(self.row), Totals.of(load.commits)
        self.totals["rows"][:], self.totals["updates"][:] = rows, self.updates
        self.lanes: dict[str, Numbers] = {name: np.zeros(0, np.int64) for name in _LANE_COLUMNS}
        self.active = np.zeros(0, np.int64)
        """The lanes that get new rows."""
        self.paths: list[str] = []
        self.rates = Rates.none()
        self.end_of_epoch = self.deltas = self.since_clustering = 0
        self._states: dict[int, _LaneState] = defaultdict(_LaneState)
        self._equal: dict[tuple[int, int, bool], int] = {}
        # The newest commits, for the estimate of the record size: bytes and records of each.
        self._recent: list[tuple[int, int]] = []
        self.last_compaction = -1
        self._samples = np.unique(np.linspace(0, load.commits - 1, samples).astype(np.int64))
        if start is not None:
            self._begin_with(start)
        elif self._days is None:
            count = load.partitions.count
            paths = [""] if count == 1 else [f"p={number:05}" for number in range(count)]
            self._open_lanes(paths, load.partitions.shares().tolist())

    # What the settings say.

    @property
    def logs_new_rows(self) -> bool:
        """Whether new rows go to log files."""
        return self.kind is Kind.MOR and self.settings.writing is not Writing.BULK_INSERT

    @property
    def opens_always(self) -> bool:
        """Whether new rows go to new file groups, whatever there is."""
        return not self.settings.has_buckets and not self.settings.fills_small_files

    @property
    def buckets(self) -> int:
        """The buckets of a partition."""
        return self.settings.options.num_buckets

    @property
    def newest_read(self) -> int | None:
        """How many of the newest commits the estimate of the record size reads; None for all."""
        return None if self.settings.uses_flink else max(self.sizing.estimation_commits, 0)

    @property
    def most_rows_of_file(self) -> int:
        """With how many rows a new file is closed, and the next one begun; Hudi's Flink writer never does so."""
        if self.settings.engine is Engine.FLINK:
            return FAR
        if self.logs_new_rows:
            most = self.sizing.largest_log_group
            return FAR if most == float("inf") else max(int(most * (1 << FRACTION)) // self.row.log, 1)
        return max((self.sizing.largest_new_file << FRACTION) // self.row.base, 1)

    def rows_per_group(self, averages: Numbers) -> Numbers:
        """Return how many rows a new file group takes, by the average record size before each commit."""
        if self.settings.uses_flink or not self.sizing.auto_split:
            return np.full(len(averages), max(self.sizing.insert_split_size, 1), np.int64)
        return rows_of_file(averages, self.sizing)

    # Partitions and lanes.

    def _begin_with(self, start: Start) -> None:
        """Take over the partitions, file groups and counts of a table."""
        self._open_lanes(list(start.paths), start.shares.tolist())
        self._recent = list(start.recent)
        self.deltas, self.since_clustering = start.deltas, start.since_clustering
        number_of = {path: number for number, path in enumerate(start.paths)}
        parts, tasks = self.settings.lanes, Parallelism.of(max(self.settings.lanes, 1))
        for one in start.groups:
            lane = number_of[one.path] * parts + (tasks.owner(one.file_id) if parts > 1 else 0)
            values = {"lane": lane, "fixed": one.base_bytes, "given": one.rows, "has_base": int(one.base_bytes > 0)}
            logs = {"updated": one.log_bytes << FRACTION, "log_files": one.log_files}
            if self.settings.has_buckets:
                self._add_to_buckets(lane, {**values, **logs})
                continue
            number = self.groups.add(one.file_id, **values, **logs)
            self._states[lane].open_groups.append(number)
        if not self.settings.has_buckets:
            average = RecordSize(self.sizing.record_size_estimate).size
            for lane in range(len(self.lanes["target"])):
                self.choose_target(lane, average)

    def _add_to_buckets(self, lane: int, values: dict[str, int]) -> None:
        item = int(self.lanes["target"][lane])
        for name, value in values.items():
            if name not in ("lane", "has_base"):
                self.groups[name][item] += value
        self.groups["has_base"][item] |= values["has_base"]

    def _open_lanes(self, paths: list[str], shares: list[float]) -> None:
        parts, first = self.settings.lanes, len(self.lanes["target"])
        count = len(paths) * parts
        is_single = count == 1 and self._days is None
        values = {
            "partition": np.repeat(np.arange(len(paths)) + len(self.paths), parts),
            "task": np.tile(np.arange(parts), len(paths)),
            "weight": np.repeat([fixed_point(share / parts, self.weight_bits) for share in shares], parts),
            "phase": np.zeros(1, np.int64) if is_single else self._random.integers(0, 1 << self.weight_bits, count),
            "target": np.full(count, NOBODY),
        }
        zeros = np.zeros(count, np.int64)
        self.lanes = {
            name: np.concatenate([column, values.get(name, zeros).astype(np.int64)])
            for name, column in self.lanes.items()
        }
        self.paths += paths
        if self.settings.has_buckets:
            for lane in range(first, first + count):
                is_cow = self.kind is Kind.COW
                self.lanes["target"][lane] = self.groups.add(
                    None, lane=lane, count=self.buckets, fixed=self.buckets * self.row.file * int(is_cow)
                )
        self._find_active()

    def _find_active(self) -> None:
        self.active = np.flatnonzero(self.lanes["weight"] > 0)
        self.end_of_epoch = 0

    def begin_commit(self, commit: int) -> None:
        """Open the partition of the commit's day, if it is a new one, and spread the updates anew, if it is time."""
        while self._days is not None and self._days[commit] >= len(self.paths):
            self._begin_day(len(self.paths), commit)
        if commit >= self.end_of_epoch:
            self._begin_epoch(commit)

    def _begin_day(self, day: int, commit: int) -> None:
        """Open the partition of a day, and spread the new rows over it and the days before."""
        self._open_lanes([f"day={day:05}"], [0.0])
        lanes, partitions, parts = self.lanes, self.load.partitions, self.settings.lanes
        late, days = partitions.late if day else 0.0, min(day, partitions.late_days)
        age = day - lanes["partition"]
        shares = np.where(age == 0, 1 - late, np.where(age <= days, late / max(days, 1), 0)) / parts
        counted = (self.new[commit] - lanes["origin"]) * lanes["weight"] + lanes["phase"]
        lanes["phase"] = counted & ((1 << self.weight_bits) - 1)
        lanes["origin"][:] = self.new[commit]
        lanes["weight"] = np.rint(shares * (1 << self.weight_bits)).astype(np.int64)
        self._find_active()

    def end_of_day(self, commit: int) -> int:
        """Return the first commit after the day of *commit*."""
        return FAR if self._days is None else int(np.searchsorted(self._days, self._days[commit], side="right"))

    # Epochs of updates.

    def end_epoch(self) -> None:
        """Spread the updates anew before the next commit, because file groups have changed."""
        self.end_of_epoch = 0

    def _begin_epoch(self, commit: int) -> None:
        """Set the rates of updates from *commit* on, and how long they hold."""
        if not self.load.updates:
            self.end_of_epoch = FAR
            return
        updates, self.end_of_epoch = self._updates_from(commit)
        groups, rows = self.groups, self.groups.all_rows()
        if self.load.update_spread == UpdateSpread.NEWEST and groups.length:
            rows = np.where(self.lanes["weight"][groups["lane"]] > 0, rows, 0)
        total = int(rows.sum())
        grown = int(self.new[commit]) + max(total // _EPOCH, 1)
        self.end_of_epoch = max(min(self.end_of_epoch, int(np.searchsorted(self.new, grown))), commit + 1)
        self.rates = Rates.none() if not total or not updates else self._rates(updates, rows / total)

    def _updates_from(self, commit: int) -> tuple[float, int]:
        """Return the updates of a commit, and the first later commit that has others."""
        ahead = self.updates[commit : commit + _LONGEST_EPOCH]
        for updates in (float(ahead[:_LOOK].mean()), float(ahead[0])):
            other = np.abs(ahead - updates) > max(updates / _EPOCH, 1.5)
            if not other[0]:
                break
        return updates, commit + (int(np.argmax(other)) if other.any() else len(ahead))

    def _rates(self, updates: float, shares: Floats) -> Rates:
        groups = self.groups
        hits = updates * shares / groups["count"]
        probable = -np.expm1(-hits)
        is_target = np.zeros(groups.length, bool)
        targets = self.lanes["target"][self.active]
        is_target[targets[targets != NOBODY]] = True
        # Updates of a target whose base file is rewritten anyway go there.
        is_other = ~is_target
        logs = is_other if self.kind is Kind.MOR_BLIND else np.ones_like(is_other)
        updated = np.rint(updates * shares * self.row.log).astype(np.int64)
        counted = probable * groups["count"]
        files = float(counted[is_other].sum()) * (1 << FRACTION)
        return Rates(
            hits=np.rint(hits * (1 << HITS)).astype(np.int64),
            share=np.rint(probable * (1 << HITS)).astype(np.int64),
            updated=updated,
            is_target=is_target,
            rewritten_bytes=round(float((probable * groups.base_bytes())[is_other].sum())),
            rewritten_rows=round(float((probable * groups.all_rows())[is_other].sum())),
            rewritten_files=round(files),
            logged_bytes=round(float(updated[logs].sum()) / (1 << FRACTION) + files / (1 << FRACTION) * self.row.block),
            logged_files=round(files),
        )

    # Services.

    @property
    def compactions_are_chosen(self) -> bool:
        """Whether a compaction may leave file groups out, so that each has to be planned."""
        services = self.settings.options.services
        if not self.settings.compacts:
            return False
        if services.compaction_log_size or services.compaction_log_files > 1:
            return True
        total = int(self.groups.base_bytes().sum() + self.groups.log_bytes().sum())
        most = 2 * (total + int(self.row.of_base(self.new[-1:])[0] + self.row.of_log(self.new[-1:])[0]))
        return most >= services.compaction_target_io_mb << 20

    @property
    def compactions_end_windows(self) -> bool:
        """Whether no commit is played at once with one before a compaction."""
        return self.compactions_are_chosen or (self.opens_always and self.settings.compacts)

    @property
    def until_compaction(self) -> int:
        """How many commits it takes until a compaction is due."""
        return max(self.settings.options.services.compact_delta_commits - self.deltas, 1)

    @property
    def may_cluster(self) -> bool:
        """Whether a clustering runs after a commit when it is due."""
        return self.settings.options.clustering.inline

    @property
    def until_clustering(self) -> int:
        """How many commits it takes until a clustering is due; far, if no partition has anything to cluster."""
        if not self.may_cluster or not (self.opens_always or self.has_groups_to_cluster()):
            return FAR
        left = self.settings.options.clustering.inline_commits - self.since_clustering
        return left // 2 if self.settings.compacts else left  # each commit may bring a compaction, a commit as well

    def has_groups_to_cluster(self) -> bool:
        """Return whether a partition has two small file groups, or one that may have log files."""
        groups, options = self.groups, self.settings.options.clustering
        if not groups.length:
            return False
        sizes = np.where(groups["has_base"] > 0, groups.base_bytes() // groups["count"], 0)
        is_small = sizes < options.small_file_limit
        gets_logs = self.kind is not Kind.COW and (self.logs_new_rows or bool(self.load.updates))
        if is_small.any() and gets_logs:
            return True
        partition = self.lanes["partition"][groups["lane"]]
        return bool((np.bincount(partition[is_small], groups["count"][is_small]) > 1).any())

    def due(self, width: int) -> Flags:
        """Return after which of the next *width* commits a compaction of all log files runs."""
        if not self.settings.compacts or self.compactions_end_windows:
            return np.zeros(width, bool)
        every = self.settings.options.services.compact_delta_commits
        found: Flags = (self.deltas + 1 + np.arange(width)) % every == 0
        return found

    def compaction_of_others(self, commits: int) -> tuple[Merged, Merged]:
        """Return what a compaction after so many commits does to file groups that are no targets, and the next ones."""
        groups, rates = self.groups, self.rates
        if not groups.length:
            return Merged(), Merged()
        is_target = np.zeros(groups.length, bool)
        targets = self.lanes["target"][self.active]
        is_target[targets[targets != NOBODY]] = True
        other = ~is_target
        hits, updated = np.zeros(groups.length, np.int64), np.zeros(groups.length, np.int64)
        if rates.is_any:
            known = slice(0, len(rates.hits))
            hits[known], updated[known] = rates.hits_of_others, self.updated_of_others()
        after = groups["fixed"] + np.where(groups["has_base"] == 0, groups["count"] * self.row.file, 0)
        after = after + self.row.of_base(groups["rows"] + groups["log_rows"])
        has_rows = (groups["log_rows"] > 0) | (groups["log_files"] > 0)
        first = np.where(has_rows, 1.0, -np.expm1(-(groups["hits"] + hits * commits) / float(1 << HITS)))
        logs = groups["log_rows"] * self.row.log + groups["updated"] + updated * commits >> FRACTION
        before = np.where(groups["has_base"] > 0, groups.base_bytes(), 0)
        every = self.settings.options.services.compact_delta_commits
        cycle = -np.expm1(-hits * every / float(1 << HITS))
        return (
            self._merged(other, first, before, after, logs),
            self._merged(other, cycle, after, after, updated * every >> FRACTION),
        )

    def _merged(self, other: Flags, share: Floats, before: Numbers, after: Numbers, logs: Numbers) -> Merged:
        share = np.where(other, share, 0)
        return Merged(
            written=round(float((share * after).sum())),
            rows=round(float((share * self.groups.all_rows()).sum())),
            old=round(float((share * before).sum())) + int(logs[other].sum()),
            files=round(float((share * self.groups["count"]).sum()) * (1 << FRACTION)),
        )

    def updated_of_others(self) -> Numbers:
        """Return the bytes that the updates of a commit add to log files, times ``2 ** FRACTION``."""
        if self.kind is Kind.MOR_BLIND:
            return np.where(self.rates.is_target, 0, self.rates.updated)
        return self.rates.updated

    def logs_since(self, commit: int) -> int:
        """Return how many log files a compaction after *commit* merges, times ``2 ** FRACTION``."""
        found = int(self.totals["log_files"][self.last_compaction + 1 : commit + 1].sum())
        self.last_compaction = commit
        return found

    # The estimate of the record size.

    def recent_columns(self) -> tuple[Numbers, Numbers]:
        """Return the bytes and the records of the newest commits."""
        found = np.array(self._recent, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def remember(
        self, sizes: Numbers, records: Numbers, due: Numbers, compacted: tuple[Numbers, Numbers] | None
    ) -> None:
        """Count commits, and remember what they and the compactions after them wrote; the last ones are enough."""
        found = list(zip(range(len(sizes)), sizes.tolist(), records.tolist(), strict=True))
        if compacted is not None:
            merged = zip(due.tolist(), compacted[0].tolist(), compacted[1].tolist(), strict=True)
            found = sorted([*found, *merged], key=lambda one: one[0])  # a compaction comes after its delta commit
        self._recent = self._shorten([*self._recent, *((size, rows) for _, size, rows in found)])
        self.deltas = len(sizes) - 1 - int(due[-1]) if len(due) else self.deltas + len(sizes)
        self.since_clustering += len(sizes) + len(due)

    def remember_service(self, size: int, records: int) -> None:
        """Remember what a compaction wrote that was played by itself."""
        self._recent = self._shorten([*self._recent, (size, records)])

    @property
    def _most_remembered(self) -> int:
        return max(self.sizing.estimation_commits, 1)

    def _shorten(self, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if not self.settings.uses_flink:
            return found[-self._most_remembered :]
        used = [one for one in found if one[1] > 0 and one[0] > self.sizing.smallest_measured_commit]
        return used[-1:]

    # File groups.

    def new_id(self) -> str:
        """Return a file id, by the seed."""
        return f"{uuid.UUID(bytes=self._random.bytes(16), version=4)}-0"

    def add_group(self, lane: int, rows: int) -> int:
        """Add a file group with new rows, and return its number."""
        parts = self.settings.lanes
        file_id = self.new_id()
        if parts > 1:
            task, all_tasks = int(self.lanes["task"][lane]), Parallelism.of(parts)
            while all_tasks.owner(file_id) != task:
                file_id = self.new_id()
        if self.logs_new_rows:
            number = self.groups.add(file_id, lane=lane, log_rows=rows, log_files=1)
        else:
            number = self.groups.add(file_id, lane=lane, rows=rows, has_base=1, fixed=self.row.file)
        self._states[lane].open_groups.append(number)
        return number

    def add_equal(self, lane: int, rows: int, times: int, files: int) -> None:
        """Add file groups that no rule tells apart: of *times* commits, *files* of each, with *rows* together."""
        key = (lane, rows, self.logs_new_rows)
        if key not in self._equal:
            self._equal[key] = self.groups.add(None, lane=lane, count=0)
        at, groups = self._equal[key], self.groups
        groups["count"][at] += times * files
        if self.logs_new_rows:
            groups["log_rows"][at] += times * rows
            groups["log_files"][at] += times * files
        else:
            groups["has_base"][at] = 1
            groups["fixed"][at] += times * files * self.row.file
            groups["rows"][at] += times * rows

    def add_clustered(self, lane: int, rows: int, given: int, fixed: int) -> int:
        """Add a file group that a clustering writes, and return its number."""
        number = self.groups.add(self.new_id(), lane=lane, rows=rows, given=given, fixed=fixed, has_base=1)
        self._states[lane].open_groups.append(number)
        return number

    def tell_apart(self, most: int) -> None:
        """Make an item for each of the file groups that were one item because no rule told them apart.

        Raises:
            UnsupportedFeatureError: there are more than *most*.
        """
        groups = self.groups
        several = np.flatnonzero(groups["count"] > 1).tolist()
        wanted = int(groups["count"][several].sum())
        if wanted > most:
            raise UnsupportedFeatureError(
                f"cannot simulate the clustering: expected at most {most:,} small file groups, found {wanted:,}; "
                "set hoodie.clustering.inline.max.commits lower, or simulate fewer commits",
                feature="simulation of a clustering of so many file groups",
            )
        names = ("fixed", "rows", "given", "log_rows", "log_files", "updated")
        for at in [*several, *self._equal.values()]:
            count = int(groups["count"][at])
            if count == 1 and at not in groups.ids:
                groups.ids[at] = self.new_id()
            for number in range(1, count):
                values = {name: int(groups[name][at]) for name in names}
                share = {k: v * (number + 1) // count - v * number // count for k, v in values.items()}
                groups.add(
                    self.new_id(),
                    lane=int(groups["lane"][at]),
                    has_base=int(groups["has_base"][at]),
                    hits=int(groups["hits"][at]),
                    **share,
                )
            if count > 1:
                for name in names:
                    groups[name][at] = groups[name][at] // count
                groups["count"][at] = 1
                groups.ids[at] = self.new_id()
        self._equal.clear()

    def remove(self, gone: Flags) -> None:
        """Remove file groups, those where *gone* is true."""
        numbers = self.groups.keep(~gone)
        for state in self._states.values():
            state.open_groups = [int(numbers[one]) for one in state.open_groups if not gone[one]]
            state.assigner = None  # it may remember a file group that is gone
        target = self.lanes["target"]
        at = np.maximum(target, 0)
        self.lanes["target"] = np.where(target == NOBODY, NOBODY, numbers[at]) if len(numbers) else target
        self._equal = {key: int(numbers[at]) for key, at in self._equal.items() if not gone[at]}

    def average_now(self) -> int:
        """Return the record size that sizing estimates for the next commit."""
        sizes, records = self.recent_columns()
        return int(record_sizes(sizes, records, self.sizing, newest=self.newest_read)[-1])

    def path_of(self, lane: int) -> str:
        """Return the partition path of a lane."""
        return self.paths[int(self.lanes["partition"][lane])]

    def verdicts(self, lane: int) -> tuple[GroupVerdict, ...]:
        """Return what the rules say of the open file groups of a lane, and close those that will not be small again."""
        state = self._states[lane]
        slices = self.slices(state.open_groups, self.path_of(lane))
        small_files = flink_small_files if self.settings.uses_flink else spark_small_files
        found = small_files(slices, self.kind, self.sizing)
        closed = {one.file_id for one in found if one.verdict is Verdict.TOO_LARGE}
        if closed:
            state.open_groups = [number for number in state.open_groups if self.groups.ids[number] not in closed]
        return found

    def numbers_of(self, lane: int) -> dict[str, int]:
        """Return the numbers of the open file groups of a lane by their file ids."""
        return {self.groups.ids[number]: number for number in self._states[lane].open_groups}

    def number_of(self, file_id: str) -> int:
        """Return the number of a file group, open or not."""
        return next(number for number, known in self.groups.ids.items() if known == file_id)

    def slices(self, numbers: list[int], path: str) -> list[FileSlice]:
        """Return file groups as the rules take them."""
        return self.groups.slices_of(numbers, path)

    def assigner(self, lane: int, verdicts: tuple[GroupVerdict, ...], average: int) -> FlinkAssigner:
        """Return the assigner of a Flink task for the next commit; Hudi's remembers new groups until the second."""
        state = self._states[lane]
        profile = Profile(lambda _path: verdicts, RecordSize(average))
        parts = self.settings.lanes
        task = Task(int(self.lanes["task"][lane]), parts, Parallelism.of(parts).key_groups)
        if state.assigner is None or self.settings.engine is not Engine.FLINK:
            state.assigner = FlinkAssigner(profile, self.sizing, self.new_id, task)
        else:
            state.assigner.end_commit(profile)
        state.assigner.begin_commit()
        return state.assigner

    def choose_target(self, lane: int, average: int) -> None:
        """Find the file group of a lane that takes the next new rows, and what could come before it."""
        lanes = self.lanes
        lanes["target"][lane], lanes["spare"][lane], lanes["following"][lane] = NOBODY, 0, FAR
        if self.opens_always or self.settings.has_buckets:
            return
        found = self.verdicts(lane)
        lanes["hidden"][lane] = sum(one.verdict is Verdict.HAS_LOGS for one in found)
        candidates = [one for one in found if one.is_candidate]
        number_of = self.numbers_of(lane)
        for place, one in enumerate(candidates):
            if room_for_records(one, RecordSize(average), self.sizing):
                lanes["target"][lane] = number_of[one.file_id]
                others = [*candidates[place + 1 :], *(o for o in found if o.verdict is Verdict.OVER_LIMIT)]
                lanes["following"][lane] = min((other.size for other in others), default=FAR)
                return
            lanes["spare"][lane] = max(lanes["spare"][lane], self.sizing.max_file_size - one.size)

    # Samples.

    def next_sample(self, commit: int) -> int:
        """Return the first commit from *commit* on after which the layout is looked at."""
        at = int(np.searchsorted(self._samples, commit))
        return int(self._samples[at]) if at < len(self._samples) else FAR

    def is_sampled(self, commit: int) -> bool:
        """Return whether the layout is looked at after *commit*."""
        return self.next_sample(commit) == commit

    def sample(self, commit: int) -> None:
        """Look at the newest file slices after *commit*."""
        self.totals.samples.append(sample_of(self, commit))


def sample_of(board: Board, commit: int) -> Sample:
    """Return the numbers and bytes of the newest file slices."""
    groups = board.groups
    count, bases = groups["count"], groups.base_bytes()
    has_base = groups["has_base"] > 0
    sizes = (bases // np.maximum(count, 1))[has_base]
    place = np.searchsorted(np.array(CLASSES), sizes, side="right")
    classes = np.bincount(place, count[has_base], len(CLASSES) + 1).astype(np.int64)
    small = int(count[has_base][sizes < board.sizing.small_file_limit].sum())
    since = int(board.totals["log_files"][board.last_compaction + 1 : commit + 1].sum()) >> FRACTION
    given = int(groups["log_files"].sum()) if board.last_compaction < 0 else 0
    return Sample(
        commit=commit,
        groups=int(count.sum()),
        small_groups=small + int(count[~has_base].sum()),
        base_files=int(count[has_base].sum()),
        base_bytes=int(bases[has_base].sum()),
        log_files=max(since, given) if board.kind is not Kind.COW else 0,
        log_bytes=int(groups.log_bytes().sum()) + since * board.row.block,
        rows=int(groups.all_rows().sum()),
        partitions=len(board.paths),
        classes=tuple(classes.tolist()),
    )
