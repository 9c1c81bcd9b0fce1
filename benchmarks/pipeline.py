"""Writes, reads and small commits of a pipeline on Spark: functions, data source, Hudi, plain Parquet.

    python -m benchmarks.pipeline [--rows 1000000] [--rounds 3] [--markdown FILE]

The same rows, machine and run; hudiformat and Parquet on the PySpark that is installed, Hudi 1.2.0 on the one it needs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hudiformat as hf
from benchmarks import pipeline_job
from benchmarks.pipeline_job import (
    CHANGE_MANY,
    FEW,
    FIRST,
    INSERT,
    INTO_MANY,
    MANY,
    MANY_FEW,
    QUERIES,
    ROWS,
    SMALL,
    SPREAD,
    SUM_MANY,
    TABLES,
    UPSERT,
)
from benchmarks.spark_tables import run_here
from tests.conformance.hudi import NoHudiError, RealHudi

ENGINES = {
    "functions": "hudiformat, functions",
    "source": "hudiformat, data source",
    "hudi": "Hudi 1.2.0, Spark 3.5",
    "parquet": "Parquet",
}
_PARTITIONS, _FILES, _LONGEST = 10, 8, 3_600
_MANY, _EACH = 500, 20
"""Partitions of the table that has many, and the rows of each."""

Found = dict[str, dict[str, Any]]


def rows_of(numbers: Sequence[int], partitions: int = _PARTITIONS) -> pa.Table:
    """Rows of ten columns, by their numbers, in so many *partitions*."""
    ids, random = np.asarray(numbers), np.random.default_rng(1)
    texts = ids.astype(str)
    return pa.table(
        {
            "id": np.char.add("k", np.char.zfill(texts, 9)),
            "ts": ids.astype(np.int64),
            "p": np.char.add("p", (ids % partitions).astype(str)),
            "small": (ids % 1000).astype(np.int32),
            "large": ids.astype(np.int64) * 7,
            "first": random.random(len(ids)),
            "second": random.random(len(ids)),
            "word": np.char.add("text", (ids % 5000).astype(str)),
            "text": np.char.add("other text ", texts),
            "flag": ids % 2 == 0,
        }
    )


def prepare(folder: Path, count: int) -> None:
    """The rows, a fiftieth of them, those of many partitions, and the tables that are read."""
    rows = rows_of(range(count))
    pq.write_table(rows, folder / ROWS, row_group_size=-(-count // _FILES), store_schema=False)
    pq.write_table(rows_of(range(1, count, 50)), folder / FEW, store_schema=False)
    pq.write_table(rows_of(range(_MANY * _EACH), _MANY), folder / MANY, store_schema=False)
    pq.write_table(rows_of(range(1, _MANY * _EACH, 99), _MANY), folder / MANY_FEW, store_schema=False)
    for path in TABLES.values():
        table = hf.create_table(
            folder / path,
            name="rows",
            schema=rows.schema,
            record_key=["id"],
            ordering=["ts"],
            partition_by=["p"],
            table_type="COPY_ON_WRITE" if path == "cow" else "MERGE_ON_READ",
        )
        hf.open_table(table.path, options={"hoodie.index.type": "SIMPLE"}).bulk_insert(rows)
    some = rows_of([number for number in range(count) if number % _PARTITIONS == 3 and number % 1000 < 300])
    hf.open_table(folder / "mor", options={"hoodie.index.type": "SIMPLE"}).upsert(some)


def measured(engine: str, folder: Path, rounds: int) -> dict[str, Found]:
    """What *engine* took, and what was measured beside it.

    Raises:
        NoHudiError: there is no Hudi here.
    """
    arguments = [engine, str(folder), str(rounds)]
    if engine == "hudi":
        hudi = RealHudi()  # whose own session is not started
        try:
            printed = hudi.run_script(Path(pipeline_job.__file__), *arguments, timeout=_LONGEST)
        finally:
            hudi.stop()
    else:
        here: dict[str, Found] = run_here(Path(pipeline_job.__file__), *arguments, timeout=_LONGEST)
        return here
    found: dict[str, Found] = json.loads(printed.splitlines()[-1])
    return found


def tables(found: dict[str, Found]) -> str:
    """The figures as tables of Markdown: writes with jobs, tasks and memory, and reads."""
    engines = [engine for engine in ENGINES if engine in found]
    head = " | ".join(ENGINES[engine] for engine in engines)
    rule = "|---" * (len(engines) + 1) + "|"
    lines = ["Seconds (jobs; tasks that wrote; most memory)", "", f"| write | {head} |", rule]
    lines += [
        f"| {name} | " + " | ".join(_write(found[engine].get(name)) for engine in engines) + " |"
        for name in (FIRST, INSERT, UPSERT, SMALL, SPREAD, INTO_MANY, CHANGE_MANY, SUM_MANY)
    ]
    lines += ["", "Seconds", "", f"| read | {head} |", rule]
    for table in TABLES:
        for query in QUERIES:
            name = f"{query}, {table}"
            cells = (found[engine][name]["seconds"] for engine in engines)
            lines.append(f"| {name} | " + " | ".join(f"{seconds:.2f}" for seconds in cells) + " |")
    return "\n".join(lines) + "\n"


def _write(figures: dict[str, Any] | None) -> str:
    if figures is None:
        return ""
    return f"{figures['seconds']:.2f} ({figures['jobs']}; {figures['tasks']}; {figures['peak_mb'] / 1000:.1f} GB)"


def _measured_if_there(engine: str, folder: Path, rounds: int) -> dict[str, Found]:
    try:
        return measured(engine, folder, rounds)
    except NoHudiError as error:
        sys.stderr.write(f"{ENGINES[engine]} is left out: {error}\n")
        return {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all of it and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="hudiformat-bench-") as folder:
        prepare(Path(folder), asked.rows)
        found: dict[str, Found] = {}
        for engine in ENGINES:
            for name, figures in _measured_if_there(engine, Path(folder), asked.rounds).items():
                found.setdefault(name, {}).update(figures)
    text = tables(found)
    sys.stdout.write(text)
    if asked.markdown:
        asked.markdown.write_text(text, encoding="utf-8")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
