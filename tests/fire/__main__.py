"""All of the harness, or a part: ``python -m tests.fire [--every N] [--seed N] [--attack NAME] [--about TEXT]``.

Pairs of faults are millions: ``python -m tests.fire --minutes 60 --seed 3 --log pairs.log`` tries as many as it can.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fire.harness import ATTACKS, Result, run, works
from tests.fire.pairs_by_time import Tally, take_turns

_SAYS_EVERY = 30
"""Seconds after which a run of minutes says how far it is."""


def main() -> int:
    """Run it, print the violations as they come and the table at the end; 1 where there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.fire", description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="try one of so many moments")
    parser.add_argument("--attack", choices=ATTACKS, action="append", help="one of them alone")
    parser.add_argument("--about", default="", help="only kinds of tables and operations whose names contain this text")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other pairs of faults")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="try pairs of faults for so long, and nothing else")
    parser.add_argument("--log", type=Path, help="a file of the pairs that were tried, to which later runs add")
    chosen = parser.parse_args()
    if chosen.minutes is not None:
        return _pairs_by_time(chosen)
    lines, violations = [], 0
    for attack in chosen.attack or ATTACKS:
        began, results = time.monotonic(), []
        results_of = run(attack, every=chosen.every, processes=chosen.processes, about=chosen.about, seed=chosen.seed)
        for result in results_of:
            results.append(result)
            for case, wrong in result.violations:
                sys.stdout.write(f"{case}\n    {wrong}\n")
                sys.stdout.flush()  # they are rare, and a long run may be stopped
        lines += _lines(attack, results, time.monotonic() - began)
        violations += sum(len(result.violations) for result in results)
    head = ["| attack | operation | kinds of table | cases | violations |", "|---|---|---|---|---|"]
    sys.stdout.write("\n".join([*head, *lines, ""]))
    return 1 if violations else 0


def _pairs_by_time(chosen: argparse.Namespace) -> int:
    tally, said = Tally(chosen.log), time.monotonic()
    of_interest = [work for work in works("pairs of faults") if chosen.about in str(work)]
    until = time.time() + 60 * chosen.minutes
    for turn in take_turns(of_interest, until=until, seed=chosen.seed, processes=chosen.processes):
        for name, wrong in tally.add(turn):
            sys.stdout.write(f"{name}\n    {wrong}\n")
        if time.monotonic() - said > _SAYS_EVERY:
            said = time.monotonic()
            sys.stdout.write(f"{tally.sum()}\n")
        sys.stdout.flush()
    head = [
        "| operation | kinds of table | pairs possible, about | pairs tried | violations |",
        "|---|---|---|---|---|",
    ]
    sys.stdout.write("\n".join([*head, *tally.lines(), tally.sum(), ""]))
    return 1 if any(tally.wrong.values()) else 0


def _lines(attack: str, results: list[Result], seconds: float) -> list[str]:
    cases: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for result in results:
        name = result.work.operation
        cases[name] += result.count
        wrong[name] += len(result.violations)
        kinds[name] += 1
    lines = [f"| {attack} | {name} | {kinds[name]} | {cases[name]:,} | {wrong[name]} |" for name in sorted(cases)]
    every = len({str(result.work.kind) for result in results})
    total = f"| **{attack}** | all, in {seconds / 60:.0f} minutes | {every} "
    return [*lines, f"{total}| **{cases.total():,}** | **{wrong.total()}** |"]


if __name__ == "__main__":
    sys.exit(main())
