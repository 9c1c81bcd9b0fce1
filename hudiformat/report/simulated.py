"""The page of simulations: curves of several settings on one axis, and their numbers side by side."""

from __future__ import annotations

from collections.abc import Sequence

from hudiformat.report.page import fill_page
from hudiformat.simulation.simulating import Point

_CURVES = ("seconds", "groups", "small_groups", "base_bytes", "log_bytes", "kept_bytes", "base_files", "log_files")


def page_of_simulations(points: Sequence[Point]) -> str:
    """Return the HTML of a page about simulations, which has to be encoded in UTF-8."""
    facts = {"runs": [_facts_of(point) for point in points]}
    return fill_page("simulated.html", ("simulated.js",), facts)


def _facts_of(point: Point) -> dict[str, object]:
    simulation = point.simulation
    return {
        "name": ", ".join(f"{key}={value}" for key, value in point.chosen.items()) or "the settings",
        "is_best": point.is_best,
        "summary": dict(simulation.summary),
        "target": simulation.settings.target_size,
        "small": simulation.settings.small_size,
        "curves": {name: simulation.layout[name].to_pylist() for name in _CURVES},
        "sizes": _bins(simulation.sizes["bytes"].to_pylist(), simulation.sizes["files"].to_pylist()),
    }


def _bins(sizes: Sequence[int], files: Sequence[int]) -> dict[str, list[int]]:
    """Return the files of each size as a histogram with a bin for each doubling of the size.

    Three files of 100 bytes and two of 300 give the edges 64, 128, 256 and 512, and the files 3, 0, 2.
    """
    if not sizes:
        return {"edges": [], "files": [], "bytes": []}
    powers = [max(size, 1).bit_length() - 1 for size in sizes]
    first, last = min(powers), max(powers)
    counts, held = [0] * (last - first + 1), [0] * (last - first + 1)
    for power, size, count in zip(powers, sizes, files, strict=True):
        counts[power - first] += count
        held[power - first] += count * size
    return {"edges": [1 << power for power in range(first, last + 2)], "files": counts, "bytes": held}
