"""A condition on record keys.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.blocks.wanted import rows_where


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """``condition`` is asked of ``_hoodie_record_key``; where only some keys can fulfil it, ``keys`` are these."""

    condition: pc.Expression
    keys: frozenset[str] | None = None

    def __and__(self, other: KeyFilter) -> KeyFilter:
        known = [one.keys for one in (self, other) if one.keys is not None]
        return KeyFilter(self.condition & other.condition, frozenset.intersection(*known) if known else None)

    def __or__(self, other: KeyFilter) -> KeyFilter:
        keys = None if self.keys is None or other.keys is None else self.keys | other.keys
        return KeyFilter(self.condition | other.condition, keys)

    def rows(self, keys: pa.Array) -> npt.NDArray[np.int64]:
        """Where in *keys* those are that fulfil it, in ascending order."""
        return rows_where(self.condition, pa.RecordBatch.from_arrays([keys], [RECORD_KEY]))
