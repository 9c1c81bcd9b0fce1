"""The result of a simulation: its numbers, and Arrow tables of commits, of the layout over time, and of file sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.simulation.board import Board
from hudiformat.simulation.files import FilesRun
from hudiformat.simulation.groups import FRACTION
from hudiformat.simulation.samples import CLASSES
from hudiformat.simulation.settings import Settings
from hudiformat.simulation.totals import Totals
from hudiformat.simulation.workload import Workload
from hudiformat.sizing.small_files import Kind
from hudiformat.table.options.values import CleanPolicy

Numbers = npt.NDArray[np.int64]

_FILE_COUNTS = ("base_files", "log_files", "service_files", "old_files")
_TIMELINE_FILES = 3  # requested, inflight, completed
_JOURNAL = 3  # plan, published, done
_THOUSAND, _GB, _MONTH, _HOUR = 1000, 10**9, 30 * 86_400, 3600
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of an object store, in any currency, and how fast services rewrite files.

    ``put``, ``get`` and ``list`` are for 1,000 requests, ``storage`` is for 1 GB a month.  ``rewrite_speed`` are the
    bytes that a service writes in a second, with one process.

    Source: docs/simulate.md.
    """

    put: float = 0.005
    get: float = 0.0004
    list: float = 0.005
    storage: float = 0.023
    rewrite_speed: int = 50_000_000


@dataclass(frozen=True, slots=True)
class Simulation:
    """What comes of a workload with the settings of a writer.

    - ``summary``: numbers of the whole run, and of the table after its last commit, by name.
    - ``commits``: an Arrow table with a row per commit: rows, updates, bytes written by the write, by compaction and by
      clustering, files, and the bytes that are kept of older versions.
    - ``layout``: an Arrow table with a row for each of some moments: file groups, files, bytes, and the number of base
      files of each size class.
    - ``sizes``: an Arrow table of the base files after the last commit: how many files have how many bytes.

    Sizes are bytes.

    Source: docs/simulate.md.
    """

    workload: Workload
    settings: Settings
    summary: Mapping[str, float | int] = field(hash=False)
    commits: pa.Table = field(hash=False, repr=False)
    layout: pa.Table = field(hash=False, repr=False)
    sizes: pa.Table = field(hash=False, repr=False)

    def as_json(self) -> dict[str, object]:
        """Return the summary and the layout over time as JSON values."""
        return {"summary": dict(self.summary), "layout": self.layout.to_pylist(), "sizes": self.sizes.to_pylist()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    """What a run to its end has counted.

    The columns have an item per commit: the bytes that a snapshot reads, and the bytes and files that it does not.
    """

    load: Workload
    settings: Settings
    totals: Totals
    sizes: pa.Table
    live_bytes: Numbers
    kept_bytes: Numbers
    kept_files: Numbers
    requests: Mapping[str, int]


def result_of(board: Board, totals: Totals, prices: Prices) -> Simulation:
    """Return the result of a workload that was played on *board* to its end."""
    kept_bytes, kept_files = _kept(board, totals)
    played = _Played(
        load=board.load,
        settings=board.settings,
        totals=totals,
        sizes=_sizes(board),
        live_bytes=_live_by_commit(totals),
        kept_bytes=kept_bytes,
        kept_files=kept_files,
        requests=_requests(board, totals),
    )
    return _simulation(played, prices)


def result_of_files(run: FilesRun, prices: Prices) -> Simulation:
    """Return the result of batches of the file sink that were played to their end; files that wait count as kept."""
    sizes = sorted(run.sizes.items())
    columns = {"bytes": [size for size, _ in sizes], "files": [files for _, files in sizes]}
    played = _Played(
        load=run.load,
        settings=run.settings,
        totals=run.totals,
        sizes=pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()}),
        live_bytes=_live_by_commit(run.totals, hidden=run.waiting_bytes),
        kept_bytes=run.waiting_bytes,
        kept_files=run.waiting_files,
        requests=_requests_of_files(run),
    )
    return _simulation(played, prices)


def _simulation(played: _Played, prices: Prices) -> Simulation:
    return Simulation(
        workload=played.load,
        settings=played.settings,
        summary=_summary(played, prices),
        commits=_commits(played),
        layout=_layout(played),
        sizes=played.sizes,
    )


