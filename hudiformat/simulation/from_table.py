"""Take a workload and a beginning from a table: what its history says of rows, sizes, partitions and updates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from hudiformat.errors import NameFormatError, UnsupportedFeatureError
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import base_name
from hudiformat.naming.instants import parse_instant
from hudiformat.services.clustering_plan import resizes_buckets
from hudiformat.services.deciding import since_clustering, since_compaction
from hudiformat.simulation.start import GivenGroup, Start
from hudiformat.simulation.workload import Workload
from hudiformat.table.options.values import IndexType
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.table_config import TableType
from hudiformat.timeline.timeline import Action, Instant
from hudiformat.write.commit.files import RINGS_FOLDER
from hudiformat.write.index.hash_ring import HashRing, ring_of

_SERVICES = ("COMPACT", "LOG_COMPACT", "CLUSTER")
_DEFAULT_INTERVAL = 60.0
_BUCKET = re.compile("000[0-9]{5}-")
"""The beginning of a file id of a bucket, which has eight digits; no table has 100,000 buckets, and a random file id
hardly ever begins like that."""
_SEEN = 5


@dataclass(slots=True)
class History:
    """What the commits on the active timeline have written, the oldest first; those of services count as files alone.

    - ``rows``, ``written``, ``operations``, ``times``: an item per commit: rows, bytes, operation, instant.
    - ``serviced``: the bytes that services have written.
    - ``base``: an item per base file that was written: its rows and bytes.
    - ``rows_of``: the rows of the newest base file of a file group, by partition path and file id.
    - ``recent``: an item per commit, also of services: the bytes and records by which a row's size is estimated.
    - ``merged``, ``grown``: the rows of log files that compactions have merged, and by how many rows base files have
      grown with them.
    """

    rows: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)
    times: list[Instant] = field(default_factory=list)
    updates: int = 0
    deletes: int = 0
    serviced: int = 0
    by_partition: Counter[str] = field(default_factory=Counter)
    base: list[tuple[int, int]] = field(default_factory=list)
    logged_rows: int = 0
    logged_bytes: int = 0
    rows_of: dict[tuple[str, str], int] = field(default_factory=dict)
    recent: list[tuple[int, int]] = field(default_factory=list)
    merged: int = 0
    grown: int = 0


def history_of(state: TableState) -> History:
    """Read the completed commits on the active timeline."""
    found = History()
    has_buckets, waiting = state.options.index_type is IndexType.BUCKET, Counter[tuple[str, str]]()
    for done in state.timeline.completed_writes:
        metadata = state.metadata(done)
        stats = metadata.write_stats
        bases = [stat for stat in stats if not _is_log(stat)]
        logs = [stat for stat in stats if _is_log(stat)]
        waiting.update({_key(stat): stat.num_inserts + stat.num_update_writes for stat in logs})
        for stat in bases:
            before, own = found.rows_of.get(_key(stat)), waiting.pop(_key(stat), 0)
            if before is not None:
                found.merged, found.grown = found.merged + own, found.grown + max(stat.num_writes - before, 0)
            found.rows_of[_key(stat)] = stat.num_writes
            if stat.num_writes > 0:
                found.base.append((stat.num_writes, stat.total_write_bytes))
        if done.action is not Action.REPLACE_COMMIT:
            counted = bases if done.action is Action.DELTA_COMMIT else stats
            found.recent.append((sum(s.total_write_bytes for s in counted), sum(s.num_writes for s in counted)))
        written, operation = sum(s.total_write_bytes for s in stats), (metadata.operation_type or "").upper()
        if operation in _SERVICES:
            found.serviced += written
            continue
        inserts, updates = sum(s.num_inserts for s in stats), sum(s.num_update_writes for s in stats)
        deletes = sum(s.num_deletes for s in stats)
        found.rows.append(inserts + updates + deletes)
        found.updates, found.deletes = found.updates + updates, found.deletes + deletes
        found.times.append(done)
        found.written.append(written)
        found.operations.append(operation)
        for stat in stats:
            # Rows for a bucket that exists count as updates, whether they are or not.
            found.by_partition[stat.partition_path or ""] += stat.num_inserts + stat.num_update_writes * has_buckets
        found.logged_rows += sum(s.num_inserts + s.num_update_writes for s in logs)
        found.logged_bytes += sum(s.total_write_bytes for s in logs)
    return found


def _key(stat: WriteStat) -> tuple[str, str]:
    return stat.partition_path or "", stat.file_id or ""


def _is_log(stat: WriteStat) -> bool:
    return base_name(stat.path or "").startswith(".")


def workload_from(state: TableState, *, commits: int, history: History | None = None) -> Workload:
    """Return a workload of *commits* commits like those on the active timeline of a table.

    The rows of each commit are those of the table's commits in turn.  *history* is what :func:`history_of` returns, for
    a caller that has it.

    Raises:
        UnsupportedFeatureError: no commit on the active timeline has written rows.
    """
    history = history or history_of(state)
    total = sum(history.rows)
    if not total:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: cannot take a workload from the table: expected a commit with rows on the active "
            "timeline, found none; pass a workload",
            feature="a workload from a table without commits of rows",
        )
    row_bytes, file_bytes = _sizes(history.base, _row_bytes_without_files(state, history))
    workload = Workload(
        commits=commits,
        rows=round(total / len(history.rows)),
        trace=tuple(history.rows),
        interval=_interval(history.times),
        row_bytes=row_bytes,
        file_bytes=file_bytes,
        log_row_bytes=history.logged_bytes / history.logged_rows if history.logged_rows else 0.0,
        updates=_updates(state, history) / total,
        deletes=history.deletes / total,
    )
    # The measured bytes of a row in log files have those of their blocks in them.
    return replace(workload, block_bytes=0) if history.logged_rows else workload


def _updates(state: TableState, history: History) -> int:
    """Return how many of the rows were updates.

    In a table with buckets, all rows for a bucket that exists count as updates.  There, those rows of log files are new
    by which base files have grown in compactions.
    """
    if state.options.index_type is not IndexType.BUCKET or not history.merged:
        return history.updates
    return round(history.updates * (1 - min(history.grown / history.merged, 1)))


def _row_bytes_without_files(state: TableState, history: History) -> float:
    """Return the bytes of a row in base files if there are none: by Hudi's ratio to log files, or its estimate."""
    if not history.logged_rows:
        return float(state.options.sizing.record_size_estimate)
    return max(history.logged_bytes / history.logged_rows * state.options.sizing.log_ratio, 0.1)


