"""A table as a notebook shows it: its properties, its newest commits and its partitions; no data file is opened."""

from __future__ import annotations

from itertools import groupby, islice

from hudiformat.file_group.slices import FileSlice, ListedFiles
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.notebook import Bar, Rows, Size, show
from hudiformat.table.state import TableState

_COMMITS = 5
_PARTITIONS = 20


def html_of_table(state: TableState, listed: ListedFiles) -> str:
    """Return the HTML of a table.

    Partitions are shown if the metadata table lists their files, or local folders, which are quick to list.
    """
    config = state.config
    facts = {
        "type": config.table_type.value,
        "version": config.version,
        "path": state.storage.root,
        "record key": ", ".join(config.record_key_fields),
        "partitioned by": ", ".join(config.partition_fields),
    }
    columns = Rows(("column", "type"), [(field.name, str(field.type)) for field in state.schema.arrow], "columns")
    tables = [columns, _commits(state)]
    if state.has_metadata_partition(FILES) or state.storage.capabilities.map:
        tables.append(_partitions(state.slices(listed=listed)))
    return show(f"Table {config.name}", facts, *tables)


def _commits(state: TableState) -> Rows:
    writes = state.timeline.completed_writes
    rows = []
    for done in islice(reversed(writes), _COMMITS):
        stats = state.metadata(done).write_stats
        counts = (
            sum(stat.num_inserts + stat.num_update_writes for stat in stats),
            sum(one.num_deletes for one in stats),
        )
        rows.append((done.time, done.action.value, *counts, len(stats)))
    names = ("instant", "action", "records written", "deleted", "files")
    return Rows(names, rows, "newest commits", more=max(len(writes) - _COMMITS, 0))


def _partitions(slices: list[FileSlice]) -> Rows:
    rows = []
    for path, group in groupby(sorted(slices, key=lambda one: one.partition_path), lambda one: one.partition_path):
        own = list(group)
        logs = sum(one.log_bytes for one in own)
        rows.append((path, len(own), sum(one.size for one in own) - logs, logs))
    most = max((base + logs for _, _, base, logs in rows), default=0)
    shown = [(path or ".", count, Size(base), Size(logs), Bar((base, logs), most)) for path, count, base, logs in rows]
    names = ("partition", "file groups", "base files", "log files", "")
    return Rows(names, shown[:_PARTITIONS], "partitions", more=max(len(shown) - _PARTITIONS, 0))
