"""The 22 queries of TPC-H over tables of hudiformat, compared with the same engine on plain Parquet files.

    python -m benchmarks.tpch                        # scale factor 1, three rounds
    python -m benchmarks.tpch --scale 0.01 --rounds 1 --json tpch.json

DuckDB reads the tables by ``Table.to_duckdb()``, Polars by ``Table.lazy()``, and DataFusion by hudi-rs, another reader.
DuckDB and Polars read the plain files by a dataset of pyarrow's, too, as they read those tables that they cannot scan.
Each engine plays each query on plain Parquet, on copy-on-write tables made by one bulk insert, and on merge-on-read
tables of which 5 % of the rows are in log files, too: they were written again with the same values, so that all answers
are equal.  All files have the same codec.  Tables are opened once for all queries, which is not in the time of a query:
hudiformat decodes the rows of log files then.  The best round counts.

Needs the extra ``bench``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import TypeAlias

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext
from hudi import HudiDataFusionDataSource
from pyarrow import dataset
from rich.console import Console
from rich.table import Table

import hudiformat as hf

QUERIES = Path(__file__).with_name("tpch_queries.sql")
KEYS: Mapping[str, Sequence[str]] = {
    "region": ["r_regionkey"],
    "nation": ["n_nationkey"],
    "supplier": ["s_suppkey"],
    "customer": ["c_custkey"],
    "part": ["p_partkey"],
    "partsupp": ["ps_partkey", "ps_suppkey"],
    "orders": ["o_orderkey"],
    "lineitem": ["l_orderkey", "l_linenumber"],
}
"""The tables, and their record keys."""

PARQUET, DATASET, COW, MOR = "parquet", "dataset", "COPY_ON_WRITE", "MERGE_ON_READ"
FORMS: Mapping[str, Sequence[str]] = {
    "duckdb": (DATASET, COW, MOR),
    "polars": (DATASET, COW, MOR),
    "datafusion": (COW, MOR),
}
"""The forms of tables that each engine plays beside plain Parquet."""
UPDATED = 0.05
"""The share of the rows that are in log files of a merge-on-read table."""
_CODEC = "zstd"
_TIMEOUT = 1800
_WIDTH = 180
"""Characters of a line where the output is no terminal."""
_DIGITS = 6
"""Digits of a float that are compared: engines add numbers up in any order."""

Query: TypeAlias = Callable[[str], pa.Table]


@dataclass(frozen=True, slots=True)
class TpchRow:
    """What a query took by *engine* on tables of *form*, and on plain Parquet: seconds, and those of the processor."""

    query: int
    engine: str
    form: str
    seconds: float
    cpu: float
    parquet_seconds: float
    parquet_cpu: float

    @property
    def ratio(self) -> float:
        """How many times faster than plain Parquet this is."""
        return self.parquet_seconds / self.seconds

    @property
    def cpu_ratio(self) -> float:
        """How many times less of the processor than plain Parquet this takes."""
        return self.parquet_cpu / self.cpu


def queries() -> dict[int, str]:
    """Return the text of each query by its number."""
    found: dict[int, list[str]] = {}
    for line in QUERIES.read_text("utf-8").splitlines():
        title = line.removeprefix("-- ")
        if line.startswith("--") and title.isdecimal():
            found[int(title)] = []
        elif found:
            found[max(found)].append(line)
    return {number: "\n".join(lines).strip().rstrip(";") for number, lines in found.items()}


def generate(scale: float, folder: Path) -> None:
    """Write the tables of TPC-H to *folder*, as Parquet files.

    Raises:
        FileNotFoundError: tpchgen-cli is not installed; it is in the extra ``bench``.
    """
    beside = Path(sys.executable).with_name("tpchgen-cli")
    command = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if command is None:
        raise FileNotFoundError("tpchgen-cli is not installed: pip install tpchgen-cli")
    made = folder / "generated"
    subprocess.run(
        [command, "parquet", "--scale-factor", str(scale), "--output-dir", str(made), "--quiet"],
        check=True,
        timeout=_TIMEOUT,
    )
    for name in KEYS:
        rows = _plain(pq.read_table(made / f"{name}.parquet"))
        pq.write_table(rows, folder / f"{name}.{PARQUET}", compression=_CODEC)
        for kind in (COW, MOR):
            _make_table(folder / kind / name, name, rows, kind)
    shutil.rmtree(made)


def _plain(rows: pa.Table) -> pa.Table:
    """Return *rows* with the strings that every reader knows, and without the generator's metadata."""
    kinds = [(one.name, pa.string() if pa.types.is_string_view(one.type) else one.type) for one in rows.schema]
    return rows.cast(pa.schema(kinds))


def _make_table(path: Path, name: str, rows: pa.Table, kind: str) -> None:
    options = {"hoodie.parquet.compression.codec": _CODEC}
    table = hf.create_table(
        path, name=name, schema=rows.schema, record_key=list(KEYS[name]), table_type=kind, options=options
    )
    table.bulk_insert(rows)
    if kind == MOR:
        chosen = np.random.default_rng(1).choice(len(rows), max(int(len(rows) * UPDATED), 1), replace=False)
        table.upsert(rows.take(pa.array(np.sort(chosen))))


def open_engine(engine: str, form: str, folder: Path) -> Query:
    """Return what runs a query by *engine* over the tables in *folder* that have the form *form*."""
    return {"duckdb": _duckdb, "polars": _polars, "datafusion": _datafusion}[engine](form, folder)


