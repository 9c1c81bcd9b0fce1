"""The file groups of a simulated table, as columns: an array per property, with an item per file group.

Sizes follow from rows, so that a thousand commits played at once leave the bytes that they leave one after the other:
``bytes = fixed + rows * row bytes``.  An item may stand for ``count`` equal file groups, if no rule has to tell them
apart; all other columns are sums over these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile
from hudiformat.naming.file_names import BaseFileName, LogFileName

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FRACTION = 10
"""The bits behind the point of bytes per row, and of numbers of files that are expected values."""
HITS = 20
"""The bits behind the point of how often a file group is expected to be updated."""
NOBODY = -1
"""The number of a file group that is none."""
_WRITTEN_BY = "0-0-0"
_COLUMNS = (
    "lane",
    "count",
    "has_base",
    "fixed",  # bytes of the base file that do not depend on ``rows``
    "rows",  # rows of the base file, without ``given``
    "given",  # rows whose bytes are in ``fixed``, as the table was given
    "changed",  # rows of the base file that were updated, times 2 ** FRACTION; ``fixed`` has what they take more
    "log_rows",  # rows that only log files have
    "log_files",  # log files with such rows, and those that the table was given with
    "updated",  # bytes of updates in log files, times 2 ** FRACTION
    "hits",  # how often an update was expected in it since it had no log file, times 2 ** HITS
)


def fixed_point(value: float, bits: int) -> int:
    """Return a number as an integer, times two to the power of *bits*."""
    return round(value * (1 << bits))


@dataclass(frozen=True, slots=True)
class RowBytes:
    """The bytes of rows in base files and log files, times ``2 ** FRACTION``, and of files without rows.

    ``update`` are the bytes that a row of a base file takes more once it was updated.
    """

    base: int
    update: int
    log: int
    file: int
    block: int

    def of_base(self, rows: Numbers) -> Numbers:
        """Return the bytes of rows in base files."""
        return rows * self.base >> FRACTION

    def of_changed(self, changed: Numbers) -> Numbers:
        """Return the bytes that updated rows take more than others; the rows are times ``2 ** FRACTION``."""
        return changed * self.update >> 2 * FRACTION

    def of_log(self, rows: Numbers) -> Numbers:
        """Return the bytes of rows in log files."""
        return rows * self.log >> FRACTION


class Groups:
    """The file groups of a simulated table; the methods return a column."""

    def __init__(self, row: RowBytes) -> None:
        self.row = row
        self.length = 0
        self.ids: dict[int, str] = {}
        self._columns: dict[str, Numbers] = {name: np.zeros(64, np.int64) for name in _COLUMNS}

    def __getitem__(self, name: str) -> Numbers:
        return self._columns[name][: self.length]

    def add(self, file_id: str | None, **values: int) -> int:
        """Add an item and return its number; a value that is not given is 0, the ``count`` is 1."""
        number = self.length
        if number == len(self._columns["lane"]):
            self._columns = {
                name: np.concatenate([column, np.zeros_like(column)]) for name, column in self._columns.items()
            }
        for name, column in self._columns.items():
            column[number] = values.get(name, int(name == "count"))
        if file_id is not None:
            self.ids[number] = file_id
        self.length += 1
        return number

    def keep(self, is_kept: Flags) -> Numbers:
        """Remove all other items; return the new number of each, or -1."""
        numbers = np.where(is_kept, np.cumsum(is_kept) - 1, -1)
        for column in self._columns.values():
            kept = column[: self.length][is_kept]
            column[: len(kept)] = kept
        self.ids = {int(numbers[at]): file_id for at, file_id in self.ids.items() if is_kept[at]}
        self.length = int(is_kept.sum())
        return numbers

    def number_of(self, file_id: str) -> int:
        """Return the number of a file group."""
        return next(number for number, known in self.ids.items() if known == file_id)

    def base_bytes(self) -> Numbers:
        """Return the bytes of the base files."""
        return self["fixed"] + self.row.of_base(self["rows"])

    def size_of(self, number: int) -> int:
        """Return the bytes of the base file of one item."""
        return int(self["fixed"][number]) + (int(self["rows"][number]) * self.row.base >> FRACTION)

    def log_bytes(self) -> Numbers:
        """Return the bytes of the rows in log files."""
        return (self["log_rows"] * self.row.log + self["updated"]) >> FRACTION

    def all_rows(self) -> Numbers:
        """Return the rows."""
        return self["rows"] + self["given"] + self["log_rows"]

    def has_logs(self) -> Flags:
        """Return whether there are log files; of updates, whether one is more likely than not."""
        return (self["log_rows"] > 0) | (self["log_files"] > 0) | (self["hits"] >= 1 << (HITS - 1))

    def slices_of(self, numbers: list[int], path: str) -> list[FileSlice]:
        """Return file groups of a partition as the rules take them."""
        found = []
        row, column = self.row, self._columns
        for at in numbers:
            value = {name: int(column[name][at]) for name in _COLUMNS}
            file_id, base = self.ids[at], None
            if value["has_base"]:
                size = value["fixed"] + (value["rows"] * row.base >> FRACTION)
                base = BaseFile(BaseFileName(file_id, _WRITTEN_BY, "1", "parquet"), size)
            files: tuple[LogFile, ...] = ()
            if value["log_rows"] or value["log_files"] or value["hits"] >= 1 << (HITS - 1):
                size = value["log_rows"] * row.log + value["updated"] >> FRACTION
                files = (LogFile(LogFileName(file_id, "2", 1, _WRITTEN_BY), size),)
            found.append(FileSlice(path, file_id, "1", base, files))
        return found

    def fold_logs(self, chosen: Flags) -> None:
        """Leave what a compaction leaves of the *chosen* items: their rows in base files."""
        had_none = chosen & (self["has_base"] == 0) & self.has_logs()
        self["fixed"][had_none] += self["count"][had_none] * self.row.file
        self["has_base"][had_none] = 1
        self["rows"][chosen] += self["log_rows"][chosen]
        for name in ("log_rows", "log_files", "updated", "hits"):
            self[name][chosen] = 0

    def delete_rows(self, deleted: Numbers) -> None:
        """Take so many rows out of each of the first items; those in base files leave these at once."""
        rows, given, in_logs, fixed = (self[name][: len(deleted)] for name in ("rows", "given", "log_rows", "fixed"))
        of_base = np.minimum(deleted, rows + given)
        of_given = of_base * given // np.maximum(rows + given, 1)
        changed = self["changed"][: len(deleted)]
        own = np.maximum(fixed - self["count"][: len(deleted)] * self.row.file - self.row.of_changed(changed), 0)
        fixed -= own * of_given // np.maximum(given, 1)
        left = changed - changed // np.maximum(rows + given, 1) * of_base
        fixed -= self.row.of_changed(changed) - self.row.of_changed(left)
        changed[:] = left
        given -= of_given
        rows -= of_base - of_given
        in_logs -= np.minimum(deleted - of_base, in_logs)

    def update_rows(self, updates: npt.NDArray[np.float64]) -> None:
        """Let rows in the base files of the first items be updated so many times, any of them equally likely.

        Of 100 rows, 50 of which were updated before, 100 updates change ``50 * (1 - exp(-1)) = 31.6`` others.
        """
        known = slice(0, len(updates))
        in_base = self["rows"][known] + self["given"][known]
        every = np.maximum(in_base + self["log_rows"][known], 1)
        changed = self["changed"][known]
        others = np.maximum((in_base << FRACTION) - changed, 0)
        after = changed + np.rint(others * -np.expm1(-updates / every)).astype(np.int64)
        self["fixed"][known] += self.row.of_changed(after) - self.row.of_changed(changed)
        changed[:] = after

    def begin_row_size(self, row: RowBytes) -> None:
        """Let new rows take other bytes; those that are there keep theirs, but in log files."""
        self["fixed"][:] += self.row.of_base(self["rows"])
        self["given"][:] += self["rows"]
        self["rows"][:] = 0
        self.row = row
