"""Play batches of the streaming file sink: the files of its tasks, what is merged, and what waits for its partition.

Which files become visible, which are merged and which wait is decided by the functions that the sink calls.  Batches
with equal rows have equal files, so each number of rows is asked for once.  With the policy ``merge``, in which files
wait, each batch is played by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.simulation.batches import Batches
from hudiformat.simulation.groups import FRACTION
from hudiformat.simulation.samples import CLASSES, moments_of
from hudiformat.simulation.settings import Settings
from hudiformat.simulation.totals import Sample, Totals
from hudiformat.simulation.workload import Workload
from hudiformat.sink.layout import Layout, StagedFile, TaskCommit
from hudiformat.sink.options import SinkOptions, Trigger
from hudiformat.sink.partition_commit import CommitTrigger, PartitionTimeTrigger, ProcessTimeTrigger, due_partitions
from hudiformat.sink.partition_time import parse_time_zone
from hudiformat.sink.plan import BatchPlan, plan_batch

Numbers = npt.NDArray[np.int64]

_MOST_WAITING = 5_000_000
"""So many files of tasks are played at most if files wait, because each batch then has a plan of its own."""
_LOOKED_UP = 1 << 22
_SECOND = 1000
_LAYOUT = Layout()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What becomes of the files of a batch: what is added to columns of the totals, and the new visible files' bytes.

    ``merged_sizes`` are the bytes of merged files that wait, by their paths.
    """

    counts: Mapping[str, int]
    visible: tuple[int, ...]
    visible_rows: int
    merged_sizes: Mapping[str, int]


class FilesRun:
    """A run of the file sink: what was counted so far."""

    def __init__(self, load: Workload, settings: Settings, *, seed: int) -> None:
        _refuse_unsupported(load, settings)
        self.load, self.settings = load, settings
        self.totals = Totals.of(load.commits)
        self.totals["rows"][:] = load.rows_by_commit()
        self.sizes: Counter[int] = Counter()
        """How many visible files have how many bytes."""
        self.waiting_bytes, self.waiting_files = (np.zeros(load.commits, np.int64) for _ in range(2))
        """The hidden files that wait for their partition after each batch."""
        self._batches = Batches(load, seed=seed)
        self._known: dict[tuple[int, int, float], _Outcome] = {}
        self._trigger = _trigger_of(settings.sink)
        self._held: tuple[StagedFile, ...] = ()
        self._pending: dict[str, int] = {}
        self._partitions: set[int] = set()
        self._rows = 0

    def play(self, *, samples: int, progress: Callable[[int], None]) -> None:
        """Play all batches; *progress* is told how many have been played."""
        moments = moments_of(self.load.commits, samples)
        taken = set(moments.tolist())
        run = self._play_waiting if self.settings.sink.holds else self._play_at_once
        for first, end in self._batches.windows(moments):
            run(first, end)
            if end - 1 in taken:
                self._sample(end - 1)
            progress(end)

    def _play_at_once(self, first: int, end: int) -> None:
        """Play batches of which no file waits."""
        partitions, rows = self._batches.rows(first, end)
        self._partitions.update(partitions[rows.any(axis=0)].tolist())
        values, place, times = _distinct(rows)
        all_rows = int(rows.sum(axis=1).max(initial=0))
        found = [self._outcome(first, count, Batches.piece(count, all_rows)) for count in values.tolist()]
        for outcome, count in zip(found, times.tolist(), strict=True):
            self._rows += count * outcome.visible_rows
            for size in outcome.visible:
                self.sizes[size] += count
        for name in found[0].counts:
            self.totals.add(name, first, np.array([one.counts[name] for one in found], np.int64)[place].sum(axis=1))

    def _outcome(self, batch: int, rows: int, piece: int) -> _Outcome:
        """Return what becomes of the rows of a batch in a partition."""
        key = rows, piece, self._batches.row_bytes(batch)
        if key not in self._known:
            options = self.settings.sink
            files = self._batches.task_files(batch, rows, options, tasks=self.settings.tasks, piece=piece)
            plan = plan_batch([TaskCommit(0, 0, 1, tuple(files))], options)
            self._known[key] = self._outcome_of(plan, files)
        return self._known[key]

    def _play_waiting(self, first: int, end: int) -> None:
        """Play batches of which files wait until their partition is committed."""
        partitions, rows = self._batches.rows(first, end)
        self._partitions.update(partitions[rows.any(axis=0)].tolist())
        options, tasks = self.settings.sink, self.settings.tasks
        names = [self._batches.name(number) for number in partitions.tolist()]
        for batch, counts in enumerate(rows.tolist(), first):
            files: list[StagedFile] = []
            for name, count in zip(names, counts, strict=True):
                piece = Batches.piece(count, sum(counts))
                files += self._batches.task_files(batch, count, options, tasks=tasks, piece=piece, partition=name)
            self._commit_waiting(batch, files)

    def _commit_waiting(self, batch: int, files: Sequence[StagedFile]) -> None:
        now = round(batch * self.load.interval * _SECOND)
        self._pending = {**{file.partition: now for file in files}, **self._pending}
        due = due_partitions(self.settings.sink, self._trigger, self._pending, now=now, watermark=now)
        message = TaskCommit(batch, 0, 1, tuple(files), now)
        plan = plan_batch([message], self.settings.sink, held=self._held, due=due, layout=_LAYOUT)
        outcome = self._outcome_of(plan, files)
        for name, value in outcome.counts.items():
            self.totals.add(name, batch, value)
        self.sizes.update(outcome.visible)
        self._rows += outcome.visible_rows
        sizes = outcome.merged_sizes
        self._held = tuple(replace(file, size=sizes.get(file.path, file.size)) for file in plan.held)
        self._pending = {name: since for name, since in self._pending.items() if name not in due}
        self.waiting_bytes[batch] = sum(file.size for file in self._held)
        self.waiting_files[batch] = len(self._held)

    def _outcome_of(self, plan: BatchPlan, files: Sequence[StagedFile]) -> _Outcome:
        """Return what a plan does with new *files* and those that waited."""
        known = {file.path: file for file in (*self._held, *files)}
        counts = dict.fromkeys(("compacted_bytes", "service_files", "old_bytes", "old_files"), 0)
        visible, merged, rows = [], {}, 0
        for group in plan.groups:
            sources = [known[path] for path in group.sources]
            size = sources[0].size
            if len(sources) > 1:
                size = sum(file.size - self.load.file_bytes for file in sources) + self.load.file_bytes
                counts["compacted_bytes"] += size
                counts["service_files"] += 1 << FRACTION
                counts["old_bytes"] += sum(file.size for file in sources)
                counts["old_files"] += len(sources) << FRACTION
            if group.hidden:
                merged[_LAYOUT.merged(plan.label, group.number)] = size
            else:
                visible.append(size)
                rows += sum(file.rows for file in sources)
        counts["written_bytes"] = sum(file.size for file in files)
        counts["base_files"] = len(files) << FRACTION
        return _Outcome(counts, tuple(visible), rows, merged)

    def _sample(self, batch: int) -> None:
        """Look at the visible files after a batch."""
        count = len(self.sizes)
        sizes = np.fromiter(self.sizes.keys(), np.int64, count)
        files = np.fromiter(self.sizes.values(), np.int64, count)
        classes = np.zeros(len(CLASSES) + 1, np.int64)
        np.add.at(classes, np.searchsorted(np.array(CLASSES), sizes, side="right"), files)
        self.totals.samples.append(
            Sample(
                commit=batch,
                groups=int(files.sum()),
                small_groups=int(files[sizes < self.settings.small_size].sum()),
                base_files=int(files.sum()),
                base_bytes=int(sizes @ files),
                log_files=0,
                log_bytes=0,
                rows=self._rows,
                partitions=len(self._partitions),
                classes=tuple(classes.tolist()),
            )
        )


