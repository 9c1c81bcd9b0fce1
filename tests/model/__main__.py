"""A long run by hand: ``python -m tests.model --steps 3000 --seed 1``."""

from __future__ import annotations

import argparse
import time
import warnings

from tests.model.machine import STEPS
from tests.model.run import run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-shrinking", action="store_true", help="show the first failure as it is")
    chosen = parser.parse_args()
    warnings.simplefilter("error")
    began = time.monotonic()
    try:
        run(steps=chosen.steps, number=chosen.seed, shrinks=not chosen.no_shrinking)
    finally:
        print(f"{STEPS.total()} steps in {time.monotonic() - began:.0f} s: {dict(STEPS.most_common())}")
