"""A year of commits each minute (525,600) into 400 partitions, simulated: processor time and memory.

``python -m benchmarks.simulated_year [NAME ...]``; each workload is played in a process of its own.  The goals are half
a minute of processor time and 500 MB.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
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


def main(names: list[str]) -> int:
    """Play the workloads that are named, or all; return 1 if one takes more than the goals."""
    if names[:1] == ["--one"]:
        print(json.dumps(play(names[1])))
        return 0
    missed = 0
    for name in names or CASES:
        command = [sys.executable, "-m", "benchmarks.simulated_year", "--one", name]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{name}: {found['seconds']:.1f} s, {found['memory'] / 1e6:.0f} MB: {found['file_groups']:,} file groups,"
            f" {found['write_amplification']:.1f} bytes written for each, {found['compactions']:,.0f} compactions, "
            f"{found['clusterings']:,.0f} clusterings",
            flush=True,
        )
        missed += found["seconds"] > _MOST_SECONDS or found["memory"] > _MOST_BYTES
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
