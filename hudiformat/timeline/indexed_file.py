"""What a write reports of a file that it has made, for the indexes of the metadata table.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from hudiformat.codec.statistics import ColumnStatistics


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What the indexes of the metadata table keep of a file that a write has made.

    - ``columns``: the statistics of its columns.
    - ``bloom_filter``: the text of a base file's filter, as its footer has it; its type is ``bloom_type``.
    - ``keys``: record keys that are in the file group after the write and may not have been in it before.
    - ``dropped``: record keys that are no longer in the file group.
    - ``values``: rows that are in the file group after the write: their record keys and the columns with a secondary
      index.
    - ``lost``: such rows that are no longer in it; a row in both changes nothing.
    - ``touched``: for a log file whose changed rows are not known: the keys of all its records and deletes.
    - ``expressions``: the statistics of expression indexes, by their names.
    """

    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    bloom_filter: str | None = None
    keys: pa.Array | None = None
    dropped: pa.Array | None = None
    values: pa.Table | None = None
    lost: pa.Table | None = None
    touched: pa.Array | None = None
    expressions: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    bloom_type: str = "SIMPLE"
