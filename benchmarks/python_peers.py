"""Peers in Python: plain fastavro, pyarrow's Parquet, and the package ``hudi`` (hudi-rs)."""

from __future__ import annotations

import importlib.metadata
import io
import json
from collections.abc import Callable
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


def slice_readers(count: int, folder: Path) -> dict[str, Callable[[], pa.Table]]:
    """Readers of a table with one file slice, a base file and a log file that replaces every other row.

    Raises:
        ImportError: the package ``hudi`` is not installed.
    """
    import hudi  # noqa: PLC0415 - an extra

    path = folder / "table"
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("text", pa.string())])
    table = hf.create_table(path, name="slices", schema=schema, record_key=["id"], ordering=["ts"])
    table.insert(_versions(range(count), ts=1))
    hf.open_table(path).upsert(_versions(range(0, count, 2), ts=2))

    def ours() -> pa.Table:
        return hf.open_table(path).snapshot()

    def theirs() -> pa.Table:
        return pa.Table.from_batches(hudi.HudiTable(str(path)).read(None))

    _check_same(ours(), theirs())
    return {"hudiformat": ours, f"hudi {importlib.metadata.version('hudi')}": theirs}


def _versions(keys: range, *, ts: int) -> pa.Table:
    columns = {
        "id": [f"key-{key:09d}" for key in keys],
        "ts": pa.array([ts] * len(keys), pa.int64()),
        "text": [f"version {ts} of row {key}, with a text behind it" for key in keys],
    }
    return pa.table(columns)


def _check_same(ours: pa.Table, theirs: pa.Table) -> None:
    """A peer that reads something else is no peer."""
    order: Callable[[pa.Table], pa.Table] = lambda table: table.select(["id", "ts", "text"]).sort_by("id")  # noqa: E731
    if order(ours).to_pydict() != order(theirs).to_pydict():
        raise ImportError("the package hudi reads other rows than we do")
