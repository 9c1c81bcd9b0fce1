"""The state of a simulated table between two commits: partitions, lanes, file groups, counts."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.simulation.groups import FRACTION, NOBODY, Groups, RowBytes, fixed_point
from hudiformat.simulation.rates import FAR, Updates
from hudiformat.simulation.recent import RecentCommits
from hudiformat.simulation.settings import Engine, Settings
from hudiformat.simulation.totals import Totals
from hudiformat.simulation.workload import UpdateSpread, Workload
from hudiformat.sizing.flink import FlinkAssigner
from hudiformat.sizing.flink_buffers import parts_of
from hudiformat.sizing.key_groups import Parallelism
from hudiformat.sizing.small_files import Kind
from hudiformat.sizing.spark import rows_of_file
from hudiformat.write.index.hash_ring import HashRing

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_HOT_KEYS = 4096
"""So many keys that are updated more often than others have places of their own; the others are alike."""
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


class Board:
    """A table that a workload is played on."""

    weight_bits = 20
    """The bits behind the point of the share of a lane."""

    def __init__(self, load: Workload, settings: Settings, *, seed: int, days: Numbers | None = None) -> None:
        self.load, self.settings = load, settings
        self.sizing, self.kind = settings.options.sizing, settings.kind
        self.random = np.random.default_rng(seed)
        rows = load.rows_by_commit()
        updates, deletes = load.updates_by_commit(rows), load.deletes_by_commit(rows)
        self.new = np.concatenate([[0], np.cumsum(rows - updates - deletes)])
        """The new rows of all commits before each."""
        self.days = days
        """The day of each commit, if each day has a partition of its own."""
        self._row_factors = load.row_factors()
        self.groups, self.totals = Groups(self._row_of(0)), Totals.of(load.commits)
        for name, values in (("rows", rows), ("updates", updates), ("deletes", deletes)):
            self.totals[name][:] = values
        self.lanes: dict[str, Numbers] = {name: np.zeros(0, np.int64) for name in _LANE_COLUMNS}
        self.active = np.zeros(0, np.int64)
        """The lanes that get new rows."""
        self.paths: list[str] = []
        self.rings: dict[str, HashRing] = {}
        """The buckets of each partition, with consistent hashing; one that is not there yet begins with equal ones."""
        self.widths = np.zeros(0)
        """The share of each lane of its partition's new rows."""
        self._shares: list[float] = []
        is_zipf = load.update_spread == UpdateSpread.ZIPF
        places = self.random.random(_HOT_KEYS if is_zipf else 0)
        self.updates = Updates(updates, deletes, self.new, places, load.update_skew)
        self.recent = RecentCommits(self.sizing, uses_flink=settings.uses_flink)
        self.deltas = self.since_clustering = 0
        self.last_compaction = -1
        self.open_groups: dict[int, list[int]] = defaultdict(list)
        """The file groups of each lane that may take new rows."""
        self.assigners: dict[int, FlinkAssigner] = {}
        self._equal: dict[tuple[int, int], int] = {}

    @property
    def row(self) -> RowBytes:
        """The bytes of new rows."""
        return self.groups.row

    @cached_property
    def first_limited(self) -> int:
        """The first commit after which a compaction may be too large to take all log files; before, each takes all.

        It does not change while commits are played, so it does not matter how many are played at once.
        """
        commits, settings = self.load.commits, self.settings
        most = settings.options.services.compaction_target_io_mb << 20
        largest = self._row_of(commits - 1)
        every = min(settings.options.services.compact_delta_commits, commits)
        came = np.concatenate([[0], np.cumsum(self.totals["rows"])])
        logged = int((came[every:] - came[:-every]).max())
        files = (int(self.days[-1]) + 1 if self.days is not None else len(self.paths)) * settings.lanes
        if settings.has_buckets:
            files *= max(settings.options.num_buckets, *(one.count for one in settings.options.bucketing.rules), 1)
        there = int(self.groups.base_bytes().sum() + self.groups.log_bytes().sum()) + files * largest.file
        there += logged * largest.log >> FRACTION
        rows = max(((most // 2 - there) << FRACTION) // max(largest.base, 1), 0)  # each byte is read and written
        return int(np.searchsorted(self.new[1:], rows, side="left"))

    def _row_of(self, commit: int) -> RowBytes:
        factor = float(self._row_factors[commit])
        return RowBytes(
            base=fixed_point(self.load.row_bytes * factor, FRACTION),
            update=fixed_point(self.load.update_bytes * factor, FRACTION),
            log=fixed_point(self.load.logged_row_bytes * factor, FRACTION),
            file=self.load.file_bytes,
            block=self.load.block_bytes,
        )

    @cached_property
    def most_rows_of_commit(self) -> int:
        """The rows of the largest commit."""
        return int(self.totals["rows"].max())

    @property
    def most_rows_of_file(self) -> int:
        """With how many rows a new file is closed, and the next one begun; Hudi's Flink writer never does so."""
        if self.settings.engine is Engine.FLINK:
            return FAR
        if self.settings.logs_new_rows:
            most = self.sizing.largest_log_group
            return FAR if most == float("inf") else max(int(most * (1 << FRACTION)) // self.row.log, 1)
        return max((self.sizing.largest_new_file << FRACTION) // self.row.base, 1)

    @cached_property
    def _commit_bytes(self) -> Numbers:
        """The bytes that Flink's tasks buffer in each commit, of all rows."""
        found: Numbers = self.totals["rows"] * fixed_point(self.load.logged_row_bytes, FRACTION) >> FRACTION
        return found

    def parts(self, commit: int, sizes: Numbers, groups: Numbers | int = 1) -> Numbers | int:
        """Return in how many parts a Flink task writes its rows for a file group; 1 for all other writers.

        *sizes* are bytes in memory, with a column for each commit from *commit* on, of so many file groups each.
        """
        settings = self.settings
        if settings.engine is not Engine.FLINK or settings.opens_always:
            return 1
        came = self._commit_bytes[commit : commit + sizes.shape[-1]] // settings.tasks
        each = -(-int(np.sum(self.groups_that_fill)) // settings.tasks)
        return parts_of(
            sizes // np.maximum(groups, 1), settings.buffers.part_size(came, each, logs=settings.logs_new_rows)
        )

    @property
    def groups_that_fill(self) -> Numbers:
        """The number of file groups that get the new rows of each active lane at once."""
        targets = self.lanes["target"][self.active]
        if not self.settings.has_buckets:
            return np.ones(len(targets), np.int64)
        found: Numbers = self.groups["count"][targets]
        return found

    def rows_per_group(self, averages: Numbers) -> Numbers:
        """Return how many rows a new file group takes, by the average record size before each commit."""
        if self.settings.uses_flink or not self.sizing.auto_split:
            return np.full(len(averages), max(self.sizing.insert_split_size, 1), np.int64)
        return rows_of_file(averages, self.sizing)

    # Partitions and lanes.

    def open_lanes(self, paths: list[str], shares: list[float]) -> None:
        """Open the lanes of partitions that have these *shares* of the new rows."""
        first, own = len(self.lanes["target"]), [self._widths_in(path) for path in paths]
        counts, widths = [len(one) for one in own], np.concatenate([np.zeros(0), *own])
        is_single = len(widths) == 1 and self.days is None
        weights = np.rint(np.repeat(shares, counts) * widths * (1 << self.weight_bits))
        values = {
            "partition": np.repeat(np.arange(len(paths)) + len(self.paths), counts),
            "task": np.concatenate([np.arange(count) for count in (0, *counts)]),
            "weight": weights.astype(np.int64),
            "target": np.full(len(widths), NOBODY),
        }
        if not is_single:
            values["phase"] = self.random.integers(0, 1 << self.weight_bits, len(widths))
        self._add_lanes(widths, values)
        self.paths += paths
        self._shares += shares
        if self.settings.has_buckets:
            self._open_buckets(first)
        self.find_active()

    def _widths_in(self, path: str) -> list[float]:
        """Return the share that each lane of a partition has of its rows."""
        if not self.settings.resizes:
            return [1 / self.settings.lanes] * self.settings.lanes
        if path not in self.rings:
            self.rings[path] = HashRing.first(path, self.settings.options.num_buckets)
        return self.rings[path].shares

    def _add_lanes(self, widths: npt.NDArray[np.float64], values: Mapping[str, Numbers]) -> None:
        zeros = np.zeros(len(widths), np.int64)
        self.lanes = {
            name: np.concatenate([column, values.get(name, zeros).astype(np.int64)])
            for name, column in self.lanes.items()
        }
        self.widths = np.concatenate([self.widths, widths])

    def _open_buckets(self, first: int) -> None:
        """Give the lanes from number *first* on their buckets: one item for all that no rule tells apart."""
        is_cow = self.kind is Kind.COW
        ids = [node.file_id for path in self.paths for node in self.rings[path].nodes] if self.settings.resizes else []
        for lane in range(first, len(self.widths)):
            buckets = 1 if self.settings.resizes else self.settings.buckets_in(self.path_of(lane))
            file_id = ids[lane - len(self.widths)] if ids else None
            fixed = buckets * self.row.file * int(is_cow)
            self.lanes["target"][lane] = self.groups.add(file_id, lane=lane, count=buckets, fixed=fixed)

    def open_lane(self, like: int, width: float, commit: int) -> int:
        """Open a lane in the partition of another, with this share of its rows from *commit* on; return its number."""
        partition = int(self.lanes["partition"][like])
        values = {
            "partition": partition,
            "weight": fixed_point(self._shares[partition] * width, self.weight_bits),
            "phase": int(self.random.integers(0, 1 << self.weight_bits)),
            "origin": int(self.new[commit]),
            "target": NOBODY,
        }
        self._add_lanes(np.array([width]), {name: np.array([value]) for name, value in values.items()})
        return len(self.widths) - 1

    def find_active(self) -> None:
        """Find the lanes that get new rows, after some were opened or closed."""
        self.active = np.flatnonzero(self.lanes["weight"] > 0)
        self.updates.end_epoch()

    def begin_commit(self, commit: int) -> list[int]:
        """Open the partition of the commit's day, if it is new, and spread the updates anew, if it is time.

        Return the lanes in which file groups have become small again, because rows were deleted.
        """
        reopened: list[int] = []
        row = self._row_of(commit)
        if row != self.row:
            self.groups.begin_row_size(row)
            self.updates.end_epoch()
        while self.days is not None and self.days[commit] >= len(self.paths):
            self._begin_day(len(self.paths), commit)
        if commit >= self.updates.end_of_epoch:
            reopened = self.delete_rows(commit)
            self.updates.begin_epoch(commit, self.groups, self._rows_that_change(), self.is_target(), self.kind)
        return reopened

    def delete_rows(self, commit: int) -> list[int]:
        """Take out the rows that were deleted before *commit*, and return the lanes that have small file groups now."""
        # Without compactions, base files of a merge-on-read table stay as they are.
        rewrites = self.kind is Kind.COW or self.settings.compacts
        self.updates.apply(commit, self.groups, rewrites=rewrites and bool(self.row.update))
        if not self.load.deletes or self.settings.has_buckets or self.settings.opens_always:
            return []
        is_open = np.zeros(self.groups.length, bool)
        is_open[[number for known in self.open_groups.values() for number in known]] = True
        small = ~is_open & (self.groups.base_bytes() < self.sizing.small_file_limit) & (self.groups["count"] == 1)
        for number in np.flatnonzero(small).tolist():
            self.open_groups[int(self.groups["lane"][number])].append(number)
        return sorted(set(self.groups["lane"][small].tolist()))

    def _rows_that_change(self) -> Numbers:
        """Return of each file group the rows that updates may change."""
        rows = self.groups.all_rows()
        if self.load.update_spread == UpdateSpread.NEWEST and self.groups.length:
            return np.where(self.lanes["weight"][self.groups["lane"]] > 0, rows, 0)
        return rows

    def is_target(self) -> Flags:
        """Return which file groups take the next new rows of a lane."""
        found = np.zeros(self.groups.length, bool)
        targets = self.lanes["target"][self.active]
        found[targets[targets != NOBODY]] = True
        return found

    def _begin_day(self, day: int, commit: int) -> None:
        """Open the partition of a day, and spread the new rows over it and the days before."""
        self.open_lanes([f"day={day:05}"], [0.0])
        lanes, partitions = self.lanes, self.load.partitions
        late, days = partitions.late if day else 0.0, min(day, partitions.late_days)
        age = day - lanes["partition"]
        shares = np.where(age == 0, 1 - late, np.where(age <= days, late / max(days, 1), 0))
        self._shares = [1 - late if day == one else late / days if day - one <= days else 0.0 for one in range(day + 1)]
        counted = (self.new[commit] - lanes["origin"]) * lanes["weight"] + lanes["phase"]
        lanes["phase"] = counted & ((1 << self.weight_bits) - 1)
        lanes["origin"][:] = self.new[commit]
        lanes["weight"] = np.rint(shares * self.widths * (1 << self.weight_bits)).astype(np.int64)
        self.find_active()

    def end_of_day(self, commit: int) -> int:
        """Return the first commit after the day of *commit*."""
        return FAR if self.days is None else int(np.searchsorted(self.days, self.days[commit], side="right"))

    def end_of_row_size(self, commit: int) -> int:
        """Return the first commit whose rows are larger than those of *commit*."""
        return int(np.searchsorted(self._row_factors, self._row_factors[commit], side="right"))

    def logs_since(self, commit: int) -> int:
        """Return how many log files a compaction after *commit* merges, times ``2 ** FRACTION``."""
        found = int(self.totals["log_files"][self.last_compaction + 1 : commit + 1].sum())
        self.last_compaction = commit
        return found

    # File groups.

    def new_id(self) -> str:
        """Return a file id, by the seed."""
        return f"{uuid.UUID(bytes=self.random.bytes(16), version=4)}-0"

    def _id_in(self, lane: int) -> str:
        """Return a file id that belongs to the task of a lane."""
        parts, file_id = self.settings.lanes, self.new_id()
        if parts > 1:
            task, all_tasks = int(self.lanes["task"][lane]), Parallelism.of(parts)
            while all_tasks.owner(file_id) != task:
                file_id = self.new_id()
        return file_id

    def add_group(self, lane: int, rows: int, file_id: str | None = None) -> int:
        """Add a file group with new rows, and return its number; without an id it gets one by the seed."""
        file_id = file_id or self._id_in(lane)
        if self.settings.logs_new_rows:
            number = self.groups.add(file_id, lane=lane, log_rows=rows, log_files=1)
        else:
            number = self.groups.add(file_id, lane=lane, rows=rows, has_base=1, fixed=self.row.file)
        self.open_groups[lane].append(number)
        return number

    def add_equal(self, lane: int, rows: int, times: int, files: int) -> None:
        """Add file groups that no rule tells apart: of *times* commits, *files* of each, with *rows* together."""
        key = (lane, rows)
        if key not in self._equal:
            self._equal[key] = self.groups.add(None, lane=lane, count=0)
        at, groups = self._equal[key], self.groups
        groups["count"][at] += times * files
        if self.settings.logs_new_rows:
            groups["log_rows"][at] += times * rows
            groups["log_files"][at] += times * files
        else:
            groups["has_base"][at] = 1
            groups["fixed"][at] += times * files * self.row.file
            groups["rows"][at] += times * rows

    def add_clustered(self, lane: int, **values: int) -> int:
        """Add a file group that a clustering writes, and return its number."""
        number = self.groups.add(self.new_id(), lane=lane, has_base=1, **values)
        self.open_groups[lane].append(number)
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
        names = ("fixed", "rows", "given", "changed", "log_rows", "log_files", "updated")
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
        for lane, known in self.open_groups.items():
            self.open_groups[lane] = [int(numbers[one]) for one in known if not gone[one]]
        self.assigners.clear()  # they may remember a file group that is gone
        target = self.lanes["target"]
        at = np.maximum(target, 0)
        self.lanes["target"] = np.where(target == NOBODY, NOBODY, numbers[at]) if len(numbers) else target
        self._equal = {key: int(numbers[at]) for key, at in self._equal.items() if not gone[at]}

    def path_of(self, lane: int) -> str:
        """Return the partition path of a lane."""
        return self.paths[int(self.lanes["partition"][lane])]
