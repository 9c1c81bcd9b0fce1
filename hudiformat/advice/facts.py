"""The facts of a table that advice is based on, collected once: newest file slices, history, services, settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hudiformat.errors import HudiFormatError, UnsupportedFeatureError
from hudiformat.file_group.slices import FileSlice, build_slices, latest_slices
from hudiformat.naming.file_names import parse_data_file
from hudiformat.services.deciding import Decision, Service, decide
from hudiformat.simulation.from_table import History, history_of, unnamed_buckets, workload_from
from hudiformat.simulation.workload import Workload
from hudiformat.table.options.values import IndexType
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import TableType

Numbers = npt.NDArray[np.int64]

NEXT_COMMITS = 200
"""For how many further commits effects are computed, if nothing else is said: some hours of a stream, or half a year
of daily loads."""


FIRST_LOAD = 5
"""How many times the rows of later commits the first commit of a table has, if it loads what was there before."""


@dataclass(frozen=True, slots=True)
class SliceColumns:
    """The newest file slices as columns: an item per slice; ``partition`` are indexes into ``paths``."""

    paths: tuple[str, ...]
    partition: Numbers
    has_base: npt.NDArray[np.bool_]
    base_bytes: Numbers
    log_bytes: Numbers
    log_files: Numbers

    @classmethod
    def of(cls, slices: Sequence[FileSlice]) -> SliceColumns:
        """Return *slices* as columns."""
        count, names = len(slices), [one.partition_path for one in slices]
        paths, partition = np.unique(np.array(names, object), return_inverse=True)
        return cls(
            paths=tuple(paths.tolist()),
            partition=partition.astype(np.int64),
            has_base=np.fromiter((one.base_file is not None for one in slices), bool, count),
            base_bytes=np.fromiter(
                (0 if one.base_file is None else one.base_file.size for one in slices), np.int64, count
            ),
            log_bytes=np.fromiter((one.log_bytes for one in slices), np.int64, count),
            log_files=np.fromiter((len(one.log_files) for one in slices), np.int64, count),
        )

    def by_partition(self, values: Numbers) -> Numbers:
        """Return the sums of *values*, which have an item per slice, by partition."""
        found = np.zeros(len(self.paths), np.int64)
        np.add.at(found, self.partition, values)
        return found

    @property
    def files_read(self) -> int:
        """The files that a snapshot query reads."""
        return int(self.has_base.sum() + self.log_files.sum())


@dataclass(frozen=True)
class Facts:
    """What rules look at.  ``workload`` is None if no commit on the active timeline has written rows.

    ``decisions`` are those on services that could be made, and ``commits`` is for how many further commits effects are
    computed.
    """

    state: TableState
    slices: Sequence[FileSlice]
    stored_bytes: int
    history: History
    workload: Workload | None
    decisions: Mapping[Service, Decision]
    commits: int = NEXT_COMMITS

    @cached_property
    def columns(self) -> SliceColumns:
        """The newest file slices as columns."""
        return SliceColumns.of(self.slices)

    @property
    def table(self) -> str:
        """The path of the table, quoted for a shell."""
        return shlex.quote(self.state.storage.root)

    @property
    def is_mor(self) -> bool:
        """Whether the table is merge-on-read."""
        return self.state.config.table_type is TableType.MERGE_ON_READ

    @property
    def has_buckets(self) -> bool:
        """Whether the hash of a record key determines its file group."""
        return self.state.options.index_type is IndexType.BUCKET or bool(self.unnamed_buckets)

    @cached_property
    def unnamed_buckets(self) -> tuple[str, ...]:
        """The options that name the bucket index, if neither properties nor options do; else none."""
        return unnamed_buckets(self.state, self.slices)

    @property
    def target(self) -> int:
        """The bytes that a base file may have."""
        return self.state.options.sizing.max_file_size

    @property
    def small(self) -> int:
        """The bytes below which a base file is small; what Hudi's default is of its target, if the limit is off."""
        limit = self.state.options.sizing.small_file_limit
        return limit if limit > 0 else self.default_small

    @property
    def default_small(self) -> int:
        """The small file limit that is to the target as Hudi's default is to Hudi's default."""
        return self.target * 5 // 6

    @property
    def knows_sizes(self) -> bool:
        """Whether the bytes of a row are known from base files."""
        return self.workload is not None and bool(self.history.base)

    @property
    def estimates_sizes(self) -> bool:
        """Whether the bytes of a row are known from base files, or can be estimated by those in log files."""
        return self.workload is not None and bool(self.history.base or self.history.logged_rows)

    def payload(self) -> Numbers:
        """Return the bytes of the rows of each slice, as base files hold them: without what files have besides rows."""
        columns, sizing = self.columns, self.state.options.sizing
        fixed = self.workload.file_bytes if self.workload is not None else 0
        merged = (columns.log_bytes * sizing.log_ratio).astype(np.int64)
        found: Numbers = np.maximum(columns.base_bytes - fixed, 0) + merged
        return found

    def payload_to_come(self) -> Numbers:
        """Return the bytes of rows that each partition has after the further commits, if they are as those before."""
        now, workload = self.columns.by_partition(self.payload()), self.workload
        if workload is None:
            return now
        new = workload.rows * (1 - workload.updates) * self.commits * workload.row_bytes
        counts = np.array([self.history.by_partition[path] for path in self.columns.paths], np.float64)
        shares = counts / counts.sum() if counts.sum() else counts
        found: Numbers = now + (new * shares).astype(np.int64)
        return found


def gather_facts(
    state: TableState,
    *,
    listed: tuple[Sequence[FileSlice], int] | None = None,
    commits: int = NEXT_COMMITS,
) -> Facts:
    """Collect the facts: read the commits of the active timeline once, and list the files once.

    *listed* are the newest file slices and the bytes of all data files, for a caller that has listed them already.

    Raises:
        CorruptTableError, StorageError: a file of the timeline cannot be read, or a folder not be listed.
    """
    slices, stored = list_slices(state) if listed is None else listed
    history = without_first_load(state, history_of(state))
    try:
        workload = workload_from(state, commits=commits, history=history)
    except UnsupportedFeatureError:  # no commit has rows
        workload = None
    return Facts(state, slices, stored, history, workload, dict(_decisions(state)), commits)


def without_first_load(state: TableState, history: History) -> History:
    """Return the history without the first commit of the table, if it loaded what was there before."""
    rows = history.rows
    is_whole = not state.storage.list(state.config.history_folder)
    if not is_whole or len(rows) < 2 or rows[0] <= FIRST_LOAD * float(np.median(rows[1:])):  # noqa: PLR2004 - and others
        return history
    return replace(
        history,
        rows=rows[1:],
        written=history.written[1:],
        operations=history.operations[1:],
        times=history.times[1:],
    )


def list_slices(state: TableState) -> tuple[list[FileSlice], int]:
    """Return the newest file slices, and the bytes of all data files on storage."""
    found: list[FileSlice] = []
    stored = 0
    for path, files in state.files():
        stored += sum(file.size for file in files if parse_data_file(file.name) is not None)
        found += latest_slices(build_slices(path, files, state.visibility))
    return found, stored


def _decisions(state: TableState) -> Iterable[tuple[Service, Decision]]:
    for service in Service:
        try:
            yield service, decide(state, service)
        except HudiFormatError:  # noqa: PERF203 - verify and maintain say so
            continue
