"""Print what a batch of rows passes in an upsert and in a snapshot: ``python -m tools.walk``, ``--files`` for names.

Three figures for each: the modules with a function that is handed rows, all modules that run on the calling thread,
and how deep in the stack, of our own frames, a function is handed rows.  They are hints for a reader of the code, as
those of `tools.house` are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import hudiformat
from hudiformat.write.rows import KeyedRows, LocatedRows

PACKAGE = Path(hudiformat.__file__).parent
CARRIERS = (pa.RecordBatch, pa.Table, pa.RecordBatchReader, pa.Array, pa.ChunkedArray, KeyedRows, LocatedRows)
_SCHEMA = pa.schema([("k", pa.string()), ("p", pa.string()), ("v", pa.int64())])


@dataclass
class Walk:
    """The modules of the package, by their paths, that a call has passed."""

    ran: set[str] = field(default_factory=set)
    had_rows: set[str] = field(default_factory=set)
    depth: int = 0

    @classmethod
    def of(cls, call: Callable[[], object]) -> Walk:
        """Return what *call* passes; modules of other threads count where they are handed rows."""
        walk = cls()
        main = threading.get_ident()

        def note(frame: FrameType, event: str, _: Any) -> None:
            module = _module_of(frame)
            if event != "call" or module is None:
                return
            if threading.get_ident() == main:
                walk.ran.add(module)
            if any(map(_has_rows, frame.f_locals.values())):
                walk.had_rows.add(module)
                walk.depth = max(walk.depth, _depth(frame))

        threading.setprofile(note)
        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return walk


def walks() -> dict[str, Walk]:
    """Return the walk of an upsert and of a snapshot, for each type of table."""
    found = {}
    for table_type in ("COPY_ON_WRITE", "MERGE_ON_READ"):
        with tempfile.TemporaryDirectory() as folder:
            hudiformat.create_table(
                f"{folder}/t",
                name="t",
                schema=_SCHEMA,
                record_key=["k"],
                ordering=["v"],
                partition_by=["p"],
                table_type=table_type,
            )
            # New rows open a group.
            table = hudiformat.open_table(f"{folder}/t", options={"hoodie.parquet.small.file.limit": "0"})
            table.upsert(_rows(range(100)))
            found[f"{table_type}, upsert"] = Walk.of(partial(table.upsert, _rows(range(50, 150))))
            found[f"{table_type}, snapshot"] = Walk.of(table.snapshot)
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="print the modules that are handed rows, too")
    with_files = parser.parse_args().files
    for name, walk in walks().items():
        print(f"{name:24} {len(walk.had_rows)} modules with rows, {len(walk.ran)} in all, {walk.depth} frames deep")
        for module in sorted(walk.had_rows) if with_files else ():
            print(f"    {module}")


def _rows(numbers: range) -> pa.Table:
    columns = {"k": [str(number) for number in numbers], "p": ["x"] * len(numbers), "v": list(numbers)}
    return pa.table(columns, schema=_SCHEMA)


def _module_of(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    return path.relative_to(PACKAGE).as_posix() if PACKAGE in path.parents else None


def _has_rows(value: object, nested: int = 2) -> bool:
    if isinstance(value, list | tuple) and nested:
        return any(_has_rows(item, nested - 1) for item in value[:10])
    return isinstance(value, CARRIERS)


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth += _module_of(frame) is not None
        frame = frame.f_back
    return depth


if __name__ == "__main__":
    main()
