"""What a run is made of: who is measured, how, and against which target."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.java import BEST, DEFAULT, Jvm, NoJavaPeerError, Setting
from benchmarks.large import SIZES
from benchmarks.results import Comparison, Results
from benchmarks.timing import Speed, interleaved, peak_mb, timed
from hudiformat.kernels import VARIABLE

TARGETS: dict[tuple[str, str, str], float] = {
    ("mixed", "encode", BEST.name): 2,
    ("mixed", "write", BEST.name): 2.2,
    ("mixed", "encode, jit", BEST.name): 2.5,
    ("mixed", "write, jit", BEST.name): 2.5,
    **{(case, measure, BEST.name): 1.5 for case in ("wide", "strings") for measure in ("encode, jit", "write, jit")},
    ("mixed", "decode", BEST.name): 2,
    ("mixed", "encode", DEFAULT.name): 2,
    ("mixed", "write", DEFAULT.name): 2,
    ("mixed", "decode", DEFAULT.name): 2.5,
    ("mixed", "encode", "fastavro"): 20,
    ("mixed", "decode", "fastavro"): 20,
    ("mixed", "decode, jit", BEST.name): 3,
    ("mixed", "decode, views, jit", BEST.name): 4,
    **{
        (case, measure, BEST.name): 1.5
        for case in ("wide", "strings", "nested", "nullable")
        for measure in ("decode", "decode, jit")
    },
    **{(case, measure, BEST.name): 1.2 for case in ("nullable", "nested") for measure in ("encode", "write")},
    ("deletes", "encode", BEST.name): 1.5,
    ("deletes", "decode", BEST.name): 1.5,
    ("small", "scan", BEST.name): 2,
    ("small", "decode", BEST.name): 20,
    ("small", "append", BEST.name): 1.2,
    ("small", "encode, jit", BEST.name): 1,
    ("small", "encode, cuts", BEST.name): 1.36,  # 60,000
    ("slice", "read", "hudi 0.5.0"): 5,
    ("slice", "read narrow rows", "hudi 0.5.0"): 5,
    ("slice", "read, 1% in logs", "hudi 0.5.0"): 2.5,
    ("slice", "read, 10% in logs", "hudi 0.5.0"): 2.5,
    ("slice", "first read in a process", "hudi 0.5.0"): 1.5,
    ("slice", "read", "Hudi 1.2.0 on Spark, two cores"): 3,
    ("spark", "insert", "Hudi 1.2.0 on Spark, two cores"): 4,
    ("spark", "upsert", "Hudi 1.2.0 on Spark, two cores"): 10,
    ("spark", "read", "Hudi 1.2.0 on Spark, two cores"): 5,
    ("slice", "base only", "Parquet (pyarrow)"): 0.7,
}
"""Ratios to reach, by case, measure and peer."""

MOST_GROWTH = 15.0
"""Percent by which a row may cost more where there are ten times as many of them, or of what holds them."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is measured: *action* handles *count* things, ``unit`` says of which kind; *before* it, untimed."""

    case: str
    measure: str
    action: Callable[[], object]
    count: int
    unit: str = "rows/s"
    before: Callable[[], object] = bool


@dataclass(frozen=True, slots=True)
class Run:
    """What was asked for, where files go, and what was found so far."""

    results: Results
    folder: Path
    scale: float = 1.0
    rounds: int = 5
    sizes: tuple[int, ...] = SIZES
    settings: tuple[Setting, ...] = (DEFAULT, BEST)

    def count(self, case: Case) -> int:
        """How many rows of *case* this run takes."""
        return max(int(case.rows * self.scale), 100)

    def jvms(self, stack: ExitStack) -> list[Jvm]:
        """The JVMs to compare with; none, and the reason noted, where they cannot be had."""
        try:
            return [stack.enter_context(Jvm(setting)) for setting in self.settings]
        except NoJavaPeerError as error:
            self.results.missing["Java"] = str(error)
            return []

    def java(self, jvms: list[Jvm], words: Callable[[Setting], tuple[object, ...]]) -> dict[str, Speed]:
        """The speed of a command on each of *jvms*, warm."""
        return {vm.setting.name: vm.speed(*words(vm.setting)) for vm in jvms}

    def compare(self, work: Work, peers: dict[str, Speed], jvms: list[Jvm], *, kernels: bool = False) -> None:
        """Measure *work* and its *peers*, in turns; *jvms* are asked how much memory they have had.

        With *kernels* also what compiled kernels make of it, as ``<measure>, jit``.
        """
        actions = {work.measure: work.action}
        if kernels:
            actions[f"{work.measure}, jit"] = partial(with_kernels, work.action)
        peaks = {}
        for measure, action in actions.items():
            work.before()
            peaks[measure] = peak_mb(action)  # this is the warm-up, too
        mine = {measure: timed(action, work.count, before=work.before) for measure, action in actions.items()}
        best = interleaved({**mine, **peers}, self.rounds)
        memory = {vm.setting.name: vm.peak_mb() for vm in jvms}
        for measure in actions:
            for peer in peers:
                self.results.comparisons.append(
                    Comparison(
                        case=work.case,
                        measure=measure,
                        peer=peer,
                        unit=work.unit,
                        ours=best[measure],
                        theirs=best[peer],
                        target=TARGETS.get((work.case, measure, peer)),
                        peak_mb=peaks[measure],
                        peer_peak_mb=memory.get(peer),
                    )
                )


def with_kernels(action: Callable[..., object], *arguments: object) -> object:
    """What *action* returns; its records are encoded and decoded by compiled kernels, from the first byte on."""
    os.environ[VARIABLE] = "1"
    try:
        return action(*arguments)
    finally:
        os.environ[VARIABLE] = "0"
