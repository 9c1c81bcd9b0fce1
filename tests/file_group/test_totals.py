"""The sums over file slices."""

from __future__ import annotations

from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile, SliceTotals
from hudiformat.naming.file_names import BaseFileName, LogFileName


def file_slice(base: int | None, *logs: int) -> FileSlice:
    return FileSlice(
        "p",
        "f",
        "1",
        None if base is None else BaseFile(BaseFileName("f", "0-0-0", "1", "parquet"), base),
        tuple(LogFile(LogFileName("f", "2", i + 1, "0-0-0"), size) for i, size in enumerate(logs)),
    )


def test_files_and_bytes_are_counted() -> None:
    totals = SliceTotals.of([file_slice(100), file_slice(99, 1, 2), file_slice(None, 5)], small_file_limit=100)
    assert totals == SliceTotals(
        file_groups=3, base_files=2, base_bytes=199, small_base_files=1, log_files=3, log_bytes=8
    )
    assert totals.average_base_file == 99
    assert totals.log_ratio == 8 / 199


def test_totals_of_partitions_are_added() -> None:
    one, two = (SliceTotals.of([file_slice(size, size)], small_file_limit=2) for size in (1, 3))
    assert one + two == SliceTotals.of([file_slice(1, 1), file_slice(3, 3)], small_file_limit=2)


def test_without_base_files_there_is_no_average_and_no_ratio() -> None:
    totals = SliceTotals.of([file_slice(None, 5)], small_file_limit=100)
    assert (totals.average_base_file, totals.log_ratio) == (None, None)
