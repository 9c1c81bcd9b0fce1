"""Simulate a workload; compare settings; vary single settings over a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from hudiformat.errors import ArgumentError, UnsupportedFeatureError
from hudiformat.simulation.files import FilesRun
from hudiformat.simulation.lanes import new_board
from hudiformat.simulation.playing import play
from hudiformat.simulation.result import Prices, Simulation, result_of, result_of_files
from hudiformat.simulation.settings import Engine, Settings
from hudiformat.simulation.start import Start
from hudiformat.simulation.workload import Workload

SAMPLES = 200
"""The number of moments at which the layout is looked at, if nothing else is said."""
_MOST_POINTS = 10_000


def simulate_workload(
    workload: Workload,
    settings: Settings,
    *,
    seed: int = 0,
    samples: int = SAMPLES,
    prices: Prices | None = None,
    start: Start | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Simulation:
    """Play a workload with the settings of a writer; *progress* is told how many commits have been played.

    Raises:
        ArgumentError: the number of *samples* is not 2 to 100,000, the workload has too many rows, or
            none of them fits into a file.
        UnsupportedFeatureError: a state is reached that is not simulated.
    """
    if not 2 <= samples <= 100_000:  # noqa: PLR2004 - the first and the last commit
        raise ArgumentError(f"samples: expected 2 to 100,000, found {samples}", argument="samples")
    if settings.engine is Engine.FILES:
        if start is not None:
            raise UnsupportedFeatureError(
                "cannot simulate the file sink: expected a folder without files to begin with, found a table; use "
                "hudiformat.simulate",
                feature="simulation of the file sink on a table",
            )
        run = FilesRun(workload, settings, seed=seed)
        run.play(samples=samples, progress=progress)
        return result_of_files(run, prices or Prices())
    most = settings.options.sizing.max_file_size
    if not settings.has_buckets and workload.file_bytes + workload.row_bytes > most:
        raise ArgumentError(
            f"file_bytes: expected less than {most:,}, hoodie.parquet.max.file.size, found {workload.file_bytes:,}: no "
            "row would fit into a file",
            argument="file_bytes",
        )
    board = new_board(workload, settings, seed=seed, start=start)
    return result_of(board, play(board, samples=samples, progress=progress), prices or Prices())


@dataclass(frozen=True, slots=True)
class Point:
    """The result with one choice of settings; ``is_best`` if no other result writes less and leaves fewer files."""

    chosen: Mapping[str, str]
    simulation: Simulation
    is_best: bool = False


def choices(varied: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Yield each combination of values of the *varied* settings.

    Raises:
        ArgumentError: there are more than 10,000.
    """
    count = 1
    for values in varied.values():
        count *= len(values)
    if count > _MOST_POINTS:
        raise ArgumentError(f"expected at most {_MOST_POINTS:,} combinations, found {count:,}", argument="vary")
    for values in product(*varied.values()):
        yield dict(zip(varied, values, strict=True))


def mark_best(points: Sequence[Point]) -> list[Point]:
    """Return *points* with those marked that are on the Pareto front of bytes written and files that a query reads."""

    def costs(point: Point) -> tuple[float, float]:
        return point.simulation.summary["written_bytes"], point.simulation.summary["read_files"]

    found = []
    for one in points:
        own = costs(one)
        others = [costs(other) for other in points]
        is_worse = any(other != own and other[0] <= own[0] and other[1] <= own[1] for other in others)
        found.append(Point(one.chosen, one.simulation, not is_worse))
    return found
