"""Ray: a table as a data set of Ray Data, read by a task for each file group, and writes of one in one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

try:
    import ray.data
except ImportError as error:
    message = "hudiformat.ray needs Ray Data: pip install 'hudiformat[ray]'"
    raise ModuleNotFoundError(message, name="ray") from error

import pyarrow as pa

from hudiformat.api.table import Table, open_table
from hudiformat.api.tasks import ScanTask, scan_tasks
from hudiformat.api.writing import write_by
from hudiformat.arguments import check_arguments
from hudiformat.conditions.filters import Filter
from hudiformat.read.time_travel import Moment
from hudiformat.storage.opening import Location
from hudiformat.write.commit.transaction import Commit

__all__ = ["read_hudi", "write_hudi"]


@check_arguments
def read_hudi(
    path: Location,
    *,
    as_of: Moment | None = None,
    columns: str | list[str] | None = None,
    filter: Filter | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> ray.data.Dataset:
    """Return the table at *path* as a data set of Ray, whose rows are read by a task for each file group.

    Arguments are as for :func:`hudiformat.open_table` and :meth:`hudiformat.Table.snapshot`.  Which files are read is
    decided by this call; *filter* rules out partitions, files and row groups.

    Raises:
        NotATableError: there is no table at *path*.
        SchemaError: the table has no such column, or *filter* does not fit the columns.

    Source: ray.data.Datasource.
    """
    table = open_table(path, options=options, storage_options=storage_options)
    names = [columns] if isinstance(columns, str) else columns
    return ray.data.read_datasource(_Source(table, scan_tasks(table, as_of=as_of, columns=names, filter=filter)))


@check_arguments
def write_hudi(
    data: ray.data.Dataset,
    path: Location,
    *,
    operation: str = "upsert",
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Commit:
    """Write the rows of *data* into the table at *path*, by batches and in one commit.

    *operation* is ``upsert``, ``insert``, ``bulk_insert``, ``delete``, ``insert_overwrite`` or
    ``insert_overwrite_table``.  Ray computes the rows with all its workers; this process writes them.

    Raises:
        OptionError: there is no such operation.
        SchemaError, DataError, CommitError: as for the method of that name.

    Source: ray.data.Dataset.iter_batches.
    """
    table = open_table(path, options=options, storage_options=storage_options)
    found = data.schema()
    schema = pa.schema(list(zip(found.names, found.types, strict=True)))
    return write_by(table, operation, schema, data.iter_batches(batch_size=None, batch_format="pyarrow"))


class _Source(ray.data.Datasource):  # type: ignore[misc, unused-ignore]  # Ray may have no types
    def __init__(self, table: Table, tasks: list[ScanTask]) -> None:
        super().__init__()
        self._path = table.path
        self._tasks = tasks

    def get_name(self) -> str:
        """Return the name that plans show."""
        return f"hudiformat: {self._path}"

    def estimate_inmemory_data_size(self) -> int:
        """Return the bytes of the files."""
        return sum(task.size for task in self._tasks)

    def get_read_tasks(self, parallelism: int, *more: Any, **named: Any) -> list[ray.data.ReadTask]:  # noqa: ARG002 - Ray's
        """Return a task for each file slice."""
        return [_read_task(task) for task in self._tasks]


def _read_task(task: ScanTask) -> ray.data.ReadTask:
    from ray.data.block import BlockMetadata  # noqa: PLC0415 - it has other arguments from release to release

    known = {
        "num_rows": None,
        "size_bytes": task.size,
        "exec_stats": None,
        "input_files": tuple(task.file_slice.file_names),
    }
    return ray.data.ReadTask(lambda: _tables(task), BlockMetadata(**known), schema=task.query.schema)


def _tables(task: ScanTask) -> Iterable[pa.Table]:
    for batch in task.batches():
        yield pa.Table.from_batches([batch])
