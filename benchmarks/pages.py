"""The page docs/performance.md and its plots, from the results of runs.

    python -m benchmarks --case mixed --case commits --json run.json    # and so on, in one run or in several
    python -m benchmarks.sizes --json sizes.json
    python -m benchmarks.pages run.json ...                             # accepts them: benchmarks/results.json
    python -m benchmarks.shapes --memory --json memory.json             # and without --memory
    python -m benchmarks.pages --memory memory.json --disk disk.json    # accepts them: benchmarks/shapes.json
    python -m benchmarks.lake_loader --json benchmarks/lake_loader.json # accepts it
    python -m benchmarks.tpch --json tpch.json
    python -m benchmarks.pages --tpch tpch.json --conditions "..."      # accepts it: benchmarks/tpch.json
    python -m benchmarks.shapes --shape merge refresh files --json lhbench.json
    python -m benchmarks.pages --lhbench lhbench.json --conditions "..."    # accepts it: benchmarks/lhbench.json
    python -m benchmarks.pages                                          # draws the accepted ones again

Needs matplotlib, the extra ``bench``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks import lake_results, lhbench_results, tpch_results
from benchmarks.java import BEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).parents[1]
ACCEPTED, SIZES = ROOT / "benchmarks" / "results.json", ROOT / "benchmarks" / "sizes.json"
TABLES, LAKE = ROOT / "benchmarks" / "shapes.json", ROOT / "benchmarks" / "lake_loader.json"
TPCH, LHBENCH = ROOT / "benchmarks" / "tpch.json", ROOT / "benchmarks" / "lhbench.json"
PAGE, IMAGES = ROOT / "docs" / "performance.md", ROOT / "docs" / "images"

SHAPES = ("mixed", "narrow", "wide", "very wide", "strings", "nested", "nullable")
WORKS = ("encode", "write", "decode")
_PLACES = ("memory", "disk")
_JIT = ", jit"
_OURS, _JITTED, _PEER, _TEXT = "#1f6feb", "#8250df", "#9aa4ae", "#7d8590"
_POINTS = 50
Data = dict[str, Any]
_NO_RESULTS: Data = {"conditions": {}, "comparisons": [], "limits": [], "series": {}}


def accepted(before: Data, files: Iterable[Path]) -> Data:
    """The results *before* with those of *files*: each replaces the cases that it has, whose conditions are its own."""
    merged: Data = {kind: before.get(kind, empty) for kind, empty in _NO_RESULTS.items()}
    for path in files:
        found: Data = json.loads(path.read_text("utf-8"))
        cases = {one["case"]: found["conditions"] for kind in ("comparisons", "limits") for one in found[kind]}
        merged["conditions"] = merged["conditions"] | cases
        for kind in ("comparisons", "limits"):
            merged[kind] = [one for one in merged[kind] if one["case"] not in cases] + found[kind]
        rounded = {name: [round(one, 2) for one in taken] for name, taken in found["series"].items()}
        merged["series"] = merged["series"] | rounded
    return merged


def ratio(results: Data, case: str, measure: str, peer: str = BEST.name) -> float | None:
    """How many times as fast as *peer*; None where it was not measured."""
    found = [
        one for one in results["comparisons"] if (one["case"], one["measure"], one["peer"]) == (case, measure, peer)
    ]
    return found[0]["ratio"] if found else None


def conditions(results: Data) -> list[str]:
    """A line for each run that results are of: its cases, and under which conditions it was."""
    cases: dict[str, list[str]] = {}
    for case, found in results["conditions"].items():
        text = "; ".join(f"{name.lower()}: {value}" for name, value in found.items() if name != "Took")
        cases.setdefault(text, []).append(f"`{case}`")
    return [f"- {', '.join(names)}: {text}" for text, names in cases.items()]


def shapes(results: Data) -> list[str]:
    """A line for each shape of rows: the ratios of each work, by numpy and with compiled kernels."""
    lines = [
        "| rows | " + " | ".join(f"{work} | with kernels" for work in WORKS) + " |",
        "|---" * (1 + 2 * len(WORKS)) + "|",
    ]
    for case in SHAPES:
        if all(ratio(results, case, work + kernels) is None for work in WORKS for kernels in ("", _JIT)):
            continue
        cells = [ratio(results, case, work + kernels) for work in WORKS for kernels in ("", _JIT)]
        lines.append(f"| {case} | " + " | ".join("" if one is None else f"{one:.2f} x" for one in cells) + " |")
    return lines


def tables(found: Data) -> list[str]:
    """A line for each step of each shape of tables: how many times faster than deltalake, and both peaks of memory.

    With other contenders, how many times faster than each of these it is in memory.
    """
    kinds = ("COPY_ON_WRITE", "MERGE_ON_READ")
    others = list(dict.fromkeys(name for one in found["memory"] for name in one.get("others", {})))
    titles = ["zstd, in memory: copy-on-write / merge-on-read", *(f"than {name}" for name in others)]
    lines = [
        f"| shape | step | {' | '.join(titles)} | defaults, on disk | MB | deltalake, MB |",
        "|---" * (5 + len(titles)) + "|",
    ]
    ratios = {
        place: {(one["shape"], one["step"], one["kind"]): one["ratio"] for one in found[place]} for place in _PLACES
    }
    peaks = {(one["shape"], one["step"], one["kind"]): (one["peak_mb"], one["peer_peak_mb"]) for one in found["memory"]}
    for shape, step in dict.fromkeys((one["shape"], one["step"]) for one in found["memory"]):
        cells = [
            " / ".join(f"{known[shape, step, kind]:.2f}" for kind in kinds if (shape, step, kind) in known)
            for known in ratios.values()
        ]
        of_step = [one for one in found["memory"] if (one["shape"], one["step"]) == (shape, step)]
        cells[1:1] = [
            " / ".join(
                f"{one['others'][name] / one['seconds']:.2f}" for one in of_step if name in one.get("others", {})
            )
            for name in others
        ]
        own = " / ".join(_megabytes(peaks[shape, step, kind][0]) for kind in kinds if (shape, step, kind) in peaks)
        peer = next(peaks[shape, step, kind][1] for kind in kinds if (shape, step, kind) in peaks)
        lines.append(f"| {shape} | {step} | {' | '.join(cells)} | {own} | {_megabytes(peer)} |")
    return lines


def _default_costs(inserts: Sequence[Data]) -> list[str]:
    return [f"| {one['options']} | {one['place']} | {one['wall']:.2f} | {one['cpu']:.2f} |" for one in inserts]


def _megabytes(peak: float | None) -> str:
    return "" if peak is None else f"{peak:,.0f}"


def commits(results: Data) -> list[str]:
    """A line for each series of commits: the median of the first tenth, of all, and of the last tenth."""
    lines = ["| commits, writer | first tenth, ms | median, ms | last tenth, ms |", "|---|---|---|---|"]
    for name, taken in results["series"].items():
        tenth = max(len(taken) // 10, 1)
        figures = (median(taken[:tenth]), median(taken), median(taken[-tenth:]))
        lines.append(f"| {name}, {len(taken):,} commits | " + " | ".join(f"{one:.1f}" for one in figures) + " |")
    return lines


def growth(sizes: Sequence[Data]) -> list[str]:
    """A line for each work on large things: what it takes at each size."""
    lines = ["| case | work | seconds of the processor, by size | MB | requests |", "|---|---|---|---|---|"]
    for case, work in dict.fromkeys((one["case"], one["work"]) for one in sizes):
        found = [one for one in sizes if (one["case"], one["work"]) == (case, work)]
        taken = ", ".join(f"{one['size']:,}: {one['cpu_seconds']:.2f}" for one in found)
        last = found[-1]
        requests = "" if last["requests"] is None else f"{last['requests']:,}"
        lines.append(f"| {case} ({last['unit']}) | {work} | {taken} | {last['peak_mb']:,.0f} | {requests} |")
    return lines


@dataclass(frozen=True, kw_only=True)
class Published:
    """The results of workloads that others have published; None of one that has not been accepted."""

    lhbench: Data | None
    tpch: Data | None
    lake: Data | None

    @classmethod
    def accepted(cls) -> Published:
        """Return the accepted ones."""
        return cls(lhbench=accepted_in(LHBENCH), tpch=accepted_in(TPCH), lake=accepted_in(LAKE))

    @property
    def sections(self) -> str:
        """Their sections of the page."""
        return lhbench_results.section(self.lhbench) + tpch_results.section(self.tpch) + lake_results.section(self.lake)

    @property
    def plots(self) -> list[tuple[str, Any, Any, float]]:
        """Their plots: the name, what draws it, its data, and its height."""
        every = (
            ("lhbench", lhbench_results.draw_steps, self.lhbench, 4.6),
            ("lake-loader", lake_results.draw_rounds, self.lake, 3.4),
            ("tpch", tpch_results.draw_queries, self.tpch, 3.4),
        )
        return [one for one in every if one[2] is not None]


def page(results: Data, sizes: Sequence[Data], shapes_of_tables: Data, published: Published) -> str:
    """The page in Markdown."""
    return f"""# Performance

