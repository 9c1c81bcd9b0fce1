"""Speeds that can be compared: every contender in turn, round after round, and the best of each."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

Speed = Callable[[], float]
"""Runs something once; what it returns is how many rows, blocks or keys a second that was."""


def timed(action: Callable[[], object], count: int, *, before: Callable[[], object] = bool) -> Speed:
    """The speed of *action*, which handles *count* things; *before* is run each time, untimed."""

    def once() -> float:
        before()
        start = time.perf_counter()
        action()
        return count / (time.perf_counter() - start)

    return once


def interleaved(contenders: Mapping[str, Speed], rounds: int) -> dict[str, float]:
    """The best speed of each of *contenders*, warm already, in *rounds* rounds."""
    best = dict.fromkeys(contenders, 0.0)
    for _ in range(rounds):
        for name, speed in contenders.items():
            gc.collect()
            best[name] = max(best[name], speed())
    return best


def peak_mb(action: Callable[[], object]) -> float | None:
    """The memory in MB that *action* takes at its peak above what is there before; None where /proc does not say.

    Memory that allocators kept from earlier is given back first, as far as they do.
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
        before = resident_mb("VmRSS")
        action()
        return resident_mb("VmHWM") - before
    except OSError:
        action()
        return None


def resident_mb(entry: str, process: int | str = "self") -> float:
    """An entry of /proc/<process>/status in MB: VmRSS, or VmHWM, the peak of it."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{entry}:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/{process}/status has no {entry}")
