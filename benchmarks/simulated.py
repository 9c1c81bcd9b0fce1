"""Hold simulations to reality: play workloads, write them for real at a hundredth of the size, and compare.

Each workload is played, and written with the same settings: the number of base files, the quartiles of their sizes and
the bytes written may differ by a tenth.  The bytes of a row and of an empty file come from two files that are written
first, by the same writer; nothing else is taken from the real run.

``python -m benchmarks.simulated [NAME ...] [--hudi] [--json FILE]``; with ``--hudi`` real Hudi on Spark writes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import hudiformat as hf
from benchmarks.simulated_sink import SINK_CASES, calibrated_sink, write_sink
from hudiformat.api.reading import context_of
from hudiformat.naming.file_names import base_name
from hudiformat.simulation.from_table import workload_from
from hudiformat.simulation.result import Simulation, quantile
from hudiformat.table.state import TableState
from tests.conformance.hudi import RealHudi

MAX_FILE, SMALL_LIMIT = 1_258_291, 1_048_576
"""A hundredth of Hudi's defaults, in bytes."""
MOST_DIFFERENT = 0.10
_SIZES = {
    "hoodie.parquet.max.file.size": str(MAX_FILE),
    "hoodie.parquet.small.file.limit": str(SMALL_LIMIT),
    "hoodie.metadata.enable": "false",
}
_ONE_FILE = {
    **_SIZES,
    "hoodie.parquet.small.file.limit": str(MAX_FILE),
    "hoodie.copyonwrite.insert.auto.split": "false",
    "hoodie.record.size.estimation.threshold": "0.00001",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
"""With these, all rows of a partition go to one file, whose row groups are those of the files of the cases."""
_ESTIMATE = "hoodie.copyonwrite.record.size.estimate"
_UPDATING, _COMPACTING = 39, 5
"""In how many commits the rows of a file are updated that is measured.  One more brings new rows, so that the last one
is compacted, after Hudi's default of delta commits."""


@dataclass(frozen=True)
class Case:
    """A workload with the settings of a writer."""

    workload: hf.Workload
    table_type: str = "COPY_ON_WRITE"
    options: dict[str, str] = field(default_factory=dict)
    writing: str = "upsert"
    text_bytes: int = 60
    upserts: bool = False
    """Whether new rows are upserted too, which leaves them in another order than an insert does."""

    @property
    def changes(self) -> bool:
        """Whether the rows of a commit are upserted."""
        return self.upserts or bool(self.workload.updates or self.workload.deletes)

    @property
    def buckets(self) -> int:
        """The number of buckets; 0 if there are none."""
        return int(self.options.get("hoodie.bucket.index.num.buckets", 0))

    @property
    def is_split(self) -> bool:
        """Whether there are several partitions."""
        return self.workload.partitions.count > 1 or self.workload.partitions.spread == "day"

    @property
    def all_options(self) -> dict[str, str]:
        """The options of the writer."""
        return {**_SIZES, **self.options}


_COMPACT = {"hoodie.compact.inline": "true"}
_MOR = "MERGE_ON_READ"
CASES = {
    "insert only": Case(hf.Workload(commits=240, rows=1500)),
    "insert only, merge-on-read": Case(hf.Workload(commits=120, rows=1500), _MOR),
    "upserts, copy-on-write": Case(hf.Workload(commits=160, rows=2000, updates=0.3)),
    "upserts, merge-on-read": Case(hf.Workload(commits=100, rows=2000, updates=0.5), _MOR, _COMPACT),
    "deletes": Case(hf.Workload(commits=80, rows=2000, updates=0.1, deletes=0.2)),
    "hot keys": Case(hf.Workload(commits=160, rows=1200, updates=0.3, update_spread="zipf", update_skew=1.5)),
    "late rows": Case(
        hf.Workload(
            commits=120, rows=4000, interval=3600.0, partitions=hf.Partitions(spread="day", late=0.1, late_days=3)
        )
    ),
    "skewed partitions": Case(
        hf.Workload(commits=100, rows=3000, partitions=hf.Partitions(count=6, spread="zipf", skew=1.0))
    ),
    "bursts": Case(
        hf.Workload(commits=100, rows=1000, burst_every=20, burst=50.0),
        # Else, five commits after a burst, Hudi takes rows for 1,024 bytes again, or not, by a few bytes of a file.
        options={_ESTIMATE: "70"},
    ),
    "wide rows": Case(hf.Workload(commits=80, rows=150), text_bytes=2000),
    "buckets": Case(
        hf.Workload(commits=100, rows=2000, updates=0.4),
        _MOR,
        {**_COMPACT, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "6"},
    ),
    "Flink's assigner": Case(
        hf.Workload(commits=100, rows=2000), options={"hudiformat.sizing": "flink", "hudiformat.sizing.tasks": "3"}
    ),
    "no small files": Case(hf.Workload(commits=100, rows=800), options={"hoodie.parquet.small.file.limit": "0"}),
    "clustering": Case(
        hf.Workload(commits=60, rows=800, partitions=hf.Partitions(count=2)),
        options={
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.clustering.inline": "true",
            "hoodie.clustering.plan.strategy.small.file.limit": str(SMALL_LIMIT),
            "hoodie.clustering.plan.strategy.target.file.max.bytes": str(MAX_FILE),
            "hoodie.clustering.plan.strategy.max.bytes.per.group": str(4 * MAX_FILE),
        },
    ),
}
BY_HUDI = {
    "insert only": 240,
    "insert only, merge-on-read": 120,
    "upserts, copy-on-write": 80,
    "upserts, merge-on-read": 100,
    "late rows": 120,
    "no small files": 100,
}
"""The cases that real Hudi writes, too, and how many commits of them, which take it a second each."""
_SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("ts", pa.int64()),
        ("text", pa.string()),
        ("p", pa.string()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)


class _Rows:
    """Rows of a workload: new keys, and updates of keys that exist."""

    def __init__(self, case: Case, seed: int) -> None:
        self._case, self._random = case, np.random.default_rng(seed)
        self._homes: list[np.ndarray[Any, Any]] = []
        self._count = 0
        most = int(case.workload.rows_by_commit().sum())
        self._deleted, self._ranks = np.zeros(most, bool), self._random.random(most)

    def batches(self) -> Iterator[pa.Table]:
        """Yield the rows of each commit."""
        load = self._case.workload
        rows = load.rows_by_commit()
        updates, deletes = load.updates_by_commit(rows), load.deletes_by_commit(rows)
        days = load.days()
        for commit in range(load.commits):
            new = int(rows[commit] - updates[commit] - deletes[commit])
            homes = self._partitions(new, int(days[commit]))
            numbers = np.arange(self._count, self._count + new)
            self._homes.append(homes)
            gone = np.zeros(new, bool)
            if changed := int(updates[commit] + deletes[commit]):
                known = np.concatenate(self._homes[:-1])
                old = self._changed(changed)
                numbers, homes = np.concatenate([numbers, old]), np.concatenate([homes, known[old]])
                gone = np.arange(len(numbers)) >= len(numbers) - int(deletes[commit])
                self._deleted[numbers[gone]] = True
            self._count += new
            yield self._table(numbers, homes, gone, commit)

    def _changed(self, count: int) -> np.ndarray[Any, Any]:
        """Return the numbers of keys that are there, and are updated or deleted."""
        there = np.flatnonzero(~self._deleted[: self._count])
        if self._case.workload.update_spread != "zipf":
            return self._random.choice(there, count, replace=False)
        weights = np.arange(1, len(there) + 1) ** -self._case.workload.update_skew
        ranked = there[np.argsort(self._ranks[there])]
        return np.unique(self._random.choice(ranked, count, p=weights / weights.sum()))

    def _partitions(self, count: int, day: int) -> np.ndarray[Any, Any]:
        partitions = self._case.workload.partitions
        if partitions.spread == "day":
            late = min(day, partitions.late_days)
            ages = self._random.integers(1, late + 1, count) if late else np.zeros(count, np.int64)
            is_late = self._random.random(count) < partitions.late
            return day - np.where(is_late & (late > 0), ages, 0)
        return self._random.choice(partitions.count, count, p=partitions.shares())

    def _table(self, numbers: Any, homes: Any, gone: Any, commit: int) -> pa.Table:
        keys = [f"{number * 2654435761 % (1 << 40):010x}{number:010d}" for number in numbers.tolist()]
        width = self._case.text_bytes
        letters = self._random.integers(97, 123, len(keys) * width, dtype=np.uint8).tobytes().decode()
        texts = [letters[at * width : (at + 1) * width] for at in range(len(keys))]
        paths = [f"d{home:03d}" for home in homes.tolist()]
        return pa.table([keys, [commit] * len(keys), texts, paths, gone], schema=_SCHEMA)


Begin = Callable[[Case, Path], Callable[[pa.Table], object]]
"""Make the table of a case in a folder, and return the function that writes the rows of a commit."""


def by_hudiformat(case: Case, folder: Path) -> Callable[[pa.Table], object]:
    """Make a table that hudiformat writes."""
    table = hf.create_table(
        folder,
        name="t",
        schema=_SCHEMA,
        record_key=["key"],
        ordering=["ts"],
        partition_by=["p"] if case.is_split else [],
        table_type=case.table_type,
        options=case.all_options,
    )
    return table.upsert if case.changes else table.insert


def by_hudi(hudi: RealHudi) -> Begin:
    """Return what makes tables that *hudi* writes."""

    def begin(case: Case, folder: Path) -> Callable[[pa.Table], object]:
        options = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.recordkey.field": "key",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "p" if case.is_split else "",
            "hoodie.datasource.write.table.type": case.table_type,
            "hoodie.datasource.write.operation": "upsert" if case.changes else "insert",
            "hoodie.compact.inline": "false",
            **case.all_options,
        }
        return lambda rows: hudi.write(rows, folder, options)

    return begin


