"""What a very large table costs, computed from measured constants: ``python -m benchmarks.scale`` writes docs/scale.md.

The constants are those of the last accepted run of :mod:`benchmarks.sizes`, in ``benchmarks/sizes.json``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SIZES = ROOT / "benchmarks" / "sizes.json"
PAGE = ROOT / "docs" / "scale.md"

_COMPACTED_EVERY = 10
"""Delta commits of the metadata table between its compactions, Hudi's default."""
_ACTIVE = 30
"""Commits on the active timeline at most, by Hudi's defaults."""
_MINUTES_OF_A_YEAR = 365 * 24 * 60
_MERGED = 10


@dataclass(frozen=True, slots=True)
class Shape:
    """A table, and what writes to it."""

    terabytes: float = 10_000
    files: int = 10**8
    partitions: int = 10**5
    executors: int = 1_000
    files_of_a_commit: int = 10_000


@dataclass(frozen=True, slots=True)
class Constants:
    """Measured: seconds, bytes and requests of one file, or one partition."""

    list_seconds: float
    list_bytes: float
    listing_bytes: float
    rewrite_seconds: float
    prune_seconds: float
    write_seconds: float
    write_requests: float
    commit_bytes: float

    @classmethod
    def of(cls, sizes: list[dict[str, Any]]) -> Constants:
        """The constants, from the largest sizes of a run."""
        largest = {(one["case"], one["work"]): one for one in sizes}  # sizes come in ascending order
        files, commit = "files in partitions of 100", "files of a commit"
        listed, rewritten = largest[files, "list all"], largest[files, "rewrite the listing"]
        read, written = largest[files, "snapshot of one partition"], largest[commit, "upsert"]
        return cls(
            list_seconds=listed["cpu_seconds"] / listed["size"],
            list_bytes=listed["peak_mb"] * 2**20 / listed["size"],
            listing_bytes=rewritten["bytes"] / rewritten["size"],
            rewrite_seconds=rewritten["cpu_seconds"] / rewritten["size"],
            prune_seconds=read["cpu_seconds"] / (read["size"] / 100),
            write_seconds=written["cpu_seconds"] / written["size"],
            write_requests=written["requests"] / written["size"],
            commit_bytes=written["bytes"] / written["size"],
        )


Row = tuple[str, str, str]


def rows(shape: Shape, costs: Constants) -> list[Row]:
    """What each part costs: the part, how it is computed, and the figure."""
    each = shape.files_of_a_commit
    per_task = each / shape.executors
    listing = costs.listing_bytes * shape.files
    rewriting = costs.rewrite_seconds * shape.files
    commit = costs.commit_bytes * each
    return [
        (
            "A task of a commit",
            f"{per_task:,.0f} files of {each:,}, {costs.write_seconds * 1e3:.1f} ms each beside its rows",
            _time(costs.write_seconds * per_task),
        ),
        (
            "Requests of a commit",
            f"{costs.write_requests:.1f} for each file, so many a second when it is spread over its minute",
            f"{costs.write_requests * each:,.0f} ({costs.write_requests * each / 60:,.0f} a second)",
        ),
        ("The commit's own file", f"{costs.commit_bytes:,.0f} bytes for each file", _size(commit)),
        (
            "The driver's memory for a commit",
            "statistics of all its files as objects, about ten times their bytes in the commit",
            _size(10 * commit),
        ),
        (
            "The active timeline, read by an incremental query",
            f"{_ACTIVE} commits at most (`hoodie.keep.max.commits`)",
            _size(_ACTIVE * commit),
        ),
        (
            "The archived timeline after a year",
            f"{_MINUTES_OF_A_YEAR:,} instants; ten files of a level are merged, so files are few; none is read to open",
            _size(_MINUTES_OF_A_YEAR * commit),
        ),
        (
            "The listing in the metadata table",
            f"{costs.listing_bytes:,.0f} bytes for each file, in one file group",
            _size(listing),
        ),
        (
            "Its compaction",
            f"every {_COMPACTED_EVERY} commits, {costs.rewrite_seconds * 1e6:.1f} us for each file, by one process",
            _time(rewriting),
        ),
        (
            "Planning a query of one partition",
            f"{costs.prune_seconds * 1e6:.0f} us for each of {shape.partitions:,} partition paths, its files looked up",
            _time(costs.prune_seconds * shape.partitions),
        ),
        (
            "Planning a query of the whole table in one process",
            f"{costs.list_seconds * 1e6:.1f} us and {costs.list_bytes:,.0f} bytes for each file",
            f"{_time(costs.list_seconds * shape.files)}, {_size(costs.list_bytes * shape.files)}",
        ),
    ]


def breaks(shape: Shape, costs: Constants) -> list[str]:
    """What breaks first, in sentences, the first limit first."""
    rewriting = costs.rewrite_seconds * shape.files
    allowed = 60.0 * _COMPACTED_EVERY
    fitting = allowed / costs.rewrite_seconds
    planned = 64 * 2**30 / costs.list_bytes
    per_second = costs.write_requests * shape.files_of_a_commit / 60
    listing = (
        "**The compaction of the listing.** All files of a table are in one file group of the metadata table, as in "
        f"Hudi, and it is rewritten every {_COMPACTED_EVERY} commits: {_time(rewriting)} of one processor, where a "
        f"commit a minute leaves {_time(allowed)}. Up to {_count(fitting)} files it keeps pace. Beyond, compact it "
        "less often (`hoodie.metadata.compact.max.delta.commits`), which lets its log files grow, or commit less often."
    )
    planning = (
        f"**Planning the whole table in one process.** With 64 GB for the driver it ends at {_count(planned)} files. "
        "Queries that name partitions are planned by what they name; a query of everything needs tables of fewer, "
        "larger files: `cluster`, and a larger `hoodie.parquet.max.file.size`."
    )
    requests = (
        f"**Requests.** {per_second:,.0f} a second on average are below what object stores allow for one prefix "
        "(3,500 writes a second on S3), but the tasks of a commit send theirs in its first seconds."
    )
    return [listing, planning, requests]


def page(shape: Shape, costs: Constants) -> str:
    """The page in Markdown."""
    table = "\n".join(f"| {part} | {how} | {figure} |" for part, how, figure in rows(shape, costs))
    numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(breaks(shape, costs), 1))
    return f"""# A table of ten petabytes, on paper

<!-- made by python -m benchmarks.scale -->

What a table would cost that is larger than any that was tried: {shape.terabytes / 1000:,.0f} PB in {shape.files:,}
files and {shape.partitions:,} partitions, written by {shape.executors:,} executors, one commit of
{shape.files_of_a_commit:,} files a minute. Each figure is a constant, measured on one slow core by
`python -m benchmarks.sizes` at the largest size that was tried, times a number of things;
[how they grow](performance.md) is measured too.

| part | how it is computed | cost |
|---|---|---|
{table}

## What breaks first

{numbered}

Times are processor time of one core of the machine that [the results](../benchmarks/RESULTS.md) name; waiting for an
object store comes on top. Rows are not in these figures: executors write and read them, at the speeds of the results.
"""


def _time(seconds: float) -> str:
    for size, unit in ((3600, "h"), (60, "min"), (1, "s")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds * 1000:,.0f} ms"


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def _count(number: float) -> str:
    return f"{number / 1e6:,.0f} million"


def main() -> int:
    """Write the page."""
    costs = Constants.of(json.loads(SIZES.read_text("utf-8"))["sizes"])
    PAGE.write_text(page(Shape(), costs), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
