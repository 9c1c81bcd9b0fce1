"""What has to be true of a table's files after every step, as the slow reader sees them; a difference is an error."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq

from hudiformat.codec.hfile.reader import HFileReader
from tests.metadata_statistics import check_bloom_filters, check_statistics
from tests.model.log_blocks import COMMAND, DELETE, HFILE, TARGET, Block, read_blocks
from tests.model.slow_reader import DataFile, Done, SlowTable, in_order

_LAYOUT_2 = 8
_SET_UP = "00000000000000000"


def check_files(table: SlowTable, *, is_global: bool) -> None:
    """Everything that is said of the files of a table."""
    each_key_is_in_one_group(table, is_global=is_global)
    no_file_is_of_an_unknown_instant(table)
    no_base_file_drops_log_files(table)
    statistics_equal_contents(table)
    if "hoodie.table.metadata.partitions" in table.properties:
        the_metadata_table_lists_the_files(table)
        check_statistics(table.root)
        check_bloom_filters(table.root)


def each_key_is_in_one_group(table: SlowTable, *, is_global: bool) -> None:
    """No two rows have one key, in a partition or with a global index in the table."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for found in table.rows():
        groups["" if is_global else found.partition, found.key].append(found.group)
        assert found.row["_hoodie_partition_path"] == found.partition
    assert not {key: ids for key, ids in groups.items() if len(ids) > 1}


def no_file_is_of_an_unknown_instant(table: SlowTable) -> None:
    """Each file is of an instant that was completed, or that is pending still."""
    known = table.writes.keys() | table.pending.keys()
    by_name = table.version >= _LAYOUT_2
    for file in table.files:
        if file.is_base or file.is_change or by_name:
            assert file.instant in known, f"{file.path}: {file.instant} is neither completed nor pending"
    if not by_name:
        _no_block_is_of_an_unknown_instant(table)


def _no_block_is_of_an_unknown_instant(table: SlowTable) -> None:
    """In version 6, where the blocks have the instants of the writes: or a command block takes them back.

    Log files of a slice that is gone may stay, as Hudi leaves them, where the file group has no other slice: one would
    be hidden by them.
    """
    groups: dict[tuple[str, str], list[DataFile]] = defaultdict(list)
    for file in table.files:
        if not file.is_base and not file.is_change:
            groups[file.partition, file.group].append(file)
    known = table.writes.keys() | table.pending.keys()
    sliced = {(file.partition, file.group) for file in table.files if file.instant in known}
    for group, files in groups.items():
        assert group not in sliced or all(file.instant in known for file in files), files
        blocks = [block for file in in_order(files) for block in read_blocks(file.path)]
        taken_back = {block.header[TARGET] for block in blocks if block.kind == COMMAND}
        for block in blocks:
            assert block.kind == COMMAND or block.instant in known | taken_back, (files[0].path, block.instant)


def no_base_file_drops_log_files(table: SlowTable) -> None:
    """A base file that replaces a slice with log files is of a compaction, whose plan names all of them."""
    groups: dict[tuple[str, str], list[DataFile]] = defaultdict(list)
    for file in table.files:
        if not file.is_change and file.instant in table.writes:
            groups[file.partition, file.group].append(file)
    for files in groups.values():
        for base in (file for file in files if file.is_base):
            logs = {file.path.name for file in files if _is_below(table, file, base)}
            if logs:
                assert table.writes[base.instant].content["operationType"] == "COMPACT", (base.path, logs)
                assert logs <= _planned(table, base, logs), base.path


def _is_below(table: SlowTable, log: DataFile, base: DataFile) -> bool:
    """Whether *log* is a log file of the slice that *base* replaces."""
    if log.is_base:
        return False
    stats = table.writes[base.instant].content["partitionToWriteStats"][base.partition]
    [before] = [stat["prevCommit"] for stat in stats if Path(stat["path"]).name == base.path.name]
    if before == "null":
        before = ""
    if table.version < _LAYOUT_2:
        return bool(before == log.instant)
    return bool(before <= table.writes[log.instant].completion < base.instant)


def _planned(table: SlowTable, base: DataFile, otherwise: set[str]) -> set[str]:
    """The log files that a compaction's plan names for the group of *base*; *otherwise* where it is archived."""
    if table.writes[base.instant].is_archived:
        return otherwise
    for operation in table.plan(base.instant, "compaction")["operations"]:
        if (operation["partitionPath"], operation["fileId"]) == (base.partition, base.group):
            return {Path(path).name for path in operation["deltaFilePaths"]}
    return set()


def statistics_equal_contents(table: SlowTable) -> None:
    """What commits say of the files that they name, and that they name all of their files."""
    named = set()
    for write in table.writes.values():
        for partition, stats in (write.content.get("partitionToWriteStats") or {}).items():
            for stat in stats:
                path = table.root / stat["path"]
                named |= {path, *(table.root / log for log in stat.get("cdcStats") or ())}
                assert partition == stat["partitionPath"] == str(Path(stat["path"]).parent).replace(".", "", 1)
                if path.exists():
                    _statistic_equals_content(write, path, stat)
    active = {one.time for one in table.active}
    if table.version >= _LAYOUT_2:
        assert {file.path for file in table.files if file.instant in active & table.writes.keys()} <= named