<!-- made by python -m benchmarks.pages -->

Figures of the last accepted runs, as times the speed of a peer in the same run. All of them, also where hudiformat is
the slower one, what limits each and what was tried: [results](../benchmarks/RESULTS.md). How they are measured:
[benchmarks](../benchmarks/README.md).

{chr(10).join(conditions(results))}

## Shapes of rows

Encoding rows to log blocks, writing them to a log file, and decoding them, with one thread, as times the speed of
Hudi's own Java classes with their best flags; with numpy alone, and with compiled kernels.

![Times the speed of Java, by the shape of rows](images/shapes.svg)

{chr(10).join(shapes(results))}

## Tables in one process

What a Python user without Spark would pick instead is deltalake. Both play the same steps by turns; a number is how
many times faster hudiformat is, so deltalake is the faster one where it is below 1. {shapes_of_tables["conditions"]}

```text
python -m benchmarks.shapes --memory     # with zstd, in memory: neither gzip nor fsync is in it
python -m benchmarks.shapes              # by defaults, on disk
```

{chr(10).join(tables(shapes_of_tables))}

Where deltalake is the faster one, this is why:

- An insert writes five meta columns more, two of them texts that differ in each row, and a bloom filter of the record
  keys; deltalake has neither. These are what makes later upserts and deletes fast, and Hudi expects them.
