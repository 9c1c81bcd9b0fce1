"""Base files in ORC written and read, compared with plain ORC by pyarrow: ``python -m benchmarks.orc_files``.

Both write files of one compression, which nobody syncs, and both read every column.  A table has record keys, a bloom
filter and Hudi's meta fields besides.  A second peer writes the columns that the base file has, meta fields included.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import orc
from rich.console import Console
from rich.table import Table

import hudiformat as hf
from benchmarks.cases import MIXED, TEN
from benchmarks.timing import interleaved, timed

ROWS = 500_000
TARGET = 0.8
OURS, ROWS_ALONE, SAME = "hudiformat", "pyarrow, the rows alone", "pyarrow, with meta fields"
CODECS = ("zlib", "snappy", "zstd")


def write_table(folder: Path, rows: pa.Table, codec: str) -> Path:
    """Write *rows* into a new copy-on-write table; return its path."""
    options = {
        "hoodie.table.base.file.format": "ORC",
        "hoodie.orc.compression.codec": codec.upper(),
        "hudiformat.sync": "false",
    }
    table = hf.create_table(
        folder, name="t", schema=rows.schema, record_key="id", table_type="COPY_ON_WRITE", options=options
    )
    table.bulk_insert(rows)
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Write and read by turns, and print the speeds and their ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="rows (%(default)s)")
    parser.add_argument("--codec", choices=CODECS, default="zlib", help="compression of all files (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts (%(default)s)")
    asked = parser.parse_args(arguments)
    rows, same = (pa.Table.from_batches([case.make(asked.rows)]) for case in (TEN, MIXED))
    with tempfile.TemporaryDirectory() as name:
        folder, numbers = Path(name), itertools.count()
        plain, whole = folder / "rows.orc", folder / "same.orc"

        def peer(given: pa.Table, path: Path) -> None:
            orc.write_table(given, path, compression=asked.codec)

        writing = {
            OURS: lambda: write_table(folder / f"t{next(numbers)}", rows, asked.codec),
            ROWS_ALONE: lambda: peer(rows, plain),
            SAME: lambda: peer(same, whole),
        }
        peer(rows, plain)
        peer(same, whole)
        table = hf.open_table(write_table(folder / "read", rows, asked.codec))
        reading = {
            OURS: lambda: table.snapshot(columns=rows.column_names),
            ROWS_ALONE: lambda: orc.ORCFile(plain).read(),
        }
        reading_all = {OURS: table.snapshot, SAME: lambda: orc.ORCFile(whole).read()}
        assert table.snapshot(columns=rows.column_names).sort_by("id").equals(rows)  # and all is warm
        found = {
            title: interleaved({peer: timed(action, asked.rows) for peer, action in actions.items()}, asked.rounds)
            for title, actions in (("write", writing), ("read ten columns", reading), ("read all", reading_all))
        }
    shown = Table(title=f"{asked.rows:,} mixed rows, {asked.codec}")
    for heading in ("", "contender", "rows/s", f"{OURS} : this", "target"):
        shown.add_column(heading, justify="right")
    for title, speeds in found.items():
        for peer_name, speed in speeds.items():
            ratio = "" if peer_name == OURS else f"{speeds[OURS] / speed:.2f}"
            target = "" if peer_name == OURS or (title, peer_name) == ("write", ROWS_ALONE) else f">= {TARGET}"
            shown.add_row(title, peer_name, f"{speed:,.0f}", ratio, target)
    Console().print(shown)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
