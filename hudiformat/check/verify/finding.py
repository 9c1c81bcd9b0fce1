"""What can be wrong with a table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TableFindingKind(Enum):
    """What can be wrong with a part of a table.

    Source: spec/services.md, "Verifying".
    """

    UNCOMMITTED = "uncommitted"
    """An instant that was requested or begun and is not complete: its writer is at work, or died.  Readers skip it."""
    ORPHAN = "orphan"
    """A data file whose instant is nowhere: what a writer made after it had been rolled back.  Readers skip it.

    Or a temporary file, or a spill folder on this machine, of a process that was killed."""
    MISSING = "missing"
    """A file of the newest slice of its group that a commit names and that is not there: its rows are lost."""
    DAMAGED = "damaged"
    """A file that cannot be read, as a whole or in a part."""
    PARTITION = "partition"
    """A folder with committed data files whose partition metadata file is missing or damaged: readers skip it."""
    LEFTOVER = "leftover"
    """Markers of a write that is over, or a metadata table that the properties do not name."""
    CONTRADICTION = "contradiction"
    """The metadata table cannot be read, lists other files than there are, or lacks some: Hudi's readers believe it."""
    DUPLICATE = "duplicate"
    """A file group with rows whose keys another file group of the partition has too, from a newer commit."""


@dataclass(frozen=True, slots=True)
class TableFinding:
    """One thing that is wrong with a table; ``path`` is below the table, ``instants`` are those that it concerns.

    Source: spec/services.md, "Verifying".
    """

    kind: TableFindingKind
    path: str
    message: str
    instants: tuple[str, ...] = ()