def _statistic_equals_content(write: Done, path: Path, stat: dict[str, Any]) -> None:
    assert path.stat().st_size == stat["fileSizeInBytes"], path
    if path.suffix == ".parquet":
        assert pq.ParquetFile(path).metadata.num_rows == stat["numWrites"], path
        return
    if write.content.get("operationType") in ("LOG_COMPACT", "log_compact"):
        return  # Hudi counts what was merged
    blocks = [block for block in read_blocks(path) if block.instant == write.time]
    deletes = sum(len(block.deletes()) for block in blocks if block.kind == DELETE)
    writes = sum(len(block.records()) for block in blocks if block.kind not in (DELETE, COMMAND))
    assert (writes, deletes) == (stat["numWrites"], stat["numDeletes"]), path


def the_metadata_table_lists_the_files(table: SlowTable) -> None:
    """Names and sizes of the files of completed writes, by the metadata table and by the folders."""
    listed = {partition: files for partition, files in listed_files(table).items() if files}
    there: dict[str, dict[str, int]] = defaultdict(dict)
    unlisted = not_listed_yet(table)
    for file in table.files:
        if file.instant in table.writes and file.path.name not in unlisted:
            there[file.partition or "."][file.path.name] = file.path.stat().st_size
    known = {file.path.name: file.instant in table.writes for file in table.files}
    of_writes = {
        partition: {name: size for name, size in files.items() if known.get(name, True)}
        for partition, files in listed.items()
    }
    assert {partition: files for partition, files in of_writes.items() if files} == there


def not_listed_yet(table: SlowTable) -> set[str]:
    """The log files of version 6 that the metadata table need not list: of writes that have not been completed.

    Their names are those of slices.  The metadata table learns of them when they are committed or rolled back.
    """
    if table.version >= _LAYOUT_2:
        return set()
    listed = {name for names in listed_files(table).values() for name in names}
    logs = [file.path for file in table.files if not file.is_base and file.path.name not in listed]
    return {path.name for path in logs if not any(_counts(table, block) for block in read_blocks(path))}


def _counts(table: SlowTable, block: Block) -> bool:
    return block.kind == COMMAND or block.instant in table.writes


def listed_files(table: SlowTable) -> dict[str, dict[str, int]]:
    """What the metadata table lists: sizes by name, by partition."""
    own = SlowMetadata(table.root / ".hoodie" / "metadata")
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for key, names in own.records():
        if key == "__all_partitions__":
            continue
        for name, entry in names.items():
            if entry["isDeleted"]:
                found[key].pop(name, None)
            else:
                found[key][name] = max(entry["size"], found[key].get(name, 0))
    return found


class SlowMetadata:
    """The metadata table below a table's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Keys and the files that their records name, in the order in which they are merged."""
        if (self.root / ".hoodie" / "timeline").exists():
            yield from self._of_layout_2()
        else:
            yield from self._of_layout_1()

    def _of_layout_1(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Log files have the instant of their slice in their names, and their blocks that of the write."""
        folder = self.root / "files"
        done = {path.stem for path in (self.root / ".hoodie").iterdir() if path.suffix in (".deltacommit", ".commit")}
        bases = {path.stem.rpartition("_")[2]: path for path in folder.glob("*.hfile")}
        newest = max(time for time in bases if time in done or time < min(done))
        yield from hfile_records(bases[newest].read_bytes())
        logs = [(path.name.split("_")[1].partition(".")[0], path) for path in folder.glob(".files*.log.*")]
        for time, path in sorted(logs, key=lambda log: (log[0], int(log[1].name.split(".log.")[1].split("_")[0]))):
            for block in read_blocks(path) if time >= newest else ():
                if block.kind == HFILE and (block.instant in done or (block.instant or "") < min(done)):
                    yield from hfile_records(block.content, block.header[2])

    def _of_layout_2(self) -> Iterator[tuple[str, dict[str, Any]]]:
        folder = self.root / "files"
        done = {path.name.partition("_")[0]: path.name for path in (self.root / ".hoodie" / "timeline").glob("*_*")}
        history = (self.root / ".hoodie" / "timeline" / "history").glob("*.parquet")
        archived = {
            row["instantTime"]: row["completionTime"] for path in history for row in pq.read_table(path).to_pylist()
        }
        completion = archived | {time: name.split("_")[1].split(".")[0] for time, name in done.items()}
        bases = {path.stem.rpartition("_")[2]: path for path in folder.glob("*.hfile")}
        newest = max(time for time in bases if time in completion)
        yield from hfile_records(bases[newest].read_bytes())
        logs = [(path.name.split("_")[1].partition(".")[0], path) for path in folder.glob(".files*.log.*")]
        for time, path in sorted(logs, key=lambda log: (log[0], int(log[1].name.split(".log.")[1].split("_")[0]))):
            if completion.get(time, "") >= newest:
                for block in read_blocks(path):
                    if time == _SET_UP and block.kind == DELETE:  # the empty block that a file group begins with
                        continue
                    assert block.kind == HFILE
                    yield from hfile_records(block.content, block.header[2])


def hfile_records(data: bytes, schema: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keys and the files that their records name, of one HFile; the schema is in the file, or in a block's header."""
    reader = HFileReader(memoryview(data))
    named = reader.file_info["schema"].decode() if schema is None else schema
    parsed = fastavro.parse_schema(json.loads(named))
    for key, value in reader:
        record = fastavro.schemaless_reader(io.BytesIO(value), parsed, None)
        assert isinstance(record, dict)
        yield key.decode(), record["filesystemMetadata"] or {}
