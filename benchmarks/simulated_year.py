"""A year of commits each minute (525,600) into 400 partitions, simulated: processor time and memory.

``python -m benchmarks.simulated_year [NAME ...]``; each workload is played in a process of its own.  The goals are half
a minute of processor time and 500 MB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import hudiformat as hf

COMMITS = 525_600
_YEAR = hf.Workload(commits=COMMITS, rows=100_000, partitions=hf.Partitions(count=400))
_UPDATES = replace(_YEAR, rows=10_000, updates=0.3)
_COMPACT = {"hoodie.compact.inline": "true"}
_BUCKETS = {**_COMPACT, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
CASES: dict[str, tuple[hf.Workload, dict[str, object]]] = {
    "new rows": (_YEAR, {}),
    "new rows, unequal partitions": (replace(_YEAR, partitions=hf.Partitions(count=400, spread="zipf")), {}),
    "updates, copy-on-write": (_UPDATES, {}),
    "updates of larger rows": (replace(_UPDATES, updated_row_bytes=110.0), {}),
    "updates, merge-on-read": (_UPDATES, {"table_type": "MERGE_ON_READ", "options": _COMPACT}),
    "days with late rows": (
        replace(_YEAR, rows=10_000, partitions=hf.Partitions(spread="day", late=0.1, late_days=3)),
        {},
    ),
    "buckets": (_UPDATES, {"table_type": "MERGE_ON_READ", "options": _BUCKETS}),
    "Flink, a task": (_UPDATES, {"table_type": "MERGE_ON_READ", "engine": "flink"}),
    "file sink": (_YEAR, {"engine": "files", "tasks": 4}),
}
_MOST_SECONDS, _MOST_BYTES = 30, 500_000_000


def play(name: str) -> dict[str, float]:
    """Play a workload, and return the seconds of the processor, the most bytes of memory and some numbers."""
    load, settings = CASES[name]
    began = time.process_time()
    found = hf.simulate(load, **settings).summary  # type: ignore[arg-type]  # by their names
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    names = "file_groups", "write_amplification", "compactions", "clusterings"
    return {"seconds": seconds, "memory": memory, **{one: found[one] for one in names}}


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the workloads that are named, or all; return 1 if one takes more than the goals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulated_year", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(CASES)}; all by default")
    parser.add_argument(
        "--limit", type=float, default=300, help="seconds after which a workload is ended (%(default)s)"
    )
    parser.add_argument("--one", choices=CASES, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.one is not None:
        print(json.dumps(play(asked.one)))
        return 0
    if unknown := [name for name in asked.name if name not in CASES]:
        parser.error(f"expected one of {', '.join(CASES)}, found {unknown[0]!r}")
    missed = [name for name in asked.name or CASES if not _show(name, asked.limit)]
    return int(bool(missed))


def _show(name: str, limit: float) -> bool:
    """Play a workload in a process of its own, print what it took, and return whether it reaches the goals."""
    command = [sys.executable, "-m", "benchmarks.simulated_year", "--one", name]
    try:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"{name}: ended after {limit:.0f} s", flush=True)
        return False
    found = json.loads(done.stdout)
    print(
        f"{name}: {found['seconds']:.1f} s, {found['memory'] / 1e6:.0f} MB: {found['file_groups']:,} file groups,"
        f" {found['write_amplification']:.1f} bytes written for each, {found['compactions']:,.0f} compactions, "
        f"{found['clusterings']:,.0f} clusterings",
        flush=True,
    )
    return bool(found["seconds"] <= _MOST_SECONDS and found["memory"] <= _MOST_BYTES)


if __name__ == "__main__":
    raise SystemExit(main())
