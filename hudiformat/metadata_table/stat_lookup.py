"""Look up the statistics of the files of a partition, and of a whole partition, in the metadata table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

import pyarrow as pa

from hudiformat.codec.statistics import ColumnStatistics
from hudiformat.metadata_table.partition import Deletes, Part, newest_records
from hudiformat.metadata_table.stat_records import StatRecord, decode_stat_record, partition_key


def statistics_of_files(
    parts: Sequence[Part], path: str, columns: Collection[str]
) -> dict[str, dict[str, ColumnStatistics | None]]:
    """Return the statistics of *columns* in the files of the partition *path*, by file name and column.

    *parts* are those of ``column_stats``.  None stands for statistics of an unknown type.

    Raises:
        DecodeError: a file of the metadata table is damaged.
    """
    found: defaultdict[str, dict[str, ColumnStatistics | None]] = defaultdict(dict)
    for column in columns:
        for record in _newest(parts, partition_key(path, column)).values():
            if not record.is_deleted:
                found[record.name][column] = record.statistics
    return dict(found)


def statistics_of_partition(parts: Sequence[Part], path: str, columns: Iterable[str]) -> dict[str, ColumnStatistics]:
    """Return the statistics of *columns* in all files of the partition *path*; *parts* are of ``partition_stats``.

    Statistics that are not known, or that only add to those of older records, are left out.

    Raises:
        DecodeError: a file of the metadata table is damaged.
    """
    found = {}
    column_of = {partition_key(path, column).encode(): column for column in columns}
    keys = sorted(column_of)
    for rows, values, schema in newest_records(parts, pa.array(keys, pa.binary())):
        for row, value in zip(rows, values.to_pylist(), strict=True):
            record = decode_stat_record(value, schema)
            if record.is_tight and record.statistics is not None:
                found[column_of[keys[row]]] = record.statistics
    return found


def _newest(parts: Sequence[Part], prefix: str) -> dict[str, StatRecord]:
    """Return the newest record of each key that begins with *prefix*."""
    newest: dict[str, StatRecord] = {}
    for part in parts:
        if isinstance(part, Deletes):
            for key in part.keys & newest.keys():
                del newest[key]
            continue
        newest |= dict(_records(part.file.prefix_scan(prefix), part.schema))
    return newest


def _records(batches: Iterable[pa.RecordBatch], schema: str) -> Iterator[tuple[str, StatRecord]]:
    for batch in batches:
        for key, value in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True):
            yield key.decode(errors="replace"), decode_stat_record(value, schema)
