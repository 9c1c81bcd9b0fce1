"""The kinds of findings about a table, and a finding."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hudiformat.notebook import Rows, show


class TableFindingKind(Enum):
    """What can be wrong with a part of a table.

    Source: spec/services.md, "Verifying".
    """

    UNCOMMITTED = "uncommitted"
    """An instant that was requested or begun and is not complete: its writer is running, or died.  Readers skip it."""
    ORPHAN = "orphan"
    """A data file of an unknown instant: its writer created it after it had been rolled back.  Readers skip it.

    Or a temporary file, or a spill folder on this machine, of a process that was killed."""
    MISSING = "missing"
    """A file of the newest slice of its group that a commit names but that does not exist: its rows are lost."""
    DAMAGED = "damaged"
    """A file that cannot be read, as a whole or in a part."""
    SCHEMA = "schema"
    """A whole base file with a column whose type does not fit the table's: queries of the column are refused.

    Nothing is damaged, and repair leaves the file as it is."""
    PARTITION = "partition"
    """A folder with committed data files whose partition metadata file is missing or damaged: readers skip it."""
    LEFTOVER = "leftover"
    """Markers of a write that has ended, or a metadata table that the properties do not name."""
    CONTRADICTION = "contradiction"
    """The metadata table cannot be read, or does not list the files that exist, and Hudi's readers rely on it."""
    LABEL = "label"
    """A file whose times count another unit than their label says: readers show other moments than were meant.

    Nothing is damaged."""
    DUPLICATE = "duplicate"
    """A file group with rows whose keys are also in another file group of the partition, from a newer commit."""


@dataclass(frozen=True, slots=True)
class TableFinding:
    """One thing that is wrong with a table; ``path`` is relative to the table, ``instants`` are those concerned.

    Source: spec/services.md, "Verifying".
    """

    kind: TableFindingKind
    path: str
    message: str
    instants: tuple[str, ...] = ()


class TableFindings(list[TableFinding]):
    """The findings about a table, in a list that notebooks show as a table."""

    def _repr_html_(self) -> str:
        rows = [(one.kind.value, one.path, one.message, ", ".join(one.instants)) for one in self]
        facts = {"findings": len(self) if self else "none"}
        return show("What is wrong with the table", facts, Rows(("kind", "path", "what is wrong", "instants"), rows))