def _commits(played: _Played) -> pa.Table:
    load = played.load
    columns: dict[str, pa.Array] = {
        "commit": pa.array(np.arange(1, load.commits + 1)),
        "seconds": pa.array(np.arange(load.commits) * load.interval),
    }
    for name, values in played.totals.columns.items():
        is_files = name in _FILE_COUNTS
        columns[name] = pa.array(values / (1 << FRACTION) if is_files else values)
    kept = {"kept_bytes": pa.array(played.kept_bytes), "kept_files": pa.array(played.kept_files)}
    return pa.table({**columns, **kept})


def _kept(board: Board, totals: Totals) -> tuple[Numbers, Numbers]:
    """Return the bytes and files of older versions that are kept after each commit, until a clean deletes them.

    A version is deleted once the write that replaced it is older than all commits that a clean keeps.  With two commits
    kept, and no service, of the versions that the commits 0, 1, 2, 3 replaced, those of 1 and later are kept after 2::

        place = [1, 2, 3, 4]     commits on the timeline after each commit, compactions and clusterings included
        first = [0, 0, 1, 2]     the first commit whose replaced versions are kept
    """
    services = board.settings.options.services
    place = np.arange(1, board.load.commits + 1) + np.cumsum(totals["compactions"] + totals["clusterings"])
    first = np.zeros(len(place), np.int64)
    if services.clean_automatic and services.clean_policy is CleanPolicy.BY_COMMITS:
        retained = services.first_retained(int(place[-1]))
        if retained is not None:
            first = np.searchsorted(place, place - (int(place[-1]) - retained), side="right")
    elif services.clean_automatic and services.clean_policy is CleanPolicy.BY_HOURS:
        commits = int(services.clean_hours * _HOUR // board.load.interval)
        first = np.maximum(np.arange(len(place)) - commits, 0)
    found = []
    for name in ("old_bytes", "old_files"):
        before = np.concatenate([[0], np.cumsum(totals[name])])
        kept = before[1:] - before[first]
        if services.clean_automatic and services.clean_policy is CleanPolicy.BY_VERSIONS:
            newest = totals.samples[-1].base_bytes if name == "old_bytes" else totals.samples[-1].base_files << FRACTION
            kept = np.minimum(kept, (services.clean_versions - 1) * newest)
        found.append(kept)
    return found[0], found[1] >> FRACTION


def _layout(played: _Played) -> pa.Table:
    samples, kept_bytes = played.totals.samples, played.kept_bytes
    names = ("groups", "small_groups", "base_files", "base_bytes", "log_files", "log_bytes", "rows", "partitions")
    columns: dict[str, pa.Array] = {
        "commit": pa.array([one.commit + 1 for one in samples], pa.int64()),
        "seconds": pa.array([one.commit * played.load.interval for one in samples], pa.float64()),
        **{name: pa.array([getattr(one, name) for one in samples], pa.int64()) for name in names},
        "kept_bytes": pa.array([int(kept_bytes[one.commit]) for one in samples], pa.int64()),
    }
    for number, name in enumerate(class_names()):
        columns[name] = pa.array([one.classes[number] for one in samples], pa.int64())
    return pa.table(columns)


def class_names() -> list[str]:
    """Return the names of the size classes of base files, the smallest first."""
    bounds = [bound >> 20 for bound in CLASSES]
    return [f"below_{bounds[0]}_mib", *(f"from_{bound}_mib" for bound in bounds)]


def _sizes(board: Board) -> pa.Table:
    groups = board.groups
    has_base = groups["has_base"] > 0
    count = groups["count"][has_base]
    sizes = groups.base_bytes()[has_base] // np.maximum(count, 1)
    found, place = np.unique(sizes, return_inverse=True)
    files = np.bincount(place, count, len(found)).astype(np.int64) if len(found) else np.zeros(0, np.int64)
    return pa.table({"bytes": pa.array(found, pa.int64()), "files": pa.array(files, pa.int64())})


def quantile(sizes: pa.Table, share: float) -> int:
    """Return the size in bytes that *share* of the base files do not exceed; 0 if there are none."""
    if not sizes.num_rows:
        return 0
    files = np.cumsum(sizes["files"].to_numpy())
    at = int(np.searchsorted(files, share * files[-1], side="left"))
    return int(sizes["bytes"][min(at, sizes.num_rows - 1)].as_py())


def _summary(played: _Played, prices: Prices) -> dict[str, float | int]:
    load, totals, sizes = played.load, played.totals, played.sizes
    requests, last = played.requests, totals.samples[-1]
    rows = int(totals["rows"].sum())
    came = float((totals["rows"] - totals["deletes"]) @ load.row_factors()) * load.row_bytes
    causes = {name: int(totals[f"{name}_bytes"].sum()) for name in ("written", "compacted", "clustered")}
    written = sum(causes.values())
    live = last.base_bytes + last.log_bytes
    read_files = last.base_files + last.log_files
    merged = last.base_bytes + last.log_bytes * played.settings.options.sizing.log_ratio
    needed = max(-(-int(merged) // played.settings.target_size), 1)
    stored = played.live_bytes + played.kept_bytes
    months = max(load.seconds, load.interval) / _MONTH
    cost = {
        "request_cost": (
            requests["puts"] * prices.put + requests["gets"] * prices.get + requests["lists"] * prices.list
        )
        / _THOUSAND,
        "storage_cost": float(stored.mean()) / _GB * prices.storage * months,
    }
    return {
        "commits": load.commits,
        "rows": rows,
        "bytes_in": round(came),
        "file_groups": last.groups,
        "small_file_groups": last.small_groups,
        "base_files": last.base_files,
        "base_bytes": last.base_bytes,
        "log_files": last.log_files,
        "log_bytes": last.log_bytes,
        **{f"base_file_p{round(share * 100):02}": quantile(sizes, share) for share in _SHARES},
        "written_bytes": written,
        "write_amplification": written / came if came else 0.0,
        "write_amplification_writing": causes["written"] / came if came else 0.0,
        "write_amplification_compaction": causes["compacted"] / came if came else 0.0,
        "write_amplification_clustering": causes["clustered"] / came if came else 0.0,
        "read_files": read_files,
        "read_file_amplification": read_files / needed,
        "read_byte_amplification": live / merged if merged else 0.0,
        "stored_bytes_most": int(stored.max()),
        "kept_bytes": int(played.kept_bytes[-1]),
        "compactions": int(totals["compactions"].sum()),
        "clusterings": int(totals["clusterings"].sum()),
        "service_seconds": (causes["compacted"] + causes["clustered"]) / prices.rewrite_speed,
        "never_compacted_bytes": last.log_bytes if not totals["compactions"].any() else 0,
        **requests,
        **cost,
    }


def _live_by_commit(totals: Totals, *, hidden: Numbers | None = None) -> Numbers:
    """Return the bytes that a snapshot reads after each commit: what was written and is neither old nor *hidden*."""
    written = totals["written_bytes"] + totals["compacted_bytes"] + totals["clustered_bytes"] - totals["old_bytes"]
    live: Numbers = np.cumsum(written)
    if hidden is not None:
        live -= hidden
    last = totals.samples[-1]
    return live + (last.base_bytes + last.log_bytes - int(live[-1]))


def _requests(board: Board, totals: Totals) -> dict[str, int]:
    """Return the requests of the writes and services, without those of the metadata table."""
    files = sum(int(totals[name].sum()) for name in ("base_files", "log_files", "service_files")) >> FRACTION
    instants = board.load.commits + int((totals["compactions"] + totals["clusterings"]).sum())
    old = int(totals["old_files"].sum()) >> FRACTION
    reads = old if board.kind is Kind.COW else int(totals["service_files"].sum() >> FRACTION) + old
    lanes = len(board.active)
    return {
        "puts": files + _TIMELINE_FILES * instants,
        "gets": reads + instants,
        "lists": board.load.commits * (1 + lanes),
    }


def _requests_of_files(run: FilesRun) -> dict[str, int]:
    """Return the requests of the tasks and of the coordinator; a rename of a file is a put, as stores copy it."""
    counts = {name: int(run.totals[name].sum()) >> FRACTION for name in ("base_files", "service_files", "old_files")}
    return {
        "puts": counts["base_files"] + counts["service_files"] + sum(run.sizes.values()) + _JOURNAL * run.load.commits,
        "gets": counts["old_files"],
        "lists": 2 * run.load.commits,
    }
