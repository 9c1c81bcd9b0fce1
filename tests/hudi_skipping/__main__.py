"""A run by hand: ``python -m tests.hudi_skipping --conditions 2000 --seed 1``."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.hudi_skipping.run import losses
from tests.hudi_skipping.tables import KINDS

_A_TABLE = 40
"""Conditions on each table."""


def main() -> int:
    """Run what the command line asks for; 1 if rows were lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.hudi_skipping", description=__doc__)
    parser.add_argument("--conditions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", type=int, choices=(6, 8, 9), help="tables of this version only")
    parser.add_argument("--hudi", default="1.2.0", help="the version of Hudi that reads")
    chosen = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    warnings.simplefilter("error")
    version = 6 if chosen.hudi.startswith("0.") else chosen.version
    kinds = [kind for kind in KINDS if kind.version == version or (version is None and kind.version > 6)]
    without = ("wall",) if chosen.hudi.startswith("0.") else ()  # such a Hudi cannot read local timestamps
    tried, lost, began = 0, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder, RealHudi(chosen.hudi) as hudi:
        for number in range(-(-chosen.conditions // _A_TABLE)):
            kind, seed = kinds[number % len(kinds)], chosen.seed + number
            for loss in losses(hudi, Path(folder), kind, seed, count=_A_TABLE, without=without):
                lost += loss.is_of_statistics
                print("LOST " if loss.is_of_statistics else "     ", loss, flush=True)
            tried += _A_TABLE
            print(f"{time.monotonic() - began:6.0f} s  {tried} conditions, {lost} with lost rows; {kind}", flush=True)
    return min(lost, 1)


if __name__ == "__main__":
    raise SystemExit(main())
