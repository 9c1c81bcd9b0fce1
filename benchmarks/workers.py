"""Two processes against one: each encodes its share of the blocks to a file, or decodes its share of a file.

As two tasks of a pipeline would: rows are where the work is, nothing but counts goes between processes.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import hudiformat as hf
from benchmarks import ours
from benchmarks.cases import MIXED
from benchmarks.timing import Speed, timed

Task = Callable[[int, int], int]

_HELD: dict[str, ours.Rows] = {}
"""In a worker: its rows, made before anything is timed."""


def speeds(count: int, folder: Path) -> tuple[dict[str, dict[str, Speed]], ProcessPoolExecutor]:
    """The speeds of encoding and decoding with one and with two workers; the pool has to be shut down."""
    rows = _rows(count)
    path = ours.written(rows.blocks, folder / "shared")
    blocks = len(rows.parts)
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(2, mp_context=spawn, initializer=_hold, initargs=(count,))
    tasks: dict[str, Task] = {"encode": partial(_encode, folder), "decode": partial(_decode, path)}
    found = {}
    for name, task in tasks.items():
        for _ in range(2):  # both workers are warm then, as good as surely
            _share(pool, task, blocks, 2)
        found[name] = {
            "one": timed(partial(_share, pool, task, blocks, 1), count),
            "two": timed(partial(_share, pool, task, blocks, 2), count),
        }
    return found, pool


def _share(pool: ProcessPoolExecutor, task: Task, blocks: int, workers: int) -> None:
    bounds = [blocks * number // workers for number in range(workers + 1)]
    futures = [pool.submit(task, bounds[number], bounds[number + 1]) for number in range(workers)]
    wait(futures)
    for future in futures:
        future.result()


def _rows(count: int) -> ours.Rows:
    """At least eight blocks, so that there is something to share."""
    return ours.prepare(replace(MIXED, block_rows=min(MIXED.block_rows, -(-count // 8))), count)


def _hold(count: int) -> None:
    _HELD["rows"] = _rows(count)


def _encode(folder: Path, start: int, stop: int) -> int:
    held = _HELD["rows"]
    share = ours.Rows(held.case, held.parts[start:stop], held.schema)
    ours.written(share.blocks, folder / f"share-{start}-{stop}")
    return share.count


def _decode(path: Path, start: int, stop: int) -> int:
    with hf.LogReader(path) as reader:
        return sum(len(block.to_arrow()) for block in islice(reader, start, stop))