def calibrated(case: Case, folder: Path, begin: Begin) -> hf.Workload:
    """Return the workload of a case with the bytes of its rows, from files that are as large as the full ones.

    A file grows by as many commits as the files of the case, because those of several commits are larger than those
    of one, whose instants and times are all the same.
    """
    load = case.workload
    full = int(MAX_FILE / (case.text_bytes * 0.7 + 45))
    rows = load.rows_by_commit()
    each = (rows - load.updates_by_commit(rows) - load.deletes_by_commit(rows)) * load.partitions.shares().max()
    commits = int(np.clip(full * each.sum() / (each @ each), 1, 10))
    growing = hf.Workload(commits=commits, rows=max(full // commits, 1))
    if load.partitions.count > 1:  # the keys of a file are not in an unbroken row
        largest = load.partitions.shares().max()
        growing = replace(growing, rows=round(full / commits / largest), partitions=load.partitions)
    elif commits == 1:  # two files, of which one has twice the rows
        growing = replace(growing, rows=3 * full // 2, partitions=hf.Partitions(count=2, spread="zipf"))
    options = {**_ONE_FILE, **{key: value for key, value in case.options.items() if key == _ESTIMATE}}
    probe = replace(case, workload=growing, table_type="COPY_ON_WRITE", options=options, upserts=case.changes)
    compacted = replace(probe, table_type=case.table_type, options={**options, **case.options})
    if case.buckets:  # whose base files are written by compactions alone, with the keys of one hash
        growing = replace(growing, commits=2 * _COMPACTING, rows=case.buckets * full // (2 * _COMPACTING))
        probe = compacted = replace(compacted, workload=growing)
    found = workload_from(_written(probe, folder / "base", begin), commits=1)
    load = replace(load, row_bytes=found.row_bytes, file_bytes=found.file_bytes)
    if load.updates:
        share = load.updates / (1 - load.updates - load.deletes)
        more = _bytes_of_an_update(compacted, folder / "updates", begin, share)
        load = replace(load, updated_row_bytes=load.row_bytes + more)
    if case.table_type == "COPY_ON_WRITE":
        return load
    # Log files have as many rows as a commit of the workload brings.
    logged = replace(growing, rows=max(load.rows // 2, 1))
    indexed = {**options, "hoodie.index.type": "INMEMORY"}
    probe = replace(case, workload=logged, options=indexed, upserts=case.changes)
    found = workload_from(_written(probe, folder / "logs", begin), commits=1)
    return replace(load, log_row_bytes=found.log_row_bytes)


def _bytes_of_an_update(probe: Case, folder: Path, begin: Begin, share: float) -> float:
    """Return by how many bytes a row grows that is updated, from a file with updates of this *share* of its rows."""
    rows = probe.workload.commits * probe.workload.rows
    trace = (rows, *(max(round(rows * share / _UPDATING), 1) for _ in range(_UPDATING)))
    updating = hf.Workload(commits=len(trace), trace=trace, updates=1.0)
    first, last = _first_and_last(_written(replace(probe, workload=updating), folder, begin))
    # The first files of buckets are written by a compaction, after some of the updates.
    before = share * (_COMPACTING - 1) / _UPDATING if probe.buckets else 0.0
    return float((last - first) / (rows * (np.exp(-before) - np.exp(-share))))


def _first_and_last(state: TableState) -> tuple[int, int]:
    """Return the bytes of the first base files of all file groups, and of their last ones."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for done in state.timeline.completed_writes:
        for stat in state.metadata(done).write_stats:
            if not base_name(stat.path or "").startswith("."):
                first.setdefault(stat.file_id or "", stat.total_write_bytes)
                last[stat.file_id or ""] = stat.total_write_bytes
    return sum(first.values()), sum(last.values())


def _written(case: Case, folder: Path, begin: Begin) -> TableState:
    """Write the rows of a case, and return the table."""
    write = begin(case, folder)
    for batch in _Rows(case, 1).batches():
        write(batch)
    return context_of(hf.open_table(folder)).state()


def real(case: Case, folder: Path, begin: Begin) -> dict[str, float]:
    """Write the rows of a case, and return what is to be compared."""
    write = begin(case, folder)
    for batch in _Rows(case, 7).batches():
        write(batch)
    table = hf.open_table(folder)
    sizes = sorted(one.base_file.size for one in table.file_slices() if one.base_file is not None)
    written = sum(table.history()["bytes"].to_pylist())
    return _numbers(len(sizes), sizes, written)


def _numbers(files: int, sizes: list[int], written: float) -> dict[str, float]:
    found = {"files": float(files), "written": float(written)}
    for name, share in (("p25", 0.25), ("p50", 0.5), ("p75", 0.75)):
        found[name] = float(sizes[min(int(np.ceil(share * len(sizes))) - 1, len(sizes) - 1)]) if sizes else 0.0
    return found


def simulated(case: Case, load: hf.Workload) -> tuple[dict[str, float], Simulation]:
    """Play a case, and return what is to be compared."""
    found = hf.simulate(load, options=case.all_options, table_type=case.table_type, writing=case.writing)
    return _numbers_of(found), found


def _numbers_of(found: Simulation) -> dict[str, float]:
    numbers = {"files": float(found.summary["base_files"]), "written": float(found.summary["written_bytes"])}
    for name, share in (("p25", 0.25), ("p50", 0.5), ("p75", 0.75)):
        numbers[name] = float(quantile(found.sizes, share))
    return numbers


def compare(name: str, begin: Begin, commits: int | None = None) -> dict[str, object]:
    """Run one case both ways, with its *commits* or others, and return its numbers and the largest difference."""
    if name in SINK_CASES:
        return _compare_sink(name)
    case = CASES[name]
    if commits is not None:
        case = replace(case, workload=replace(case.workload, commits=commits))
    options = {**case.all_options, "hoodie.archive.automatic": "false"}
    with tempfile.TemporaryDirectory() as folder:
        load = calibrated(case, Path(folder) / "probe", begin)
        began = time.monotonic()
        played, _ = simulated(case, load)
        seconds = time.monotonic() - began
        found = real(replace(case, options=options), Path(folder) / "real", begin)
    return _compared(name, played, found, seconds)


def _compare_sink(name: str) -> dict[str, object]:
    case = SINK_CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        load = calibrated_sink(case, Path(folder) / "probe")
        began = time.monotonic()
        played = _numbers_of(case.play(load))
        seconds = time.monotonic() - began
        sizes, written = write_sink(case, Path(folder) / "real")
    return _compared(name, played, _numbers(len(sizes), sizes, written), seconds)


def _compared(name: str, played: dict[str, float], found: dict[str, float], seconds: float) -> dict[str, object]:
    differences = {key: played[key] / found[key] - 1 if found[key] else 0.0 for key in found}
    return {"name": name, "simulated": played, "real": found, "differences": differences, "seconds": seconds}


def main() -> int:
    """Run the cases that are named, or all; return 1 if one differs by more than a tenth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="the cases; all, or six of them with --hudi")
    parser.add_argument("--hudi", action="store_true", help="real Hudi on Spark writes")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not arguments.hudi:
        return _report(dict.fromkeys(arguments.names or [*CASES, *SINK_CASES]), by_hudiformat, arguments.json)
    names = arguments.names or BY_HUDI
    with RealHudi() as hudi:
        return _report({name: BY_HUDI.get(name) for name in names}, by_hudi(hudi), arguments.json)


def _report(cases: Mapping[str, int | None], begin: Begin, file: Path | None) -> int:
    results = []
    for name, commits in cases.items():
        result = compare(name, begin, commits)
        results.append(result)
        print(f"{name}:")
        for key, difference in result["differences"].items():  # type: ignore[attr-defined]  # as compare returns it
            values = result["simulated"][key], result["real"][key]  # type: ignore[index]  # as compare returns it
            print(f"  {key}: simulated {values[0]:,.0f}, real {values[1]:,.0f}, {difference:+.1%}", flush=True)
    if file is not None:
        file.write_text(json.dumps(results, indent=1))
    worst = max(abs(one) for result in results for one in result["differences"].values())  # type: ignore[attr-defined]
    print(f"largest difference: {worst:.1%}")
    return int(worst > MOST_DIFFERENT)


if __name__ == "__main__":
    raise SystemExit(main())
