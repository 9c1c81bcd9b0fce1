"""What an open base file answers whose format has, or whose reader gives, no statistics of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from hudiformat.codec.statistics import ColumnStatistics, kind_of
from hudiformat.file_group.base_file.filters import HIGHEST, FileFilter


class _HasColumns(Protocol):
    @property
    def schema(self) -> pa.Schema:
        """The columns of the file."""


class NoStatistics:
    """Answers of ``hudiformat.file_group.base_file.format.StoredFile`` that rule out nothing."""

    def groups_that_match(self, filter: FileFilter) -> None:
        """Return None: no row group is ruled out."""

    def highest(self, group: int, field: pa.Field) -> int:  # noqa: ARG002 - as files with statistics
        """Return HIGHEST: the highest value is not known."""
        return HIGHEST

    def statistics(
        self: _HasColumns, schema: pa.Schema, columns: Sequence[str]
    ) -> tuple[dict[str, ColumnStatistics], tuple[str, ...]]:
        """Return no statistics, and the *columns* that the file has."""
        has_values = (name for name in columns if kind_of(schema, name) is not None)
        return {}, tuple(name for name in has_values if kind_of(self.schema, name) is not None)

    @property
    def column_sizes(self) -> Mapping[str, tuple[int, int]]:
        """Return nothing: the sizes of columns are not known."""
        return {}
