"""Results of LHBench's shapes by :mod:`benchmarks.shapes` as a section of a page, with a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = {"COPY_ON_WRITE": "copy-on-write", "MERGE_ON_READ": "merge-on-read"}
_COLOURS = {"COPY_ON_WRITE": "#1f6feb", "MERGE_ON_READ": "#8250df"}


def _steps(found: Sequence[dict[str, Any]]) -> list[dict[str, dict[str, Any]]]:
    """Return the rows of each step of each shape, by the type of the table."""
    steps: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for one in found:
        steps.setdefault((one["shape"], one["step"]), {})[one["kind"]] = one
    return list(steps.values())


def markdown(found: Sequence[dict[str, Any]]) -> list[str]:
    """Return a row for each step: the seconds of both types of tables and of the others, and the peaks of memory."""
    others = list(dict.fromkeys(name for one in found for name in one["others"]))
    names = ["shape", "step", *(f"{kind}, s" for kind in _KINDS.values()), "deltalake, s"]
    names += [*(f"{name}, s" for name in others), "MB", "deltalake, MB"]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for kinds in _steps(found):
        one = next(iter(kinds.values()))
        cells = [f"{kinds[kind]['seconds']:.3f}" if kind in kinds else "" for kind in _KINDS]
        cells.append(f"{one['peer_seconds']:.3f}")
        cells += [f"{one['others'][name]:.3f}" if name in one["others"] else "" for name in others]
        cells.append(" / ".join(f"{kinds[kind]['peak_mb'] or 0:,.0f}" for kind in _KINDS if kind in kinds))
        lines.append(f"| {one['shape']} | {one['step']} | {' | '.join(cells)} | {one['peer_peak_mb'] or 0:,.0f} |")
    return lines


def section(found: dict[str, Any] | None) -> str:
    """Return the section of the page of performance; nothing without results."""
    if found is None:
        return ""
    return f"""## LHBench

Three workloads of "Analyzing and Comparing Lakehouse Storage Systems" (CIDR 2023), in one process, by
`python -m benchmarks.shapes --shape merge refresh files`: merges of 0.0001 to 10 % into 7,000,000 rows in 1,000
partitions, with a count, the count of a key and two sums before and after; ten merges of 3 % into 2,000,000 rows, with
five queries before and after; and 10,000 files of one row each. {found["conditions"]}.

![Times as fast as deltalake, by step](images/lhbench.svg)

{chr(10).join(markdown(found["steps"]))}

"""


def draw_steps(axes: Axes, found: dict[str, Any]) -> None:
    """Draw for each step how many times as fast as deltalake tables of both types are."""
    steps = _steps(found["steps"])
    for kind, name in _KINDS.items():
        ones = [(place, kinds[kind]["ratio"]) for place, kinds in enumerate(steps) if kind in kinds]
        axes.plot(*zip(*ones, strict=True), "o", color=_COLOURS[kind], label=name, markersize=4)
    axes.axhline(1, color="#9aa4ae", linewidth=1)
    firsts = [next(iter(kinds.values())) for kinds in steps]
    axes.set_xticks(range(len(steps)), [f"{one['shape']}: {one['step']}" for one in firsts], rotation=90, fontsize=5)
    axes.set(ylabel="times as fast as deltalake", yscale="log")
    axes.legend(frameon=False, fontsize=7)
