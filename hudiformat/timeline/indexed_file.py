"""What a write reports of a file that it has made, for the indexes of the metadata table.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from hudiformat.codec.statistics import ColumnStatistics


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What the indexes of the metadata table keep of a file that a write has made.

    ``columns`` are the statistics of its columns, ``bloom_filter`` is that of a base file, as its footer has it, with
    the type ``bloom_type``.
    ``keys`` are the record keys that are in the file group now, as far as they may not have been before, and
    ``dropped`` those that are in it no more.  ``values`` are rows that are in it now, with their record keys and the
    columns that have a secondary index, ``lost`` those that are in it no more; a row in both changes nothing.  Of a log
    file they may not be known: ``touched`` are the keys of all that is written to it then, deletes too.
    ``expressions`` are the statistics of expression indexes, by their names.
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
