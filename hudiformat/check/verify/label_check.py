"""Check what the times of files count: by their numbers, and by the labels that their files give them.

Rules: spec/services.md, "Verifying".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone

import pyarrow as pa

from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.codec.conversion import has_wrong_label
from hudiformat.file_group.base_file.read import read_columns
from hudiformat.file_group.judged_times import JudgedTimes
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import base_name, join_path, parse_data_file
from hudiformat.storage.protocol import Storage
from hudiformat.table.state import TableState

_UNITS = {"ms": ("milliseconds", timedelta(milliseconds=1)), "us": ("microseconds", timedelta(microseconds=1))}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def findings_of_times(path: str, judged: Iterable[JudgedTimes]) -> Iterator[TableFinding]:
    """Yield a finding for each column of the file at *path* whose times count another unit than the table says."""
    name = parse_data_file(base_name(path))
    for one in judged:
        if one.contradicts:
            yield TableFinding(TableFindingKind.LABEL, path, explain_times(one), (name.instant,) if name else ())


def explain_times(judged: JudgedTimes) -> str:
    """Return what contradicts the label of a column."""
    own, other = _UNITS[judged.unit][0], _UNITS[judged.other_unit][0]
    block = "" if judged.offset is None else f"in the block at byte {judged.offset}, "
    count = f"{judged.other} of {judged.other + judged.own} times" if judged.own else "its times"
    return (
        f"{block}column {judged.column}: it is labelled as {own}, and {count} count {other}: {judged.example} is "
        f"{_moment(judged.example or 0, judged.unit)} in {own}, and {_moment(judged.example or 0, judged.other_unit)} "
        f"in {other}"
    )


def _moment(number: int, unit: str) -> str:
    try:
        return (_EPOCH + number * _UNITS[unit][1]).date().isoformat()
    except OverflowError:
        return "beyond the year 9999"


def findings_of_labels(state: TableState) -> Iterator[TableFinding]:
    """Yield findings about base files that label times otherwise than the table; only footers are read.

    hudiformat, and Hudi from 1.1 on, take the label of the table; engines that read the files themselves do not.

    Raises:
        CorruptTableError, StorageError: a file cannot be read.
    """
    schema = state.schema.arrow
    for partition, _ in list_partitions(state.storage):
        for one in state.slices(partition):
            for name in mislabelled_columns(state.storage, one, schema):
                path = join_path(partition, str(one.base_file.name)) if one.base_file else ""
                message = (
                    f"column {name}: the file labels its times otherwise than the table; hudiformat and Hudi from 1.1 "
                    "on correct that, other readers of the file do not"
                )
                yield TableFinding(TableFindingKind.LABEL, path, message, (one.base_instant,))


def mislabelled_columns(storage: Storage, file_slice: FileSlice, schema: pa.Schema) -> list[str]:
    """Return the columns of *schema* whose times the base file of a slice labels otherwise.

    Raises:
        CorruptTableError, StorageError: the file cannot be read.
    """
    if file_slice.base_file is None:
        return []
    stored = read_columns(storage, file_slice.base_path)
    own = {field.name: field.type for field in stored}
    return [field.name for field in schema if field.name in own and has_wrong_label(own[field.name], field.type)]
