"""The clauses of a merge, with the conditions under which they are applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Update:
    """Give columns of a row that matches other values; without *values*, those that the source has.

    Source: MERGE INTO of Spark SQL, WHEN MATCHED THEN UPDATE.
    """

    values: Mapping[str, object] | None = None
    condition: object | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a row that matches, whatever its ordering values.

    Source: MERGE INTO of Spark SQL, WHEN MATCHED THEN DELETE.
    """

    condition: object | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """Add a source row that matches none, with *values*, or with the source's; other columns are null.

    Source: MERGE INTO of Spark SQL, WHEN NOT MATCHED THEN INSERT.
    """

    values: Mapping[str, object] | None = None
    condition: object | None = None


Clause: TypeAlias = Update | Delete | Insert