def _distinct(rows: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the distinct numbers in *rows*, the place of each item among them, and how often each occurs."""
    low, high = int(rows.min(initial=0)), int(rows.max(initial=0))
    if high - low >= _LOOKED_UP:
        values, place, times = np.unique(rows, return_inverse=True, return_counts=True)
        return values, place.reshape(rows.shape), times
    times = np.bincount((rows - low).ravel(), minlength=1)
    values = np.flatnonzero(times)
    place = np.zeros(len(times), np.int64)
    place[values] = np.arange(len(values))
    return values + low, place[rows - low], times[values]


def _trigger_of(options: SinkOptions) -> CommitTrigger:
    """Return what decides when a partition is committed; the time of a partition is the beginning of its day."""
    if options.trigger is Trigger.PROCESS_TIME:
        return ProcessTimeTrigger(options.delay)
    return PartitionTimeTrigger(_begin_of_day, options.delay, parse_time_zone(options.watermark_time_zone))


def _begin_of_day(values: Mapping[str, str]) -> datetime:
    return datetime(1970, 1, 1) + timedelta(days=int(values["day"]))  # noqa: DTZ001 - the zone comes later


def _refuse_unsupported(load: Workload, settings: Settings) -> None:
    options, batches = settings.sink, Batches(load, seed=0)
    waiting = load.commits * settings.tasks * batches.most_partitions
    found = {
        "updates and deletes, as the file sink adds rows alone": load.updates > 0 or load.deletes > 0,
        "the trigger partition-time unless partitions are days": options.trigger is Trigger.PARTITION_TIME
        and not batches.is_by_day,
        f"more than {_MOST_WAITING:,} files of tasks, with the policy merge": options.holds and waiting > _MOST_WAITING,
    }
    for what, is_there in found.items():
        if is_there:
            raise UnsupportedFeatureError(
                f"cannot simulate the file sink: expected settings without {what}, found it; leave it out",
                feature=f"simulation of the file sink with {what}",
            )
