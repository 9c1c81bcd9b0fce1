"""The facts of a report: frozen values, which are converted to the JSON that the page draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hudiformat.advice.advice import NOTHING_TO_DO, Advice
from hudiformat.file_group.slices import SliceTotals

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Identity:
    """The properties of a table that do not change from commit to commit."""

    name: str
    path: str
    table_type: str
    version: int
    record_key: tuple[str, ...]
    ordering: tuple[str, ...]
    partition_by: tuple[str, ...]
    merge_mode: str
    base_file_format: str
    index_type: str
    indexes: tuple[str, ...]
    timeline_zone: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The file sizes that writers aim at, in bytes."""

    target: int
    small: int


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partitions with the most bytes, as columns with one item per partition; bytes are of newest file slices."""

    paths: tuple[str, ...]
    groups: Numbers
    base_files: Numbers
    base_bytes: Numbers
    small: Numbers
    log_files: Numbers
    log_bytes: Numbers
    shown: Numbers
    """How many file groups of the partition are among :class:`Groups`."""
    left_off: int = 0
    """How many partitions are not in these lists."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The file groups with the most bytes, by partition in the order of ``Partitions``, the largest first.

    ``instant`` holds indexes into ``instants``, the distinct instants of the file slices.
    """

    file_ids: tuple[str, ...]
    instants: tuple[str, ...]
    instant: Numbers
    base_bytes: Numbers
    log_bytes: Numbers
    log_files: Numbers
    left_off: int = 0
    """How many file groups are not in these lists."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram of base files by size: bin ``i`` has sizes from ``edges[i]`` to below ``edges[i + 1]`` bytes."""

    edges: Numbers
    files: Numbers
    bytes: Numbers


@dataclass(frozen=True, slots=True)
class Layout:
    """The newest file slices of a table: sums, partitions, file groups and sizes; ``stored`` counts older ones too."""

    totals: SliceTotals
    partition_count: int
    groups_with_logs: int
    stored_files: int
    stored_bytes: int
    partitions: Partitions
    groups: Groups
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class Event:
    """An instant of the timeline; ``status`` is completed, pending, failed or rolled back."""

    time: str
    action: str
    status: str
    operation: str = ""
    completed: str = ""
    seconds: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of a table: columns with one item per completed write, the oldest first.

    ``written`` are the bytes that the write wrote.  ``total`` are the bytes that a query reads after it, and ``rows``
    the rows of the table, both computed from the commits.  If ``is_whole`` is false, earlier commits are archived:
    ``rows`` counts from the first item on, and ``total`` is an approximation.
    """

    times: tuple[str, ...]
    operations: tuple[str, ...]
    written: Numbers
    total: Numbers
    inserted: Numbers
    updated: Numbers
    deleted: Numbers
    rows: Numbers
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Block:
    """The header of a log block; ``file`` is the index of its log file in the slice, sizes are bytes."""

    file: int
    offset: int
    size: int
    type: str
    instant: str
    note: str


@dataclass(frozen=True, slots=True)
class SliceBlocks:
    """The log files of a file slice, and their first blocks; ``more`` is true if there are further blocks."""

    partition: str
    file_id: str
    instant: str
    base_bytes: int
    log_bytes: int
    files: tuple[str, ...]
    blocks: tuple[Block, ...]
    more: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a service would change: the numbers of its file groups, files and bytes, before and after.

    ``bytes_after`` is an estimate.  If there are no file groups to change, ``why_not`` is the reason.
    """

    service: str
    groups_before: int = 0
    groups_after: int = 0
    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """Whether a service is due, and why or why not; ``error`` if this cannot be decided."""

    service: str
    is_due: bool
    why: str
    error: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of ``verify_table``."""

    kind: str
    path: str
    message: str
    instants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of ``verify_table``: the number of each kind, and the first findings."""

    counts: Mapping[str, int] = field(hash=False)
    first: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFacts:
    """All facts of a report about a table.

    ``findings`` is None if the table was not verified.  ``problems`` are the errors of parts that could not be read.
    """

    made_at: str
    made_by: str
    identity: Identity
    limits: Limits
    layout: Layout
    events: tuple[Event, ...]
    events_left_off: int
    last_commit: Event | None
    growth: Growth
    blocks: tuple[SliceBlocks, ...]
    blocks_left_off: int
    services: tuple[ServiceState, ...]
    prospects: tuple[Prospect, ...]
    findings: Findings | None
    problems: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the facts as JSON values: arrays become lists; without advice, there is one that says so."""
        found: dict[str, Any] = _plain(asdict(self))
        nothing = {"headline": NOTHING_TO_DO, "command": ""}
        found["advice"] = [one.as_json() for one in self.advice] or [nothing]
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
