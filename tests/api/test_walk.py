"""The way of a batch through the package: how many files it passes, and how deep the calls go.

Whoever follows a write or a read through the code has to open this many files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pytest

import hudiformat
from hudiformat import Table, create_table

ROOT = str(Path(hudiformat.__file__).parent)
SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("v", pa.float64()), ("p", pa.string())])


class Walk:
    """Notes the files of the package whose functions are called, and the most of their frames on the stack."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.deepest = 0

    def follow(self, action: Callable[[], object]) -> None:
        before = sys.getprofile()
        sys.setprofile(self._note)
        try:
            action()
        finally:
            sys.setprofile(before)

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(ROOT):
            return
        self.files.add(frame.f_code.co_filename)
        depth, above = 0, frame.f_back
        while above is not None:
            depth += above.f_code.co_filename.startswith(ROOT)
            above = above.f_back
        depth += 1
        self.deepest = max(self.deepest, depth)


def rows(count: int, ts: int) -> pa.RecordBatch:
    ids = [f"k{number}" for number in range(count)]
    columns = {"id": ids, "ts": [ts] * count, "v": [float(ts)] * count, "p": ["x"] * count}
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


@pytest.fixture(params=["MERGE_ON_READ", "COPY_ON_WRITE"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """A table with a base file and, if it is merge-on-read, a log file above it."""
    path = tmp_path / "t"
    found = create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=request.param,
    )
    found.upsert(rows(100, 1))
    found.upsert(rows(50, 2))
    found.snapshot()
    return found


def test_an_upsert_passes_few_files_and_a_shallow_stack(table: Table) -> None:
    walk = Walk()
    walk.follow(lambda: table.upsert(rows(60, 3)))
    files, deepest = {"MERGE_ON_READ": (51, 15), "COPY_ON_WRITE": (50, 16)}[table.config.table_type.value]
    assert len(walk.files) <= files
    assert walk.deepest <= deepest


def test_a_snapshot_passes_few_files_and_a_shallow_stack(table: Table) -> None:
    walk = Walk()
    walk.follow(table.snapshot)
    files, deepest = {"MERGE_ON_READ": (40, 18), "COPY_ON_WRITE": (24, 14)}[table.config.table_type.value]
    assert len(walk.files) <= files
    assert walk.deepest <= deepest
