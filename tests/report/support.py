"""File slices and facts for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hudiformat import Table
from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile
from hudiformat.naming.file_names import BaseFileName, LogFileName
from hudiformat.report.facts import Layout, TableFacts
from hudiformat.report.gathering import gather
from hudiformat.report.layout import layout_of
from tests.tables import new_table

INSTANT = "20240229120000000"


def slice_of(partition: str, file_id: str, base: int | None, *logs: int, instant: str = INSTANT) -> FileSlice:
    """A file slice with a base file of so many bytes, or without one, and log files of so many."""
    name = BaseFileName.parse(f"{file_id}_0-1-2_{instant}.parquet")
    log_names = [LogFileName.parse(f".{file_id}_{instant}.log.{number}_0-1-2") for number in range(1, len(logs) + 1)]
    return FileSlice(
        partition,
        file_id,
        instant,
        None if base is None else BaseFile(name, base),
        tuple(LogFile(log, size) for log, size in zip(log_names, logs, strict=True)),
    )


def layout(slices: Sequence[FileSlice], **most: int) -> Layout:
    stored = sum(one.size for one in slices)
    return layout_of(slices, stored_files=len(slices), stored_bytes=stored, small_file_limit=100, **most)


def empty_facts(folder: Path) -> TableFacts:
    """The facts of a table without a commit."""
    return gather(new_table(folder / "empty")._context)


def facts_of(table: Table, *, verify: bool = True) -> TableFacts:
    return gather(table._context, verify=verify)
