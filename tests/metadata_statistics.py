"""An independent check of a table's metadata table: what its indexes say, against what the files of the table contain.

It shares no code with the package but the readers of HFiles, log files and timelines.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat import open_table
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.log.reader import LogReader
from hudiformat.file_group.slices import Visibility, build_slices, latest_slices
from hudiformat.metadata_table.bloom_filters import bloom_filters
from hudiformat.metadata_table.definitions import load_definitions
from hudiformat.metadata_table.kinds.record_index import is_partitioned, path_of_group
from hudiformat.metadata_table.secondary_index import prefixes_of, secondary_keys
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.timeline import load_timeline
from tests.metadata_table.tables import instants_of_logs

OWN = ".hoodie/metadata"
Record = Mapping[str, Any]


def records_of(path: Path, partition: str) -> dict[str, Record]:
    """The records of a partition of the metadata table by key: the newest of each, or none if it was dropped."""
    return {key: record for found in records_by_group(path, partition).values() for key, record in found.items()}


def records_by_group(path: Path, partition: str) -> dict[str, dict[str, Record]]:
    """As :func:`records_of`, by file group."""
    folder = path / OWN / partition
    storage = LocalStorage(path / OWN)
    timeline = load_timeline(storage, load_table_config(storage))
    pending = {one.time for one in load_timeline(LocalStorage(path), load_table_config(LocalStorage(path))).pending}
    visibility = Visibility.of(timeline)
    every: dict[str, dict[str, Record]] = {}
    for one in latest_slices(build_slices(partition, storage.list(partition), visibility)):
        found = every.setdefault(one.file_id, {})
        if one.base_file is not None:
            file = HFileReader((folder / str(one.base_file.name)).read_bytes())
            found |= dict(_entries(file, file.file_info["schema"].decode()))
        for log in one.log_files:
            for block in LogReader(folder / str(log.name)):
                if block.instant in pending:
                    continue
                if block.type.name == "DELETE":
                    for key in block.deletes()["record_key"].to_pylist():
                        found.pop(key, None)
                else:
                    found |= dict(_entries(HFileReader(memoryview(block.content)), block.schema))
    return every


def _entries(file: HFileReader, schema: str) -> Iterator[tuple[str, Record]]:
    parsed = fastavro.parse_schema(json.loads(schema))
    for key, value in file:
        yield key.decode(), fastavro.schemaless_reader(io.BytesIO(value), parsed, None)


def check_statistics(path: Path, *, own_only: bool = False) -> None:
    """The statistics of the files that readers need cover their values, and those of ours are exactly theirs.

    With *own_only*, files that Hudi wrote are not looked at: of those, some statistics are known to be wrong.
    """
    config = load_table_config(LocalStorage(path))
    if "column_stats" not in config.metadata_partitions:
        return
    by_file: dict[tuple[str, str], Record] = {}
    for record in records_of(path, "column_stats").values():
        stats = record["ColumnStatsMetadata"]
        by_file[stats["fileName"], stats["columnName"]] = stats
    table = open_table(path, options={"hoodie.metadata.enable": "false"})
    partitions: dict[str, dict[str, pa.Table]] = {}
    written = {one.time for one in table.timeline.completed_writes}
    without = {name for name, instants in instants_of_logs(path).items() if not instants & written}
    for one in table.file_slices():
        names = [str(one.base_file.name)] if one.base_file else []
        for name in [*names, *(str(log.name) for log in one.log_files)]:
            if name in without or (own_only and not _is_ours(name)):
                continue
            rows = rows_of(path / one.partition_path / name)
            partitions.setdefault(one.partition_path, {})[name] = rows
            for column in rows.schema.names:
                if (name, column) in by_file:
                    _check(by_file[name, column], rows[column], f"{one.partition_path}/{name} {column}")
            if rows.num_rows:
                missing = {column for column in indexed_columns(path) if (name, column) not in by_file}
                assert not missing & set(rows.schema.names), (name, missing)
    if "partition_stats" in config.metadata_partitions and not own_only:
        _check_partitions(path, partitions)


def check_record_index(path: Path, *, exact: bool = True) -> None:
    """Each key of the table is in the record index, with its partition and file group; if *exact*, no other key is."""
    if "record_index" not in load_table_config(LocalStorage(path)).metadata_partitions:
        return
    groups = records_by_group(path, "record_index")
    definitions = load_definitions(LocalStorage(path), load_table_config(LocalStorage(path)))
    of_paths = is_partitioned(definitions.get("record_index"))
    records = {
        (path_of_group(group) if of_paths else "", key): record["recordIndexMetadata"]
        for group, found in groups.items()
        for key, record in found.items()
    }
    meta = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    rows = open_table(path).snapshot(columns=meta).to_pylist()
    for key, partition, name in (row.values() for row in rows):
        record = records.get((partition if of_paths else "", key))
        assert record is not None, f"the key {key} of {partition} is not in the record index"
        assert record["partitionName"] == partition, key
        assert name.startswith(_file_id(record)), (key, name, record)
    if exact:
        assert len(records) == len(rows), sorted({key for _, key in records} - {row[meta[0]] for row in rows})


def check_secondary_indexes(path: Path, *, exact: bool = True) -> None:
    """Each row's value and key are in the secondary index of the column, where its hash says; if *exact*, no others."""
    config = load_table_config(LocalStorage(path))
    for name, definition in load_definitions(LocalStorage(path), config).items():
        if not name.startswith("secondary_index_") or name not in config.metadata_partitions:
            continue
        (column,) = definition.fields
        rows = open_table(path).snapshot(columns=["_hoodie_record_key", column]).combine_chunks()
        expected = secondary_keys(rows[column].combine_chunks(), rows["_hoodie_record_key"].combine_chunks())
        found = records_of(path, name)
        assert not (missing := set(expected.to_pylist()) - found.keys()), (name, sorted(missing))
        if exact:
            assert not (others := found.keys() - set(expected.to_pylist())), (name, sorted(others))
        for key, group, count in _places(path, name):
            hashed = prefixes_of(pa.array([key]))[0].as_py() if definition.version == "V2" else key
            assert string_hash(hashed, count) == group, (name, key)


