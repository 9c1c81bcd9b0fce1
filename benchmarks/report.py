"""The results as tables, for people and for RESULTS.md, and as a plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.commits import PARTS, medians
from benchmarks.results import Comparison, Growth, Limit, Results, Sized

_VERDICTS = {True: "met", False: "**not met**", None: ""}


def tables(results: Results) -> str:
    """All of it in Markdown, aligned so that it can be read as it stands."""
    parts = [
        "\n".join(f"- {name}: {value}" for name, value in results.conditions.items()),
        _table(
            ("case", "measure", "hudiformat", "peer", "", "ratio", "target", "", "MB", "peer's MB"),
            map(_comparison, results.comparisons),
        ),
        _table(("case", "measure", "hudiformat", "target", ""), map(_limit, results.limits)),
        _table(("operation", "rows", "ns a row", "MB"), map(_growth, results.growth)),
        sized(results.sizes),
        _table(
            ("milliseconds of a commit", *(f"tenth {number}" for number in range(1, PARTS + 1))),
            map(_series, results.series.items()),
        ),
        "\n".join(f"- Missing: {name}. {reason}" for name, reason in results.missing.items()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _comparison(item: Comparison) -> tuple[str, ...]:
    return (
        item.case,
        item.measure,
        f"{_speed(item.ours)} {item.unit}",
        item.peer,
        _speed(item.theirs),
        f"{item.ratio:.2f} x",
        "" if item.target is None else f"{item.target:g} x",
        _VERDICTS[item.met],
        _memory(item.peak_mb),
        _memory(item.peer_peak_mb),
    )


def _limit(item: Limit) -> tuple[str, ...]:
    sign = "≥" if item.at_least else "≤"
    target = "" if item.target is None else f"{sign} {item.target:g}"
    return (item.case, item.measure, f"{item.value:,.4g} {item.unit}", target, _VERDICTS[item.met])


def _growth(item: Growth) -> tuple[str, ...]:
    return (item.operation, f"{item.rows:,}", f"{item.nanoseconds:,.0f}", f"{item.peak_mb:,.0f}")


def sized(found: Sequence[Sized]) -> str:
    """What works on large sizes take."""
    return _table(("case", "work", "size", "s", "us a unit", "MB", "requests", "open files"), map(_sized, found))


def _sized(item: Sized) -> tuple[str, ...]:
    return (
        item.case,
        item.work,
        f"{item.size:,} {item.unit}",
        f"{item.seconds:,.3f}",
        f"{item.seconds / item.size * 1e6:,.1f}",
        f"{item.peak_mb:,.0f}",
        "" if item.requests is None else f"{item.requests:,}",
        f"{item.open_files}",
    )


def _series(item: tuple[str, list[float]]) -> tuple[str, ...]:
    name, taken = item
    texts = [f"{one:.1f}" for one in medians(taken)]
    return (name, *texts, *[""] * (PARTS - len(texts)))


def _speed(value: float) -> str:
    for size, name in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{name}"
    return f"{value:.3g}"


def _memory(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    if len(lines) == 1:
        return ""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    texts.insert(1, "-|-".join("-" * width for width in widths))
    return "\n".join(f"| {text} |" for text in texts)


def plot(results: Results, path: Path) -> None:
    """The ratios as bars, with targets, and the cost per row as it grows, in an image file of the path's kind.

    Raises:
        ImportError: matplotlib is not installed; it is the extra ``bench``.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4 + 0.25 * len(results.comparisons)), layout="constrained")
    bars, lines = figure.subplots(2, height_ratios=[max(len(results.comparisons), 1), 10])
    labels = [f"{item.case}: {item.measure} / {item.peer}" for item in results.comparisons]
    bars.barh(labels, [item.ratio for item in results.comparisons], color="tab:blue")
    targets = [(item.target, label) for item, label in zip(results.comparisons, labels, strict=True) if item.target]
    bars.plot([target for target, _ in targets], [label for _, label in targets], "k|", markersize=12, label="target")
    bars.axvline(1, color="grey", linewidth=0.8)
    bars.set(xscale="log", xlabel="times as fast as the peer")
    bars.invert_yaxis()
    bars.legend()
    for operation in sorted({item.operation for item in results.growth}):
        items = [item for item in results.growth if item.operation == operation]
        lines.plot([item.rows for item in items], [item.nanoseconds for item in items], "o-", label=operation)
    lines.set(xscale="log", xlabel="rows", ylabel="ns a row", ylim=(0, None))
    if results.growth:
        lines.legend()
    figure.savefig(path)
