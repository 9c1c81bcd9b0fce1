"""Whether a filter can be true of rows of which something is known.  Pure.

A condition on record keys.  Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.blocks.wanted import columns_of, rows_where


def possible(expression: pc.Expression, schema: pa.Schema, guarantees: Sequence[pc.Expression]) -> list[bool]:
    """Of each of *guarantees* whether *expression* can be true of a row of *schema* that it is true of."""
    # Arrow decides so which fragments of a data set it would open; it opens none here.
    names = [str(number) for number in range(len(guarantees))]
    import pyarrow.dataset as ds  # noqa: PLC0415 - it imports pandas where there is one: half a second

    dataset = ds.FileSystemDataset.from_paths(
        names, schema, ds.ParquetFileFormat(), fs.LocalFileSystem(), partitions=list(guarantees)
    )
    left = {fragment.path for fragment in dataset.get_fragments(expression)}
    return [name in left for name in names]


def true_of_nan(expression: pc.Expression, schema: pa.Schema) -> bool:
    """Whether *expression* can be true of a NaN, which Parquet's statistics leave out.

    Raises:
        SchemaError: it does not fit the columns of *schema*.
    """
    asked = (schema.field(name) for name in columns_of(expression, schema))
    guarantees = [pc.field(*path) == pa.scalar(math.nan, kind) for path, kind in _floats(asked)]
    return any(possible(expression, schema, guarantees))


def _floats(fields: Iterable[pa.Field], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    for field in fields:
        path = (*above, field.name)
        if pa.types.is_floating(field.type):
            yield path, field.type
        elif pa.types.is_struct(field.type):
            yield from _floats(field.type, path)


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
