"""Vectors written and read, compared with plain Parquet by pyarrow: ``python -m benchmarks.vectors``.

100,000 rows of 768 floats, as lists of fixed size; both write files of one compression, which nobody syncs, and both
read every column.  A table has record keys, a bloom filter and Hudi's meta fields besides, and stores a vector as so
many bytes; pyarrow stores a list of numbers.  A second peer stores the same bytes without being told what they mean.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import hudiformat as hf
from benchmarks.timing import interleaved, timed
from hudiformat.codec.custom_types import store_vectors

ROWS, DIMENSION = 100_000, 768
TARGET = 0.8
OURS, LISTS, BYTES = "hudiformat", "pyarrow, lists", "pyarrow, bytes"


def vectors(rows: int, dimension: int) -> pa.Table:
    """So many rows of a key and a vector, from a fixed seed."""
    numbers = np.random.default_rng(7).standard_normal(rows * dimension, np.float32)
    kind = pa.list_(pa.float32(), dimension)
    lists = pa.Array.from_buffers(kind, rows, [None], children=[pa.array(numbers)])
    return pa.table({"k": [f"key-{row:08d}" for row in range(rows)], "v": lists})


def as_bytes(rows: pa.Table) -> pa.Table:
    """The same rows, of which each vector is bytes."""
    return store_vectors(rows)


def write_table(folder: Path, rows: pa.Table, codec: str) -> Path:
    """Write *rows* into a new copy-on-write table; return its path."""
    options = {"hoodie.parquet.compression.codec": codec, "hudiformat.sync": "false"}
    table = hf.create_table(
        folder, name="t", schema=rows.schema, record_key="k", table_type="COPY_ON_WRITE", options=options
    )
    table.bulk_insert(rows)
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Write and read by turns, and print the speeds and their ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="rows (%(default)s)")
    parser.add_argument("--dimension", type=int, default=DIMENSION, help="floats in a vector (%(default)s)")
    parser.add_argument("--codec", default="gzip", help="compression of all files (%(default)s, as Hudi has it)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts (%(default)s)")
    asked = parser.parse_args(arguments)
    rows = vectors(asked.rows, asked.dimension)
    stored = as_bytes(rows)
    codec = "none" if asked.codec == "uncompressed" else asked.codec
    level = 4 if codec == "gzip" else None  # the level that hudiformat writes with; Java's 6 and Arrow's 9 are slower
    with tempfile.TemporaryDirectory() as name:
        folder, numbers = Path(name), itertools.count()

        def peer(given: pa.Table, path: Path) -> Path:
            pq.write_table(given, path, compression=codec, compression_level=level, use_dictionary=False)
            return path

        writing = {
            OURS: lambda: write_table(folder / f"t{next(numbers)}", rows, asked.codec),
            LISTS: lambda: peer(rows, folder / "lists.parquet"),
            BYTES: lambda: peer(stored, folder / "bytes.parquet"),
        }
        table = hf.open_table(write_table(folder / "read", rows, asked.codec))
        reading = {
            OURS: lambda: table.snapshot(columns=["k", "v"]),
            LISTS: lambda: pq.read_table(folder / "lists.parquet"),
            BYTES: lambda: pq.read_table(folder / "bytes.parquet"),
        }
        writing[LISTS]()
        writing[BYTES]()
        assert table.snapshot(columns=["k", "v"]).sort_by("k").equals(rows)  # and all is warm
        found = {
            title: interleaved({peer: timed(action, asked.rows) for peer, action in actions.items()}, asked.rounds)
            for title, actions in (("write", writing), ("read", reading))
        }
    shown = Table(title=f"{asked.rows:,} rows of {asked.dimension} floats, {asked.codec}")
    for heading in ("", "contender", "rows/s", "MB/s", f"{OURS} : this", "target"):
        shown.add_column(heading, justify="right")
    for title, speeds in found.items():
        for peer_name, speed in speeds.items():
            ratio = "" if peer_name == OURS else f"{speeds[OURS] / speed:.2f}"
            target = f">= {TARGET}" if peer_name == LISTS else ""
            shown.add_row(title, peer_name, f"{speed:,.0f}", f"{speed * asked.dimension * 4 / 1e6:,.0f}", ratio, target)
    Console().print(shown)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