def _sizes(files: Sequence[tuple[int, int]], estimate: float) -> tuple[float, int]:
    """Return the bytes of a row in base files, and those of a file without rows: a line through the files."""
    if not files:
        return estimate, 0
    rows, sizes = (np.array(values, np.float64) for values in zip(*files, strict=True))
    average = float(sizes.sum() / rows.sum())
    if len(np.unique(rows)) < 2:  # noqa: PLR2004 - a line needs two points
        return max(average, 0.1), 0
    slope, fixed = (float(value) for value in np.polyfit(rows, sizes, 1))
    if slope <= 0 or fixed < 0:
        return max(average, 0.1), 0
    return max(slope, 0.1), round(fixed)


def _interval(times: Sequence[Instant]) -> float:
    """Return the seconds between two commits: the median."""
    try:
        moments = [parse_instant(one.time) for one in times]
    except NameFormatError:
        return _DEFAULT_INTERVAL
    apart = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    return max(float(np.median(apart)), 0.001) if apart else _DEFAULT_INTERVAL


def unnamed_buckets(state: TableState, slices: Sequence[FileSlice]) -> tuple[str, ...]:
    """Return the options that name the bucket index of a table if neither properties nor options do; else none.

    Flink's writer does not put the index into the properties of all tables.
    """
    if state.options.index_type is IndexType.BUCKET or not slices:
        return ()
    if state.storage.list(RINGS_FOLDER):
        return "hoodie.index.type=BUCKET", "hoodie.index.bucket.engine=CONSISTENT_HASHING"
    return ("hoodie.index.type=BUCKET",) if all(_BUCKET.match(one.file_id) for one in slices) else ()


def refuse_unnamed_buckets(state: TableState, slices: Sequence[FileSlice]) -> None:
    """Refuse to play a table with buckets as if it had none.

    Raises:
        UnsupportedFeatureError: neither properties nor options name the index.
    """
    if named := unnamed_buckets(state, slices):
        raise UnsupportedFeatureError(
            f"{state.storage.root}: cannot simulate: expected options that name the writers' index, found none for "
            f"a table with buckets; pass {' and '.join(named)}, and the number of buckets",
            feature="simulation of a table with buckets whose index no option names",
        )


def start_from(
    state: TableState,
    workload: Workload,
    *,
    history: History | None = None,
    slices: Sequence[FileSlice] | None = None,
) -> Start:
    """Return the file groups of a table and the shares that its partitions have of the new rows.

    *slices* are the newest file slices, and *history* is what :func:`history_of` returns, for a caller that has them.
    """
    history = history or history_of(state)
    slices = state.slices() if slices is None else slices
    paths = sorted({one.partition_path for one in slices} | set(history.by_partition))
    counts = np.array([history.by_partition[path] for path in paths], np.float64)
    if not counts.sum():
        counts = np.ones(len(paths))
    is_mor = state.config.table_type is TableType.MERGE_ON_READ
    return Start(
        paths=tuple(paths),
        shares=counts / counts.sum(),
        groups=tuple(_given(one, history, workload) for one in slices),
        recent=tuple(history.recent[-max(state.options.sizing.estimation_commits, _SEEN) :]),
        deltas=len(since_compaction(state.timeline)) if is_mor else 0,
        since_clustering=since_clustering(state),
        rings=_rings(state, paths) if resizes_buckets(state) else {},
    )


def _rings(state: TableState, paths: Sequence[str]) -> dict[str, HashRing]:
    """Return the buckets of those partitions that have some already."""
    found = {path: ring_of(state.storage, path, state.visibility) for path in paths}
    return {path: ring for path, ring in found.items() if ring is not None}


def _given(one: FileSlice, history: History, workload: Workload) -> GivenGroup:
    base = 0 if one.base_file is None else one.base_file.size
    rows = history.rows_of.get((one.partition_path, one.file_id))
    if rows is None:
        rows = round(max(base - workload.file_bytes, 0) / workload.row_bytes)
    if one.base_file is None:
        rows = round(one.log_bytes / workload.logged_row_bytes)
    return GivenGroup(one.partition_path, one.file_id, base, one.log_bytes, len(one.log_files), rows)
