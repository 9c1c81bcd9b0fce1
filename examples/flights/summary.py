"""Prints a summary of the table that the pipeline wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as Grid

import hudiformat as hf


def print_summary(
    console: Console, table: hf.Table, commits: Sequence[hf.Commit], seconds: float, differing: int
) -> None:
    """Print the number of commits, file groups, slices and blocks, the sizes and the speed."""
    slices = table.file_slices()
    logs = [f"{table.path}/{item.partition_path}/{log.name}" for item in slices for log in item.log_files]
    kinds: Counter[str] = Counter()
    for path in logs:
        with hf.LogReader(path) as reader:
            kinds.update(block.type.name for block in reader)
    written = sum(commit.num_writes for commit in commits)
    deleted = sum(commit.num_deletes for commit in commits)
    rolled = sum(1 for commit in commits for stat in commit.stats if (stat.log_version or 1) > 1)
    grid = Grid(title="The flights table", show_header=False)
    for name, value in (
        ("commits", f"{len(commits)}, from {commits[0].instant} to {commits[-1].instant}"),
        ("partitions", f"{len({item.partition_path for item in slices})}"),
        ("file groups, one slice each", f"{len(slices)}"),
        ("log files", f"{len(logs)}, {rolled} of them rolled over"),
        ("blocks", ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))),
        ("size", f"{sum(item.size for item in slices) / 2**20:.1f} MiB"),
        ("rows written", f"{written} records and {deleted} deletes in {seconds:.1f} s"),
        ("speed", f"{(written + deleted) / seconds:,.0f} rows/s, {seconds / len(commits):.2f} s a commit"),
        ("rows that differ from plain Spark", f"{differing}"),
    ):
        grid.add_row(name, value)
    console.print(grid)
    console.print("[green]the table holds what it has to[/]" if not differing else "[red]ROWS DIFFER[/]")
