"""File groups that large inserts leave, of several full files each: ``python -m benchmarks.full_files``.

A planned group has to become one file, without a small one for the few rows that are more than planned.  Rows have
about a kilobyte that does not compress, and the numbers of rows are chosen so that a third of M is left over in the
end.  The program fails if a file group is smaller than a tenth of M.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import hudiformat as hf
from benchmarks.small_files import PLAIN

FULL = 12_000_000
ROW = 1_000
"""About the bytes of a row in a file, with its meta fields and its share of the bloom filter."""
LEAST_SHARE = 0.1
LOG_RATIO = 0.35
FLINK = {"hudiformat.sizing": "flink"}
LOGS = {"hoodie.index.type": "INMEMORY"}


@dataclass(frozen=True, slots=True)
class Case:
    """Inserts into a new table, each of so many times M."""

    inserts: tuple[float, ...]
    table_type: str = "MERGE_ON_READ"
    options: Mapping[str, str] = field(default_factory=dict)


CASES = {
    "one of 2.5 M, copy-on-write": Case((2.5,), "COPY_ON_WRITE"),
    "one of 2.5 M, merge-on-read": Case((2.5,)),
    "six of 3 M, copy-on-write": Case((3.0,) * 6, "COPY_ON_WRITE"),
    "six of 3 M, merge-on-read": Case((3.0,) * 6),
    "six of 3 M, log files": Case((3.0,) * 6, options=LOGS),
    "six of 3 M, Flink's rules": Case((3.0,) * 6, "COPY_ON_WRITE", FLINK),
    "eight of 0.7 M, merge-on-read": Case((0.7,) * 8),
}


def insert_all(folder: Path, case: Case, full: int) -> list[float]:
    """The size of each file group after the inserts of *case*, in shares of M; of log files, as one base file."""
    options = {
        **PLAIN,
        "hoodie.parquet.max.file.size": str(full),
        "hoodie.parquet.small.file.limit": str(full * 100 // 120),
        "hoodie.copyonwrite.record.size.estimate": str(ROW),
        "hoodie.parquet.compression.codec": "uncompressed",
        **case.options,
    }
    schema = rows(0, 1).schema
    table = hf.create_table(
        folder, name="rows", schema=schema, record_key=["id"], table_type=case.table_type, options=options
    )
    first = 0
    for share in case.inserts:
        count = round(share * full / ROW)
        table.insert(rows(first, count))
        first += count
    if table.snapshot(columns=["id"]).num_rows != first:
        raise AssertionError("the table has other rows than went in")
    sizes = []
    for group in table.file_slices():
        base = group.base_file.size if group.base_file else 0
        sizes.append((base + LOG_RATIO * group.log_bytes) / full)
    return sorted(sizes)


def rows(first: int, count: int) -> pa.Table:
    """Rows of about a kilobyte that does not compress."""
    chance = np.random.default_rng(first)
    width = ROW - 50
    content = pa.py_buffer(chance.integers(33, 127, count * width, np.uint8))
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * width)
    texts = pa.Array.from_buffers(pa.string(), count, [None, offsets, content])
    return pa.table({"id": [f"{number:09d}" for number in range(first, first + count)], "text": texts})


def main(arguments: Sequence[str] | None = None) -> int:
    """Insert in each way and print the table; 1 if a file group is too small."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--full", type=int, default=FULL, help="bytes of a full file, M (%(default)s)")
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be repeated")
    asked = parser.parse_args(arguments)
    shown = Table(title=f"file groups in shares of M = {asked.full:,} bytes")
    for heading in ("inserts", "M in all", "groups", "smallest", "largest"):
        shown.add_column(heading, justify="left" if heading == "inserts" else "right", no_wrap=True)
    smallest = 1.0
    with tempfile.TemporaryDirectory(prefix="hudiformat-full-files-") as folder:
        for name in asked.case or CASES:
            case = CASES[name]
            sizes = insert_all(Path(folder, name), case, asked.full)
            smallest = min(smallest, *sizes)
            figures = (f"{sum(case.inserts):.1f}", str(len(sizes)), f"{sizes[0]:.2f}", f"{sizes[-1]:.2f}")
            shown.add_row(name, *figures)
    Console().print(shown)
    if smallest < LEAST_SHARE:
        print(f"a file group has {smallest:.1%} of M: expected at least {LEAST_SHARE:.0%}")
    return int(smallest < LEAST_SHARE)


if __name__ == "__main__":
    raise SystemExit(main())
