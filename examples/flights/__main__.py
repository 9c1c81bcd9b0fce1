"""Run the pipeline: ``python -m examples.flights [PATH]``."""

from __future__ import annotations

import argparse
import sys

from examples.flights.pipeline import DEFAULT_PATH, run


def main() -> int:
    """Run the pipeline and return the exit code: 0 if all rows are as expected, 1 if a row differs."""
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description=__doc__)
    parser.add_argument("path", nargs="?", default=DEFAULT_PATH, help="where the table goes; what is there is replaced")
    parser.add_argument("--months", type=int, default=12, choices=range(1, 13), metavar="N", help="how many months")
    arguments = parser.parse_args()
    return 0 if run(arguments.path, months=arguments.months) else 1


if __name__ == "__main__":
    sys.exit(main())