- Many small partitions: each file costs 0.4 milliseconds of the processor, most of them in Python, for its place, its
  partition's folder and metadata file and its statistics; the rows of all files are encoded together.
- Many files of some thousand rows, as in LHBench's merges below: each costs 10 to 14 milliseconds of the processor when
  it is written or updated, of which encoding and decoding Parquet is 3 to 5; the rest is Python, one thread at a time.
- Reading a merge-on-read table with log files costs some milliseconds for each file slice, because log blocks have
  rows, not columns. Compaction, or the table type copy-on-write, avoids it.

What the defaults cost: seconds of one insert of the shape `rows`, the best of several, without other steps between.

| options | place | wall | processor |
|---|---|---|---|
{chr(10).join(_default_costs(shapes_of_tables["inserts"]))}

zstd is hudiformat's default codec, which every Hudi reads; `hoodie.parquet.compression.codec=gzip` chooses Hudi's own,
which the extra `gzip` compresses by ISA-L in a seventh to a twentieth of zlib's time, to files a third larger than by
zstd. Columns that a codec makes less than an eighth smaller, such as random numbers and vectors, are stored
[as they are](../spec/parquet-copy.md#columns-without-compression): one such column of two million rows is read in half
of the time.
A commit syncs its files to the disk before it completes; deltalake syncs none.

{published.sections}## Commits

Upserts in one process, the table's age on the horizontal axis. hudiformat syncs each file, deltalake does not.

![Milliseconds of a commit, by the number of commits before](images/commits.svg)

{chr(10).join(commits(results))}

## Large sizes

Each work in a process of its own; memory is above that of the interpreter and its libraries.
[A table of ten petabytes](scale.md) is computed from these figures.

![Seconds of the processor, by size](images/growth.svg)

{chr(10).join(growth(sizes))}
"""


def accepted_in(path: Path) -> Data | None:
    """The accepted results in the file *path*; None if there are none."""
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def draw(results: Data, sizes: Sequence[Data], published: Published) -> None:
    """Draw the plots; those of published workloads if there are results.

    Raises:
        ImportError: matplotlib is not installed; it is the extra ``bench``.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    plain: Any = {"svg.fonttype": "none", "svg.hashsalt": "hudiformat", "text.color": _TEXT, "axes.labelcolor": _TEXT}
    plain |= {"xtick.color": _TEXT, "ytick.color": _TEXT, "axes.edgecolor": _TEXT, "font.size": 9}
    plots: tuple[tuple[str, Any, Any, float], ...] = (
        ("shapes", _shapes, results, 3.4),
        ("commits", _commits, results, 3.4),
        ("growth", _growth, sizes, 4.2),
        *published.plots,
    )
    with mpl.rc_context(plain):
        for name, plot, data, height in plots:
            figure = Figure(figsize=(7.6, height), layout="constrained")
            plot(figure.subplots(), data)
            figure.savefig(IMAGES / f"{name}.svg", transparent=True, metadata={"Date": None})


def _shapes(axes: Axes, results: Data) -> None:
    cases = [case for case in SHAPES if ratio(results, case, WORKS[0]) is not None] or list(SHAPES)
    labels = [f"{case}\n{work}" for case in cases for work in WORKS]
    for offset, kernels, colour, name in ((-0.2, "", _OURS, "numpy"), (0.2, _JIT, _JITTED, "with kernels")):
        found = [ratio(results, case, work + kernels) for case in cases for work in WORKS]
        places = [number + offset for number, one in enumerate(found) if one is not None]
        axes.bar(places, [one for one in found if one is not None], 0.38, color=colour, label=name)
    axes.axhline(1, color=_PEER, linewidth=1)
    axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=7)
    axes.set(ylabel="times as fast as Java")
    axes.legend(frameon=False)


