"""A small table that is written for real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import hudiformat as hf

SMALL = {
    "hoodie.parquet.max.file.size": "120000",
    "hoodie.parquet.small.file.limit": "100000",
    "hoodie.record.size.estimation.threshold": "0.1",
    "hoodie.metadata.enable": "false",
    "hudiformat.sync": "false",
}
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.string())])


def rows_of(number: int, count: int) -> pa.Table:
    """New rows of a commit, of random letters."""
    letters = np.random.default_rng(number).integers(97, 123, count * 40, dtype=np.uint8).tobytes().decode()
    texts = [letters[at * 40 : at * 40 + 40] for at in range(count)]
    return pa.table([[f"{number:04}{at:06}" for at in range(count)], texts], schema=SCHEMA)


def written_table(path: Path, *, commits: int, rows: int) -> hf.Table:
    """A copy-on-write table of so many commits, with files of 120 kB."""
    table = hf.create_table(path, name="t", schema=SCHEMA, record_key=["k"], table_type="COPY_ON_WRITE", options=SMALL)
    for number in range(commits):
        table.insert(rows_of(number, rows))
    return table
