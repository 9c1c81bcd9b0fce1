"""The result of ``explain``: which file slices a scan reads, which it leaves out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hudiformat.file_group.slices import FileSlice
from hudiformat.notebook import Bar, Rows, show
from hudiformat.numbers import size_text

PARTITION_PATH = "partition path"
FOOTER = "footer"
_MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class ExplainedSlice:
    """One file slice of a query.

    *left_out_by* is None for a slice that is read.  Otherwise it names what showed that the filter is true for no row
    of the slice: ``partition path``, a partition of the metadata table (such as ``column_stats``), or ``footer`` if the
    statistics in the base file's footer rule out all of its row groups.  *row_groups* is the number of row groups of
    the base file that are read, *row_groups_in* the number that it has; both are None if the file was not opened.

    Source: spec/queries.md.
    """

    file_slice: FileSlice
    left_out_by: str | None = None
    row_groups: int | None = None
    row_groups_in: int | None = None

    def __str__(self) -> str:
        one = self.file_slice
        files = [] if one.base_file is None else ["base file"]
        files += [f"{len(one.log_files)} log file{'s' * (len(one.log_files) > 1)}"] if one.log_files else []
        done = "read" if self.left_out_by is None else f"left out by {self.left_out_by}"
        groups = "" if self.row_groups is None else f", {self.row_groups} of {self.row_groups_in} row groups"
        return f"{one.partition_path or '.'}  {one.file_id}  {' + '.join(files)}: {done}{groups}"


@dataclass(frozen=True, slots=True)
class ScanExplanation:
    """Which file slices a scan reads, which it leaves out, and why; ``str()`` formats it as text.

    Source: spec/queries.md.
    """

    slices: Sequence[ExplainedSlice]

    @property
    def read(self) -> list[FileSlice]:
        """The file slices that are read."""
        return [one.file_slice for one in self.slices if one.left_out_by is None]

    @property
    def left_out(self) -> dict[str, int]:
        """The number of file slices that are left out, by the reason."""
        return dict(Counter(one.left_out_by for one in self.slices if one.left_out_by is not None))

    def _repr_html_(self) -> str:
        every = [one.file_slice for one in self.slices]
        facts = {"reads": f"{len(self.read)} of {len(every)} file slices, {_size(self.read)} of {_size(every)}"}
        most = max((one.size for one in every), default=0)
        rows = [
            (
                one.file_slice.partition_path,
                one.file_slice.file_id,
                "read" if one.left_out_by is None else f"left out by {one.left_out_by}",
                None if one.row_groups is None else f"{one.row_groups} of {one.row_groups_in}",
                Bar((one.file_slice.size - one.file_slice.log_bytes, one.file_slice.log_bytes), most),
            )
            for one in self.slices
        ]
        columns = ("partition", "file group", "", "row groups", "base file and logs")
        return show("What the scan reads", facts, Rows(columns, rows))

    def __str__(self) -> str:
        every = [one.file_slice for one in self.slices]
        lines = [f"reads {len(self.read)} of {len(every)} file slices, {_size(self.read)} of {_size(every)}"]
        lines += [f"  {count} left out by {reason}" for reason, count in self.left_out.items()]
        lines += [str(one) for one in self.slices[:_MOST_LINES]]
        more = len(self.slices) - _MOST_LINES
        return "\n".join(lines + ([f"... and {more} more"] if more > 0 else []))


def _size(slices: Sequence[FileSlice]) -> str:
    return size_text(sum(one.size for one in slices))