def _duckdb(form: str, folder: Path) -> Query:
    connection = duckdb.connect()
    for name in KEYS:
        if form == PARQUET:
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{folder}/{name}.{PARQUET}')")
        elif form == DATASET:
            connection.register(name, dataset.dataset(folder / f"{name}.{PARQUET}"))
        else:
            connection.register(name, hf.open_table(folder / form / name).to_duckdb(connection))
    return lambda text: connection.sql(text).to_arrow_table()


def _polars(form: str, folder: Path) -> Query:
    frames = {name: _frame(form, folder, name) for name in KEYS}
    context = pl.SQLContext(frames, eager=True)
    return lambda text: context.execute(text).to_arrow()


def _frame(form: str, folder: Path, name: str) -> pl.LazyFrame:
    if form == PARQUET:
        return pl.scan_parquet(folder / f"{name}.{PARQUET}")
    if form == DATASET:
        return pl.scan_pyarrow_dataset(dataset.dataset(folder / f"{name}.{PARQUET}"))
    return hf.open_table(folder / form / name).lazy()


def _datafusion(form: str, folder: Path) -> Query:
    context = SessionContext()
    for name in KEYS:
        if form == PARQUET:
            context.register_parquet(name, str(folder / f"{name}.{PARQUET}"))
        else:
            context.register_table(name, HudiDataFusionDataSource(str(folder / form / name)))
    return lambda text: context.sql(text).to_arrow_table()


def compare(scale: float, *, rounds: int, numbers: Sequence[int], place: Path | None = None) -> list[TpchRow]:
    """Play the queries *numbers* by all engines on tables of all forms, by turns.

    Raises:
        AssertionError: two answers of an engine differ.
    """
    folder = Path(tempfile.mkdtemp(prefix="hudiformat-tpch-", dir=place))
    try:
        generate(scale, folder)
        return [one for engine in FORMS for one in _play_all(engine, numbers, folder, rounds)]
    finally:
        shutil.rmtree(folder)


def _play_all(engine: str, numbers: Sequence[int], folder: Path, rounds: int) -> Iterator[TpchRow]:
    """Yield a row for each of the queries *numbers* and each form of tables but plain Parquet."""
    runs, texts = {form: open_engine(engine, form, folder) for form in (PARQUET, *FORMS[engine])}, queries()
    for number in numbers:
        yield from _play(engine, number, texts[number], runs, rounds)


def _play(engine: str, number: int, text: str, runs: Mapping[str, Query], rounds: int) -> Iterator[TpchRow]:
    best: dict[str, tuple[float, float]] = {}
    answers: dict[str, list[tuple[object, ...]]] = {}
    for _ in range(rounds):
        for form, run in runs.items():
            start, cpu = time.perf_counter(), time.process_time()
            found = run(text)
            taken = time.perf_counter() - start, time.process_time() - cpu
            known = best.get(form, taken)
            best[form] = min(known[0], taken[0]), min(known[1], taken[1])
            answers[form] = _rows(found)
    for form in FORMS[engine]:
        if answers[form] != answers[PARQUET]:
            raise AssertionError(f"query {number}, {engine}, {form}: not the answer that plain Parquet gives")
        yield TpchRow(number, engine, form, *best[form], *best[PARQUET])


def _rows(found: pa.Table) -> list[tuple[object, ...]]:
    """Return the rows as they are compared: equal ones may be in any order, and floats are rounded."""
    columns = [column.to_pylist() for column in found.columns]
    rounded = [
        [f"{value:.{_DIGITS}g}" if isinstance(value, float) else value for value in column] for column in columns
    ]
    return sorted(zip(*rounded, strict=True), key=str)


def show(found: Sequence[TpchRow], console: Console) -> None:
    """Print the ratios of each query, and their geometric means."""
    pairs = list(dict.fromkeys((one.engine, one.form) for one in found))
    table = Table()
    for heading in ("query", *(f"{engine}, {form.replace('_', '-').lower()}" for engine, form in pairs)):
        table.add_column(heading, justify="right", no_wrap=True)
    by_query = {(one.query, one.engine, one.form): one for one in found}
    for number in sorted({one.query for one in found}):
        cells = [by_query.get((number, *pair)) for pair in pairs]
        table.add_row(str(number), *("" if one is None else _cell(one.ratio, one.cpu_ratio) for one in cells))
    of_pair = [[one for one in found if (one.engine, one.form) == pair] for pair in pairs]
    means = [_cell(*(geometric_mean(which(one) for one in ones) for which in (_ratio, _cpu_ratio))) for ones in of_pair]
    table.add_section()
    table.add_row("mean", *means)
    console.print(table)
    console.print("Times faster than the same engine on plain Parquet; in brackets by the time of the processor.")


def _ratio(one: TpchRow) -> float:
    return one.ratio


def _cpu_ratio(one: TpchRow) -> float:
    return one.cpu_ratio


def _cell(ratio: float, cpu_ratio: float) -> str:
    return f"{ratio:.2f} ({cpu_ratio:.2f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the queries and print how fast they are beside plain Parquet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--scale", type=float, default=1.0, help="the scale factor: gigabytes of text (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts (%(default)s)")
    parser.add_argument("--query", type=int, nargs="*", default=list(queries()), help="numbers of queries")
    parser.add_argument("--place", type=Path, help="the folder of the tables (the one of temporary files)")
    parser.add_argument("--json", type=Path, help="write the results here")
    asked = parser.parse_args(arguments)
    found = compare(asked.scale, rounds=asked.rounds, numbers=asked.query, place=asked.place)
    show(found, Console(width=None if sys.stdout.isatty() else _WIDTH))
    if asked.json is not None:
        rows = [{**asdict(one), "ratio": one.ratio, "cpu_ratio": one.cpu_ratio} for one in found]
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
