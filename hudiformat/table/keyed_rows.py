"""Rows on their way to a file group, with what is known of their keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.index import NOWHERE
from hudiformat.table.places import Integers, taken

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows with the table's own columns, and their record keys.

    ``positions[i]`` is the row with that key in the base file of the file group that they go to, or NOWHERE; None
    where nobody has looked.
    """

    rows: pa.RecordBatch
    keys: pa.Array
    positions: Integers | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def known_positions(self) -> Integers:
        """A position for each row."""
        return np.full(len(self), NOWHERE) if self.positions is None else self.positions

    def nowhere(self) -> KeyedRows:
        """The same rows, whose keys have been looked for and are in no base file."""
        return KeyedRows(self.rows, self.keys, np.full(len(self), NOWHERE))

    def at(self, places: Integers) -> KeyedRows:
        """Those at *places*, in that order."""
        positions = None if self.positions is None else self.positions[places]
        return KeyedRows(taken(self.rows, places), taken(self.keys, places), positions)

    def where(self, chosen: Booleans) -> KeyedRows:
        """Those for which *chosen* is true."""
        if chosen.all():
            return self
        mask = pa.array(chosen)
        positions = None if self.positions is None else self.positions[chosen]
        return KeyedRows(self.rows.filter(mask), self.keys.filter(mask), positions)
