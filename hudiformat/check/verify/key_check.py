"""Find keys that are in two file groups of a partition.

Writers look up a key before they write it, so that it is in one file group only.  It is in two if rows were inserted
without a look-up, on purpose or not, or by two writers with different indexes.  The check reads all keys, so it runs
only on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import FileSlice, build_slices, latest_slices
from hudiformat.schema.meta_fields import COMMIT_TIME, RECORD_KEY
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableState

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class DuplicateKeys:
    """The record keys in a file slice whose newer rows are in another file group of the partition."""

    file_slice: FileSlice
    keys: pa.Array
    instants: tuple[str, ...]


def duplicate_keys(state: TableState) -> Iterator[DuplicateKeys]:
    """Yield the older rows of keys that are in several file groups.

    Of several rows of one commit, the row in the file group with the highest file id counts as the newest.

    The keys of one partition are in memory at a time.

    Raises:
        UnsupportedFeatureError: the table has no meta fields, so its rows do not contain their keys.
        HudiFormatError: a slice cannot be read.
    """
    if not state.config.populate_meta_fields:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: expected a table with meta fields, which have the keys, "
            "found one without; call verify without keys=True",
            feature="looking for keys in two file groups without meta fields",
        )
    reader = SliceReader(state.config, state.schema, state.visibility, history=schema_history(state))
    for path, entries in list_partitions(state.storage):
        slices = latest_slices(build_slices(path, entries, state.visibility))
        rows = [reader.read(state.storage, one, columns=[RECORD_KEY, COMMIT_TIME]) for one in slices]
        yield from _older_rows(slices, rows)


def findings_of_keys(state: TableState) -> Iterator[TableFinding]:
    """Yield a finding for each file group that has the older row of a key."""
    for one in duplicate_keys(state):
        name = one.file_slice.base_file or one.file_slice.log_files[0]
        path = f"{one.file_slice.partition_path}/{name.name}".lstrip("/")
        shown = ", ".join(map(repr, one.keys[:_SHOWN].to_pylist()))
        more = ", ..." if len(one.keys) > _SHOWN else ""
        message = f"{len(one.keys)} of its keys are in another file group too, from a newer commit: {shown}{more}"
        yield TableFinding(TableFindingKind.DUPLICATE, path, message, one.instants)


def _older_rows(slices: Sequence[FileSlice], rows: Sequence[pa.Table]) -> Iterator[DuplicateKeys]:
    """Yield the slices that have the older row of a key, with these keys.

    With the keys a (commit 1) and b (1) in group 0, and a (2) in group 1, the older row is a in group 0::

        codes   0 1 0      times  0 0 1      groups  0 0 1
        order   by code, time and group: rows 0, 2, 1
        keeper  of each code the group of its last row in that order: {0: 1, 1: 0}
        older   rows whose group is not the keeper of their code: row 0
    """
    if len(slices) <= 1:
        return
    groups = np.repeat(np.arange(len(rows)), [table.num_rows for table in rows])
    every = pa.concat_tables([table.cast(_TEXTS) for table in rows]).combine_chunks()
    codes = np.asarray(every[RECORD_KEY].combine_chunks().dictionary_encode().indices)
    times = np.asarray(pc.rank(every[COMMIT_TIME], tiebreaker="dense"))
    order = np.lexsort((groups, times, codes))
    keeper = np.zeros(codes.max(initial=-1) + 1, np.int64)
    keeper[codes[order]] = groups[order]  # the last value assigned to an index wins
    is_older = groups != keeper[codes]
    for number, one in enumerate(slices):
        found = every.take(pa.array(np.flatnonzero(is_older & (groups == number))))
        if found.num_rows:
            instants = tuple(sorted(found[COMMIT_TIME].unique().to_pylist()))
            yield DuplicateKeys(one, found[RECORD_KEY].combine_chunks().unique(), instants)


_TEXTS = pa.schema([(RECORD_KEY, pa.string()), (COMMIT_TIME, pa.string())])
