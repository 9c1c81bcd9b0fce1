"""What queries for boxes of rows read before and after clustering: ``python -m benchmarks.box_queries``.

A box is a range of days, of distances and of delays of the flights of a year.  A query opens the files whose column
statistics it does not rule out, and reads the row groups whose own statistics it does not rule out; the bytes of these
are counted.  The same table is clustered by hudiformat and, where it is installed, by Hudi, along the same curves, into
files of the same size, and read by hudiformat.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import hudiformat as hf
from examples.flights.source import read_flights
from hudiformat.file_group.slices import FileSlice
from tests.conformance.hudi import NoHudiError, RealHudi

QUERIES = 20
FILE_BYTES = 250_000
ORDER = "day,distance,delay"
CURVES = ("linear", "z-order", "hilbert")
WRITTEN = {
    "hoodie.metadata.enable": "true",
    "hoodie.parquet.max.file.size": str(FILE_BYTES),
    "hoodie.parquet.small.file.limit": "0",
}
PLAN = {
    "hoodie.clustering.plan.strategy.small.file.limit": "999999999",
    "hoodie.clustering.plan.strategy.target.file.max.bytes": str(FILE_BYTES),
    "hoodie.clustering.plan.strategy.max.bytes.per.group": "999999999",
}
THEIRS = {"hoodie.index.bloom.num_entries": "1000", "hoodie.bloom.index.filter.dynamic.max.entries": "1000"}
"""Hudi counts the bloom filter of a file to its size; its own for 60,000 keys would be larger than the rows."""
_SHARE = 0.3
"""Of the days, distances and delays that a box has, by their rank."""


def flights() -> pa.Table:
    """The flights of 2013 that have a delay, in the order of their days, with a key each."""
    found = read_flights()
    found = found.filter(pc.is_valid(found["dep_delay"]))
    parts = (found[name].to_numpy().astype(str) for name in ("year", "month", "day"))
    days = np.array(["-".join((year, month.zfill(2), day.zfill(2))) for year, month, day in zip(*parts, strict=True)])
    return pa.table(
        {
            "id": pa.array(np.arange(len(found)), pa.int64()),
            "day": pa.array(days.astype("datetime64[D]")),
            "distance": found["distance"].cast(pa.int32()),
            "delay": found["dep_delay"].cast(pa.int32()),
            "carrier": found["carrier"],
            "tail": found["tailnum"],
            "origin": found["origin"],
            "dest": found["dest"],
            "air_time": found["air_time"].cast(pa.int32()),
        }
    )


def boxes(rows: pa.Table, count: int = QUERIES) -> list[pc.Expression]:
    """Conditions that each match a share of the days, the distances and the delays; the same on every run."""
    random = np.random.default_rng(5)
    ranked = {name: np.sort(rows[name].to_numpy()) for name in ORDER.split(",")}
    found = []
    for _ in range(count):
        conditions = []
        for name, values in ranked.items():
            start = int(random.integers(0, int(len(values) * (1 - _SHARE))))
            low, high = (values[at].item() for at in (start, start + int(len(values) * _SHARE)))
            conditions.append((pc.field(name) >= low) & (pc.field(name) <= high))
        found.append(conditions[0] & conditions[1] & conditions[2])
    return found


def bytes_read(path: Path, asked: list[pc.Expression], expected: list[int]) -> float:
    """The bytes of the row groups that are read for all of *asked*, whose rows are as many as *expected*."""
    table, total = hf.open_table(path), 0.0
    for condition, count in zip(asked, expected, strict=True):
        scan = table.scan(columns=["id"], filter=condition)
        if sum(batch.num_rows for batch in scan) != count:
            raise AssertionError(f"rows are missing or too many: {condition}")
        for one in scan.explain().slices:
            if one.left_out_by is None and one.row_groups is not None and one.row_groups_in:
                total += _data_bytes(path, one.file_slice) * one.row_groups / one.row_groups_in
    return total


def _data_bytes(path: Path, file_slice: FileSlice) -> int:
    """The bytes of the row groups of a base file; the footer with its bloom filter is not counted."""
    assert file_slice.base_file is not None
    metadata = pq.read_metadata(path / file_slice.partition_path / str(file_slice.base_file.name))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return sum(group.column(column).total_compressed_size for group in groups for column in range(group.num_columns))


def prepare(path: Path, rows: pa.Table) -> None:
    """The table as the flights come: by day."""
    hf.create_table(
        path, name="flights", schema=rows.schema, record_key=["id"], table_type="COPY_ON_WRITE", options=WRITTEN
    )
    hf.open_table(path, options=WRITTEN).bulk_insert(rows)


def measure(folder: Path, rows: pa.Table, hudi: RealHudi | None) -> dict[str, tuple[int, float]]:
    """Files and bytes read, by layout."""
    asked = boxes(rows)
    expected = [rows.filter(condition).num_rows for condition in asked]
    prepare(folder / "t", rows)
    layouts: dict[str, Path] = {"as they come": folder / "t"}
    for curve in CURVES:
        own = layouts[f"{curve}, hudiformat"] = folder / curve
        shutil.copytree(folder / "t", own)
        words = {"hoodie.clustering.plan.strategy.sort.columns": ORDER, "hoodie.layout.optimize.strategy": curve}
        hf.open_table(own, options={**WRITTEN, **PLAN, **words}).cluster()
        if hudi is not None:
            theirs = layouts[f"{curve}, Hudi"] = folder / f"{curve} by Hudi"
            shutil.copytree(folder / "t", theirs)
            hudi.sql(_call(theirs, curve, {**PLAN, **THEIRS}))
    found = {}
    for name, at in layouts.items():
        found[name] = len(hf.open_table(at).file_slices()), bytes_read(at, asked, expected)
    return found


def _call(path: Path, curve: str, options: Mapping[str, str]) -> str:
    text = ",".join(f"{key}={value}" for key, value in options.items())
    return (
        f"call run_clustering(path => '{path}', order => '{ORDER}', order_strategy => '{curve}', options => '{text}')"
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.box_queries", description=__doc__)
    parser.add_argument("--no-hudi", action="store_true", help="leave Hudi's layouts out")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hudiformat-bench-") as folder:
        hudi = None
        if not asked.no_hudi:
            try:
                hudi = RealHudi().start()
            except NoHudiError as error:
                Console(stderr=True).print(f"without Hudi: {error}")
        try:
            found = measure(Path(folder), flights(), hudi)
        finally:
            if hudi is not None:
                hudi.stop()
    before = found["as they come"][1]
    shown = Table("layout", "files", f"MB read by {QUERIES} queries", "of before", box=None)
    for name, (files, size) in found.items():
        shown.add_row(name, str(files), f"{size / 1e6:.1f}", f"{size / before:.0%}")
    Console().print(shown)


if __name__ == "__main__":
    main()
