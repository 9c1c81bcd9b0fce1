"""A long run by hand: ``python -m tests.turns --steps 100 --seed 1 --table all --type MERGE_ON_READ``."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.turns.kinds import COW, LAYOUTS, MOR, TABLES, Kind
from tests.turns.machine import Machine
from tests.turns.run import run
from tools.environments import HUDI


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.turns", description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", choices=tuple(TABLES), default="default", help="which indexes it has")
    parser.add_argument("--type", choices=(MOR, COW), default=MOR)
    parser.add_argument("--layout", choices=tuple(LAYOUTS), default="plain")
    parser.add_argument("--version", type=int, choices=(6, 8, 9), default=9, help="of the table")
    parser.add_argument("--hudi", default=HUDI, help="the version of Hudi")
    parser.add_argument("--keep", type=Path, help="make the table in this folder, and leave it there")
    chosen = parser.parse_args()
    # Instants are in the local time of whoever writes; Hudi runs in UTC.
    os.environ["TZ"] = "UTC"
    time.tzset()
    warnings.simplefilter("error")
    began = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {what}", flush=True)

    with tempfile.TemporaryDirectory() as folder, RealHudi(chosen.hudi) as hudi:
        path = (chosen.keep or Path(folder)) / "t"
        machine = Machine(
            hudi, path, Kind(chosen.type, chosen.table, chosen.layout, chosen.version, chosen.hudi), chosen.seed
        )
        try:
            run(machine, steps=chosen.steps, tell=tell)
        finally:
            tell(f"{len(machine.done)} steps; refused: {dict(machine.refused)}")


if __name__ == "__main__":
    main()
