"""``python -m tests.hostile --count 50000``: hostile files of every kind, and a table of what came of them."""

from __future__ import annotations

import argparse
import os

from tests.hostile.running import findings, run, table


def main() -> int:
    """Run, print the table and the findings; 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="The number of the first file, to repeat one.")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--in-tables", type=float, default=0.04, help="The share of whole tables; they take longer.")
    given = parser.parse_args()
    results = run(given.count, seed=given.seed, first=given.first, workers=given.workers, in_tables=given.in_tables)
    found = findings(results)
    print(table(results))
    print("\n".join(["", f"{len(found)} kinds of findings", *found]))
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
