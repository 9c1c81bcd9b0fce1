"""What a simulation begins with if it continues a table: partitions with their shares, file groups, counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hudiformat.write.index.hash_ring import HashRing


@dataclass(frozen=True, slots=True)
class GivenGroup:
    """A file group of the table: its bytes, its rows and its log files."""

    path: str
    file_id: str
    base_bytes: int
    log_bytes: int
    log_files: int
    rows: int


@dataclass(frozen=True, slots=True)
class Start:
    """The state of a table: ``shares`` are those of the new rows of each partition.

    ``recent`` are the bytes and records of the newest commits, the oldest first; ``deltas`` are the delta commits since
    the newest compaction, ``since_clustering`` the commits since the newest clustering.  ``rings`` are the buckets of
    partitions with consistent hashing.
    """

    paths: tuple[str, ...]
    shares: npt.NDArray[np.float64]
    groups: tuple[GivenGroup, ...]
    recent: tuple[tuple[int, int], ...] = ()
    deltas: int = 0
    since_clustering: int = 0
    rings: Mapping[str, HashRing] = field(default_factory=dict)
