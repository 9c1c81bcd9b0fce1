"""Results of :mod:`benchmarks.tpch` as a section of a page, with a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMS = {"COPY_ON_WRITE": "copy-on-write", "MERGE_ON_READ": "merge-on-read"}
_ENGINES = {"duckdb": "DuckDB", "polars": "Polars", "datafusion": "DataFusion by hudi-rs"}
_COLOURS = {"duckdb": "#1f6feb", "polars": "#8250df", "datafusion": "#9aa4ae"}


def markdown(found: Sequence[dict[str, Any]]) -> list[str]:
    """Return a row for each engine and form of tables: times as fast as plain Parquet, by processor and by clock."""
    names = ["engine", "tables", "by the processor", "lowest query", "highest query", "by the clock"]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for engine, form in dict.fromkeys((one["engine"], one["form"]) for one in found if one["form"] in _FORMS):
        ones = [one for one in found if (one["engine"], one["form"]) == (engine, form)]
        by_cpu = {one["query"]: one["cpu_ratio"] for one in ones}
        least, most = min(by_cpu, key=by_cpu.__getitem__), max(by_cpu, key=by_cpu.__getitem__)
        cells = [
            f"{geometric_mean(by_cpu.values()):.2f}",
            f"{by_cpu[least]:.2f} (Q{least})",
            f"{by_cpu[most]:.2f} (Q{most})",
            f"{geometric_mean(one['ratio'] for one in ones):.2f}",
        ]
        lines.append(f"| {_ENGINES[engine]} | {_FORMS[form]} | {' | '.join(cells)} |")
    return lines


def section(found: dict[str, Any] | None) -> str:
    """Return the section of the page of performance; nothing without results."""
    if found is None:
        return ""
    return f"""## TPC-H

The 22 queries by `python -m benchmarks.tpch`, each engine beside itself on plain Parquet files of the same rows and
codec; 1 is as fast, and the figures of all queries are geometric means. Copy-on-write tables were made by one bulk
insert; of merge-on-read tables 5 % of the rows are in Avro log files, too. DuckDB reads the tables by
`Table.to_duckdb()`, Polars by `Table.lazy()`, DataFusion by hudi-rs. {found["conditions"]}.

![Times as fast as plain Parquet, by query](images/tpch.svg)

{chr(10).join(markdown(found["queries"]))}

"""


def draw_queries(axes: Axes, found: dict[str, Any]) -> None:
    """Draw for each query how many times as fast as plain Parquet it is: filled points are copy-on-write tables."""
    for engine, form in dict.fromkeys(
        (one["engine"], one["form"]) for one in found["queries"] if one["form"] in _FORMS
    ):
        ones = [one for one in found["queries"] if (one["engine"], one["form"]) == (engine, form)]
        is_filled = form == "COPY_ON_WRITE"
        axes.plot(
            [one["query"] for one in ones],
            [one["cpu_ratio"] for one in ones],
            "o",
            color=_COLOURS[engine],
            markerfacecolor=_COLOURS[engine] if is_filled else "none",
            label=f"{_ENGINES[engine]}, {_FORMS[form]}",
            markersize=4,
        )
    axes.axhline(1, color="#9aa4ae", linewidth=1)
    axes.set(xlabel="query", ylabel="times as fast as plain Parquet", yscale="log")
    axes.set_xticks(range(1, 23))
    axes.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
