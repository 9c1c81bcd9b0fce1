"""Results of :mod:`benchmarks.lake_loader` as a section of a page, with a table and a plot."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENGINES = {"hudiformat": "hudiformat", "hudi": "Hudi 1.2.0", "delta": "Delta Lake 3.3.2"}
_COLOURS = {"hudiformat": "#1f6feb", "hudi": "#9aa4ae", "delta": "#8250df"}


def markdown(found: dict[str, Any]) -> list[str]:
    """Return a row for each load and engine: seconds of rounds and queries, files, bytes and memory at the end."""
    of_rounds = ["first round, s", "later rounds, median, s", "all rounds, s", "files", "MB", "memory, GB"]
    names = ["load", "engine", *of_rounds, "count, s", "sum, s"]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for load, engines in found["loads"].items():
        for engine, taken in engines.items():
            if "failed" in taken:
                lines.append(f"| {load} | {ENGINES[engine]} | ended because {taken['failed']} |" + " |" * 7)
                continue
            seconds = [one["seconds"] for one in taken["rounds"]]
            last = taken["rounds"][-1]
            cells = [
                f"{seconds[0]:.1f}",
                f"{median(seconds[1:] or seconds):.2f}",
                f"{sum(seconds):.1f}",
                f"{last['files']:,}",
                f"{last['bytes'] / 1e6:,.0f}",
                f"{taken['peak_mb'] / 1000:.1f}",
                *(f"{one['seconds']:.2f}" for one in taken["queries"].values()),
            ]
            lines.append(f"| {load} | {ENGINES[engine]} | {' | '.join(cells)} |")
    return lines


def section(found: dict[str, Any] | None) -> str:
    """Return the section of the page of performance; nothing without results."""
    if found is None:
        return ""
    return f"""## Loads on Spark

The loads of Onehouse's Lake Loader, in small, by `python -m benchmarks.lake_loader`: a table is filled, and rounds of
rows follow, written by hudiformat (PySpark 4), by Hudi and by Delta Lake (PySpark 3.5) from the same files; then all
rows are counted, and a column is summed. `fact` has rows of 1 KB in 40 columns: a quarter of each round updates
recent days, and the rest is new in the newest two. `dim` has 99 columns and no partitions: half of each round are
updates. `events` adds rows of 200 bytes to the newest day. `partitions` is not Onehouse's: ten rows into each of 10,000
partitions, and a round of 500 updates and 500 new rows. Tables are copy-on-write, with each library's defaults but
for the codec. Memory is that of driver, JVM and Python together; files and bytes include those of the tables'
metadata. {found["conditions"]}.

![Seconds of each round after the first](images/lake-loader.svg)

{chr(10).join(markdown(found))}

"""


def draw_rounds(axes: Axes, found: dict[str, Any]) -> None:
    """Draw the seconds of each round after the first: a panel's worth of points for each load, side by side."""
    start = 0
    for load, engines in found["loads"].items():
        length = 0
        for engine, taken in engines.items():
            seconds = [one["seconds"] for one in taken.get("rounds", ())[1:]]
            length = max(length, len(seconds))
            label = ENGINES[engine] if start == 0 else None
            axes.plot(range(start, start + len(seconds)), seconds, color=_COLOURS[engine], label=label)
        axes.annotate(load, (start, 0.98), xycoords=("data", "axes fraction"), va="top")
        start += length + 2
    axes.set(xlabel="rounds of each load", ylabel="seconds", yscale="log")
    axes.set_xticks([])
    axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