def _places(path: Path, partition: str) -> Iterator[tuple[str, int, int]]:
    """Each key of a partition, the number of the file group that it is in, and how many there are."""
    storage = LocalStorage(path / OWN)
    visibility = Visibility.of(load_timeline(storage, load_table_config(storage)))
    slices = latest_slices(build_slices(partition, storage.list(partition), visibility))
    for number, one in enumerate(slices):
        for log in one.log_files:
            for block in LogReader(path / OWN / partition / str(log.name)):
                if block.type.name == "HFILE_DATA":
                    for key, _ in HFileReader(memoryview(block.content)):
                        yield key.decode(), number, len(slices)


def string_hash(text: str, count: int) -> int:
    """The number of the file group of a text, as HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex."""
    code = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return abs(code - 2**32 if code >= 2**31 else code) % count


def _file_id(record: Record) -> str:
    if record["fileIdEncoding"]:
        return str(record["fileId"])
    high, low = (record[name] % 2**64 for name in ("fileIdHighBits", "fileIdLowBits"))
    return f"{UUID(int=high << 64 | low)}-{record['fileIndex']}"


def check_bloom_filters(path: Path) -> None:
    """Each base file that readers need has a filter, and none of its keys is missing from it."""
    if "bloom_filters" not in load_table_config(LocalStorage(path)).metadata_partitions:
        return
    table = open_table(path)
    index = bloom_filters(table._context.storage, table.config, table.timeline)
    for one in table.file_slices():
        if one.base_file is not None:
            name = str(one.base_file.name)
            found = index.get(one.partition_path, name)
            assert found is not None, f"no bloom filter of {name}"
            keys = rows_of(path / one.partition_path / name)["_hoodie_record_key"].combine_chunks()
            assert any(bloom.might_contain(keys).all() for bloom in found), name


def check_metadata_table(path: Path) -> None:
    """All indexes that a metadata table has."""
    check_statistics(path)
    check_bloom_filters(path)
    check_record_index(path)
    check_secondary_indexes(path)


def indexed_columns(path: Path) -> list[str]:
    """The columns that the definitions of the table's indexes name; none in version 6, which has no definitions."""
    file = path / ".hoodie/.index_defs/index.json"
    if not file.exists():
        return []
    definition = json.loads(file.read_text())["indexDefinitions"].get("column_stats", {"sourceFields": []})
    return list(definition["sourceFields"])


def rows_of(file: Path) -> pa.Table:
    """All rows that a file contains, deletes left out."""
    if file.suffix == ".parquet":
        return pq.read_table(file, partitioning=None)
    blocks = [block.to_arrow() for block in LogReader(file) if block.type.name.endswith("_DATA")]
    return (
        pa.concat_tables(
            [pa.Table.from_batches([block]) for block in blocks],
            promote_options="permissive",
        )
        if blocks
        else pa.table({})
    )


def _check_partitions(path: Path, partitions: Mapping[str, Mapping[str, pa.Table]]) -> None:
    found: dict[tuple[str, str], Record] = {}
    for record in records_of(path, "partition_stats").values():
        stats = record["ColumnStatsMetadata"]
        found[stats["fileName"], stats["columnName"]] = stats
    for folder, files in partitions.items():
        for column in indexed_columns(path):
            columns = [rows[column] for rows in files.values() if column in rows.schema.names]
            if not columns:
                continue
            assert (folder, column) in found, f"{folder!r}: no statistics of {column}"
            for values in columns:
                _check(found[folder, column], values, f"partition {folder!r} {column}", exact=False)


def _check(stats: Record, values: pa.ChunkedArray, what: str, *, exact: bool = True) -> None:
    known = [one for one in plain(values) if one is not None]
    if exact:
        assert (stats["valueCount"], stats["nullCount"]) == (len(values), values.null_count), (what, stats)
    else:
        assert stats["valueCount"] >= len(values), (what, stats)
    if not known:
        return
    has_types = stats.get("valueType") is not None
    lower, upper = (_unwrapped(stats[name], values.type, has_types=has_types) for name in ("minValue", "maxValue"))
    assert all(_not_above(lower, one) and _not_above(one, upper) for one in known), (what, stats, known[:5])
    if exact and _bytes(lower) < 400 and not any(one != one for one in known):  # noqa: PLR0124 - NaN
        assert (lower, upper) == (min(known), max(known)), (what, stats)


def plain(values: pa.ChunkedArray) -> list[Any]:
    """The values as Python compares them: times as numbers."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        values = values.cast(pa.int64())
    return list(values.to_pylist())


def _unwrapped(wrapper: Any, kind: pa.DataType, *, has_types: bool) -> Any:
    value = wrapper["value"]
    if pa.types.is_decimal(kind) and isinstance(value, bytes):
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-kind.scale if has_types else -15)
    return value


def _not_above(left: Any, right: Any) -> bool:
    if isinstance(left, float) and math.isnan(left):
        return isinstance(right, float) and math.isnan(right)
    return (isinstance(right, float) and math.isnan(right)) or bool(left <= right)


def _bytes(value: Any) -> int:
    return len(value) if isinstance(value, (str, bytes)) else 0


def _is_ours(name: str) -> bool:
    """Whether hudiformat wrote the file: its tasks are attempts of stage 0."""
    return "_0-0-" in name or "-0-0" in name