def _commits(axes: Axes, results: Data) -> None:
    for name, taken in results["series"].items():
        size = max(len(taken) // _POINTS, 1)
        points = [(start, median(taken[start : start + size])) for start in range(0, len(taken), size)]
        is_ours = name.endswith("hudiformat")
        axes.plot(
            *zip(*points, strict=True), label=name, linewidth=2 if is_ours else 1, linestyle="-" if is_ours else "--"
        )
    axes.set(xlabel="commits before", ylabel="milliseconds", xscale="symlog", yscale="log")
    axes.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))


def _growth(axes: Axes, sizes: Sequence[Data]) -> None:
    for case, work in dict.fromkeys((one["case"], one["work"]) for one in sizes):
        found = [one for one in sizes if (one["case"], one["work"]) == (case, work)]
        first = found[0]["size"]
        axes.plot(
            [one["size"] / first for one in found],
            [one["cpu_seconds"] for one in found],
            "o-",
            label=f"{case}: {work}",
            markersize=3,
        )
    axes.set(xlabel="times the smallest size", ylabel="seconds of the processor", xscale="log", yscale="log")
    axes.legend(frameon=False, fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))


def main(arguments: Sequence[str] | None = None) -> int:
    """Accept the results of the files that are given, and write page and plots."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=sys.modules[__name__].__doc__)
    parser.add_argument("results", nargs="*", type=Path, help="what runs saved with --json")
    for place in _PLACES:
        parser.add_argument(f"--{place}", type=Path, help=f"what benchmarks.shapes saved of tables in {place}")
    parser.add_argument("--tpch", type=Path, help="what benchmarks.tpch saved")
    parser.add_argument("--lhbench", type=Path, help="what benchmarks.shapes saved of merge, refresh and files")
    parser.add_argument("--conditions", default="", help="of the run of --tpch or --lhbench: machine, versions, rounds")
    asked = parser.parse_args(arguments)
    for given, target, name in ((asked.tpch, TPCH, "queries"), (asked.lhbench, LHBENCH, "steps")):
        if given is not None:
            found = [
                {key: _rounded(value) for key, value in one.items()} for one in json.loads(given.read_text("utf-8"))
            ]
            target.write_text(json.dumps({"conditions": asked.conditions, name: found}, indent=0) + "\n", "utf-8")
    if asked.results:
        if ACCEPTED in (path.resolve() for path in asked.results):
            parser.error(f"{ACCEPTED.name} has the accepted results themselves: name files that runs saved with --json")
        ACCEPTED.write_text(json.dumps(accepted(accepted_in(ACCEPTED) or {}, asked.results), indent=0), "utf-8")
    of_tables = json.loads(TABLES.read_text("utf-8"))
    runs = {place: path for place in _PLACES if (path := getattr(asked, place)) is not None}
    if runs:
        of_tables |= {place: json.loads(path.read_text("utf-8")) for place, path in runs.items()}
        TABLES.write_text(json.dumps(of_tables, indent=1) + "\n", "utf-8")
    results, sizes = (json.loads(path.read_text("utf-8")) for path in (ACCEPTED, SIZES))
    published = Published.accepted()
    PAGE.write_text(page(results, sizes["sizes"], of_tables, published), "utf-8")
    draw(results, sizes["sizes"], published)
    return 0


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    raise SystemExit(main())
