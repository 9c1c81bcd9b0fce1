"""The section of file slices: reading them merged, against the package ``hudi`` and Hudi on Spark."""

from __future__ import annotations

from pathlib import Path

from benchmarks import python_peers, spark_tables
from benchmarks import slices as slice_tables
from benchmarks.cases import DATA_CASES, MIXED
from benchmarks.results import Comparison, Growth, Limit
from benchmarks.spark_tables import HUDI_ON_SPARK
from benchmarks.suite import MOST_GROWTH, TARGETS, Run
from benchmarks.timing import interleaved
from tests.conformance.hudi import NoHudiError

PIECES = (10, 100, 1_000)
"""So many log files or blocks of a hundred rows each does a slice have."""

FEW_PIECES = (2, 10)
_SCALE_OF_PIECES = 0.05
SHARES = (0.01, 0.1)
"""Of the rows of a slice so many are in log files, too; in others all are."""


def slices(run: Run) -> None:
    """Reading a file slice of a table: merged, against the package ``hudi`` and Spark; its base file, against Parquet.

    Then slices with few updates, and slices of more and more rows, log files and blocks.
    """
    for case, measure in ((MIXED, "read"), (DATA_CASES[1], "read narrow rows")):
        count = max(int(1_000_000 * run.scale), 100)
        path = slice_tables.make_table(run.folder / case.name, case, count)
        _merged(run, measure, path)
        if case is MIXED:
            _with_spark(run, path, count)
            best = interleaved(python_peers.base_file_speeds(path, count), run.rounds)
            _compared(run, "base only", best)
            _merged(run, "first read in a process", path, first=True)
            for share in SHARES:
                path = slice_tables.make_table(run.folder / f"{share:.0%}", case, count, share=share)
                _merged(run, f"read, {share:.0%} in logs", path)
    _pieces(run)


def _merged(run: Run, measure: str, path: Path, *, first: bool = False) -> None:
    mine = slice_tables.Measured("hudiformat", path, first=first)
    try:
        peer, theirs = slice_tables.peer_name(), slice_tables.Measured("hudi", path, first=first)
    except ImportError as error:
        run.results.missing["The package hudi"] = str(error)
        return
    best = interleaved({"hudiformat": mine, peer: theirs}, run.rounds)
    _compared(run, measure, best, mine=mine.peak_mb, theirs=theirs.peak_mb)
    run.results.limits.append(Limit("slice", f"{measure}, memory", mine.peak_mb, "MB", theirs.peak_mb))


def _with_spark(run: Run, path: Path, count: int) -> None:
    if not run.settings:
        return
    try:
        theirs = spark_tables.whole_by_hudi(path, run.rounds)
    except NoHudiError as error:
        run.results.missing["Hudi on Spark"] = str(error)
        return
    mine = slice_tables.Measured("hudiformat", path)
    best = interleaved({"hudiformat": mine}, run.rounds) | {HUDI_ON_SPARK: count / theirs["seconds"]}
    _compared(run, "read", best, mine=mine.peak_mb, theirs=theirs["peak_mb"])


def _compared(
    run: Run, measure: str, best: dict[str, float], *, mine: float | None = None, theirs: float | None = None
) -> None:
    """Note the *best* speeds of ours and of a peer, and the memory in MB of each."""
    peer = next(name for name in best if name != "hudiformat")
    target = TARGETS.get(("slice", measure, peer))
    found = Comparison("slice", measure, peer, "rows/s", best["hudiformat"], best[peer], target, mine, theirs)
    run.results.comparisons.append(found)


def _pieces(run: Run) -> None:
    """What a row costs where a slice has more and more log files, blocks, or rows."""
    sizes = PIECES if run.scale >= _SCALE_OF_PIECES else FEW_PIECES
    for name, files in (("log files", True), ("blocks", False)):
        costs = {}
        for pieces in sizes:
            path = slice_tables.make_pieces(run.folder / f"{name}-{pieces}", pieces, files=files)
            reader = slice_tables.Measured("hudiformat", path)
            costs[pieces] = 1e9 / interleaved({"": reader}, run.rounds)[""]
            run.results.growth.append(Growth(f"merge, {name}", pieces, costs[pieces], reader.peak_mb))
        more = 100 * (costs[sizes[-1]] / costs[sizes[-2]] - 1)
        label = f"{name}, cost per row at {sizes[-1]:,} over that at {sizes[-2]:,}"
        run.results.limits.append(Limit("slice", label, more, "%", MOST_GROWTH))
