"""Peers in Python: plain fastavro, pyarrow's Parquet, and the package ``hudi`` (hudi-rs)."""

from __future__ import annotations

import io
import json
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

import hudiformat as hf
from benchmarks.ours import Rows
from benchmarks.timing import Speed, timed

FASTAVRO_ROWS = 5_000
"""Enough: fastavro's cost per row does not depend on how many there are."""


def fastavro_speeds(rows: Rows) -> dict[str, Speed]:
    """Encoding and decoding the first rows, one by one, with the rows as dictionaries."""
    parsed = fastavro.parse_schema(json.loads(rows.schema))
    few = rows.table.slice(0, FASTAVRO_ROWS).to_pylist(maps_as_pydicts="strict")

    def encode() -> list[bytes]:
        encoded = []
        for row in few:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, parsed, row)
            encoded.append(out.getvalue())
        return encoded

    data = encode()

    def decode() -> None:
        for record in data:
            fastavro.schemaless_reader(io.BytesIO(record), parsed, None)

    decode()
    return {"encode": timed(encode, len(few)), "decode": timed(decode, len(few))}


def parquet_speeds(rows: Rows, folder: Path) -> dict[str, Speed]:
    """The rows to a Parquet file and back: what a columnar format can do.

    Compressed as pyarrow does by default, and for Parquet blocks as Hudi does (hoodie.parquet.compression.codec).
    """
    table, path = rows.table, folder / "rows.parquet"
    compression = "gzip" if rows.case.format == "parquet" else "snappy"

    def write() -> None:
        pq.write_table(table, path, compression=compression, row_group_size=rows.case.block_rows)

    def read() -> pa.Table:
        return pq.read_table(path, use_threads=False, memory_map=True)

    write()
    read()
    return {"write": timed(write, rows.count), "decode": timed(read, rows.count)}


def base_file_speeds(path: Path, count: int) -> dict[str, Speed]:
    """Reading the *count* rows of the table's one base file: by ours, and as a plain Parquet file."""
    [base_file] = path.glob("*.parquet")
    return {
        "hudiformat": timed(lambda: hf.open_table(path).read_optimized(), count),
        "Parquet (pyarrow)": timed(lambda: pq.read_table(base_file, use_threads=False), count),
    }
