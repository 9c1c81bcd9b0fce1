"""The cases of :mod:`benchmarks.sizes`: what is built, what is done with it, and at which sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import size_files, size_tables
from benchmarks.size_work import Work, Works


@dataclass(frozen=True, slots=True)
class SizeCase:
    """One thing that can be large: ``size`` of *unit*, in decades.

    *build* makes it in a folder, untimed.  *prepare* gives the works by their names, after what all of them need.
    *works* has the bounds of each at the largest size.
    """

    name: str
    unit: str
    sizes: tuple[int, ...]
    build: Callable[[Path, int], None]
    prepare: Callable[[Path, int], Mapping[str, Work]]
    works: Works


SIZE_CASES = (
    SizeCase(
        "log file", "GB", (1, 10, 100), size_files.build_sparse, size_files.sparse, {"scan": (), "scan in reverse": ()}
    ),
    SizeCase(
        "blocks in a file",
        "blocks",
        (10_000, 100_000, 1_000_000),
        size_files.build_blocks,
        size_files.blocks,
        {"scan": (("peak_mb", "MB", 300),), "decode": (("peak_mb", "MB", 600),)},
    ),
    SizeCase(
        "record",
        "MB",
        (1, 10, 100),
        size_files.nothing,
        size_files.records,
        {"encode and decode": (("peak_mb", "MB", 1000),)},
    ),
    SizeCase(
        "columns", "columns", (50, 500, 5_000), size_files.nothing, size_files.columns, {"encode": (), "decode": ()}
    ),
    SizeCase(
        "keys of 1 MB",
        "keys",
        (1, 10, 100),
        size_tables.build_large_keys,
        size_tables.large_keys,
        {"upsert": (), "read": ()},
    ),
    SizeCase(
        "log files in a slice",
        "log files",
        (100, 1_000, 10_000),
        size_tables.build_log_files,
        size_tables.log_files,
        {"snapshot": (("open_files", "open files", 100),)},
    ),
    SizeCase(
        "files in partitions of 100",
        "files",
        (10_000, 100_000, 1_000_000),
        size_tables.build_listing,
        size_tables.listing,
        {
            "snapshot of one partition": (("seconds", "s", 1),),
            "list all": (("seconds", "s", 10), ("peak_mb", "MB", 500)),
            "rewrite the listing": (),
        },
    ),
    SizeCase(
        "archived instants",
        "instants",
        (1_000, 10_000, 100_000),
        size_tables.build_archived,
        size_tables.archived,
        {"open and read": (("seconds", "s", 0.2),), "commits that archive": (("seconds", "s", 1),)},
    ),
    SizeCase(
        "partitions of a commit",
        "partitions",
        (10, 100, 1_000),
        size_tables.build_empty,
        size_tables.partitions,
        {"upsert": (("open_files", "open files", 100),), "snapshot": (("open_files", "open files", 100),)},
    ),
    SizeCase(
        "files of a commit",
        "files",
        (1_000, 10_000, 100_000),
        size_tables.build_buckets,
        size_tables.buckets,
        {"upsert": (("open_files", "open files", 100),), "list all": ()},
    ),
)
