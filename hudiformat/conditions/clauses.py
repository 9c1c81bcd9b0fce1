"""The clauses of a merge, with the conditions under which they are applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Update:
    """Update columns of a matching row with *values*; without them, with the values of the source row.

    Source: MERGE INTO of Spark SQL, WHEN MATCHED THEN UPDATE.
    """

    values: Mapping[str, object] | None = None
    condition: object | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a matching row, whatever its ordering values.

    Source: MERGE INTO of Spark SQL, WHEN MATCHED THEN DELETE.
    """

    condition: object | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """Insert a source row that matches no row, with *values* or the values of the source row; other columns are null.

    Source: MERGE INTO of Spark SQL, WHEN NOT MATCHED THEN INSERT.
    """

    values: Mapping[str, object] | None = None
    condition: object | None = None


Clause: TypeAlias = Update | Delete | Insert
