"""A process that does jobs: a line of JSON when it begins one, and another with the result."""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import time
from pathlib import Path

from tests.hostile.jobs import Jobs

_MOST_ADDRESS_SPACE = 8 << 30


def main() -> None:
    """Do the jobs with the numbers from *first*, each *step*-th, before *end*."""
    parser = argparse.ArgumentParser()
    for name in ("root", "scratch"):
        parser.add_argument(name, type=Path)
    for name in ("seed", "first", "step", "end"):
        parser.add_argument(name, type=int)
    parser.add_argument("in_tables", type=float)
    given = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_ADDRESS_SPACE, _MOST_ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    jobs = Jobs(given.root, given.scratch, given.seed, given.in_tables)
    for number in range(given.first, given.end, given.step):
        print(json.dumps(number), flush=True)
        print(json.dumps(jobs.run(number).to_json()), flush=True)


if __name__ == "__main__":
    main()
