"""Peers in Python: plain fastavro, pyarrow's Parquet, and the package ``hudi`` (hudi-rs)."""

from __future__ import annotations

import importlib.metadata
import io
import json
from collections.abc import Callable
from pathlib import Path

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hudiformat as hf
from benchmarks.cases import mixed
from benchmarks.ours import Rows
from benchmarks.timing import Speed, timed
from hudiformat.basefile import META_FIELDS

Reader = Callable[[], pa.Table]

_LOG_FILES = 4

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


def slice_readers(count: int, folder: Path) -> tuple[dict[str, Reader], dict[str, Reader]]:
    """Readers of a table of one file slice: of base file and logs merged, and of the base file alone; ours first.

    The base file has *count* mixed rows, and four log files replace each of them once, in an order drawn at random.

    Raises:
        ImportError: the package ``hudi`` is not installed, or reads something else.
    """
    import hudi  # noqa: PLC0415 - an extra

    path = folder / "table"
    rows = pa.Table.from_batches([mixed(count)]).drop_columns(list(META_FIELDS))
    table = hf.create_table(path, name="slices", schema=rows.schema, record_key=["id"], ordering=["large"])
    table.insert(rows)
    order = np.random.default_rng(7).permutation(count)
    for part in np.array_split(order, _LOG_FILES):
        hf.open_table(path, options={"hoodie.metadata.enable": "false"}).upsert(rows.take(pa.array(part)))
    [base_file] = path.glob("*.parquet")
    merged: dict[str, Reader] = {
        "hudiformat": lambda: hf.open_table(path).snapshot(),
        f"hudi {importlib.metadata.version('hudi')}": lambda: pa.Table.from_batches(hudi.HudiTable(str(path)).read()),
    }
    base: dict[str, Reader] = {
        "hudiformat": lambda: hf.open_table(path).read_optimized(),
        "Parquet (pyarrow)": lambda: pq.read_table(base_file, use_threads=False),
    }
    for readers in (merged, base):
        _check_same(*(reader() for reader in readers.values()))
    return merged, base


def _check_same(ours: pa.Table, theirs: pa.Table) -> None:
    """A peer that reads something else is no peer."""
    order: Callable[[pa.Table], pa.Table] = lambda table: table.select(["id", "large", "note"]).sort_by("id")  # noqa: E731
    if order(ours) != order(theirs).cast(order(ours).schema):
        raise ImportError("the package hudi reads other rows than we do")
