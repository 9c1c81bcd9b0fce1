"""A second reader of tables, slow and plain, that shares no code with hudiformat: what it finds is compared.

It reads all of a table's timeline, archive included, parses names by expressions of its own, and merges row by row.
"""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq

from tests.model.log_blocks import COMMAND, COMPACTED, DELETE, TARGET, Block, read_blocks

_INSTANT = re.compile(r"(\d+)(?:_(\d+))?\.([a-z]+)(?:\.(requested|inflight))?")
_BASE = re.compile(r"([A-Za-z0-9-]+)_([0-9-]+)_(\d+)\.parquet")
_LOG = re.compile(r"\.([A-Za-z0-9-]+)_(\d+)\.log\.(\d+)_([0-9]+-[0-9]+-[0-9]+)(\.cdc)?")
_ARCHIVE = re.compile(r"\.commits_\.archive\.(\d+)_1-0-1")
_COMPLETED_AS = {"compaction": "commit", "logcompaction": "deltacommit", "clustering": "replacecommit"}
WRITES = ("commit", "deltacommit", "replacecommit")


@dataclass(frozen=True)
class Done:
    """A completed instant, of the active timeline or of the archive, and the content of its file."""

    time: str
    action: str
    completion: str
    content: dict[str, Any]
    is_archived: bool = False


@dataclass(frozen=True)
class DataFile:
    """A base file, a log file, or with ``is_change`` a log of changes, by the parts of its name."""

    path: Path
    partition: str
    group: str
    instant: str
    token: str
    version: int = 0
    is_change: bool = False

    @property
    def is_base(self) -> bool:
        return self.version == 0


@dataclass(frozen=True)
class Slice:
    """A file group as it is now: a base file at most, and log files in the order in which they are merged."""

    partition: str
    group: str
    base: DataFile | None
    logs: tuple[DataFile, ...]

    @property
    def names(self) -> list[str]:
        return [file.path.name for file in (*([] if self.base is None else [self.base]), *self.logs)]


@dataclass(frozen=True)
class Found:
    """A row, and the file group that it is in."""

    partition: str
    group: str
    row: dict[str, Any]

    @property
    def key(self) -> str:
        return str(self.row["_hoodie_record_key"])


class SlowTable:
    """The table at *root* as it is at this moment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        lines = (root / ".hoodie" / "hoodie.properties").read_text().splitlines()
        self.properties = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
        self.version = int(self.properties["hoodie.table.version"])
        self.folder = root / ".hoodie" / ("timeline" if self.version >= 8 else "")
        payload = self.properties.get("hoodie.compaction.payload.class", "")  # says so below version 8
        mode = self.properties.get("hoodie.record.merge.mode")
        self.by_event_time = mode == "EVENT_TIME_ORDERING" or (mode is None and "DefaultHoodieRecord" in payload)

    # The timeline

    @cached_property
    def _names(self) -> list[re.Match[str]]:
        found = (_INSTANT.fullmatch(path.name) for path in sorted(self.folder.iterdir()) if path.is_file())
        return [match for match in found if match and match[3] not in ("properties", "crc")]

    @cached_property
    def active(self) -> list[Done]:
        """The completed instants of the active timeline."""
        return [
            Done(match[1], match[3], match[2] or match[1], read_content(self.folder / match[0]))
            for match in self._names
            if not match[4] and match[3] != "inflight"
        ]

    @cached_property
    def pending(self) -> dict[str, str]:
        """The action of each pending instant, by its time."""
        done = {(one.time, one.action) for one in self.active}
        states = [(match[1], "commit" if match[3] == "inflight" else match[3]) for match in self._names]
        return {time: kind for time, kind in states if (time, _COMPLETED_AS.get(kind, kind)) not in done}

    @cached_property
    def archived(self) -> list[Done]:
        """The completed instants of the archive."""
        return list(self._archive_of_layout_2() if self.version >= 8 else self._archive_of_layout_1())

    def _archive_of_layout_2(self) -> Iterator[Done]:
        history = self.folder / "history"
        if not (history / "_version_").exists():
            return
        manifest = json.loads((history / f"manifest_{(history / '_version_').read_text()}").read_text())
        for file in manifest["files"]:
            path = history / file["fileName"]
            assert path.stat().st_size == file["fileLen"]
            for row in pq.read_table(path, partitioning=None).to_pylist():
                content = parse_content(row["metadata"] or b"")
                yield Done(row["instantTime"], row["action"], row["completionTime"], content, is_archived=True)

    def _archive_of_layout_1(self) -> Iterator[Done]:
        for name in ("archived", "history"):
            for path in sorted((self.root / ".hoodie" / name).glob(".commits_*")):
                assert _ARCHIVE.fullmatch(path.name)
                for record in (record for block in read_blocks(path) for record in block.records()):
                    if record["actionState"] == "COMPLETED":
                        content = record["hoodieReplaceCommitMetadata"] or record["hoodieCommitMetadata"] or {}
                        time, action = record["commitTime"], record["actionType"]
                        yield Done(time, action, record["stateTransitionTime"], content, is_archived=True)

    @cached_property
    def writes(self) -> dict[str, Done]:
        """The completed writes, archived or not, by their time."""
        return {one.time: one for one in (*self.archived, *self.active) if one.action in WRITES}

    @cached_property
    def replaced(self) -> set[tuple[str, str]]:
        """The file groups that a write has removed from the table, as partition path and file id."""
        return {
            (partition, group)
            for one in self.writes.values()
            for partition, groups in (one.content.get("partitionToReplaceFileIds") or {}).items()
            for group in groups
        }

    def plan(self, time: str, action: str) -> dict[str, Any]:
        """The content of a requested instant."""
        return read_content(self.folder / f"{time}.{action}.requested")

    # The files

    @cached_property
    def files(self) -> list[DataFile]:
        """All data files of all partitions."""
        found = []
        for marker in sorted(self.root.rglob(".hoodie_partition_metadata")):
            folder = marker.parent
            partition = str(folder.relative_to(self.root)).replace(".", "", 1) if folder == self.root else folder.name
            if ".hoodie" in folder.relative_to(self.root).parts:
                continue
            names = (parse_name(path, partition) for path in sorted(folder.iterdir()) if path.is_file())
            found += [file for file in names if file is not None]
        return found

    def slices(self) -> list[Slice]:
        """The file groups of the table as they are now."""
        groups: dict[tuple[str, str], list[DataFile]] = defaultdict(list)
        for file in self.files:
            if not file.is_change and (file.partition, file.group) not in self.replaced:
                groups[file.partition, file.group].append(file)
        made = (self._slice(*key, files) for key, files in sorted(groups.items()))
        return [one for one in made if one is not None]

    def _slice(self, partition: str, group: str, files: Sequence[DataFile]) -> Slice | None:
        if self.version < 8:
            return self._slice_of_layout_1(partition, group, files)
        bases = [file for file in files if file.is_base and file.instant in self.writes]
        base = max(bases, key=lambda file: file.instant, default=None)
        logs = [
            file
            for file in files
            if not file.is_base
            and file.instant in self.writes
            and (base is None or self.writes[file.instant].completion >= base.instant)
        ]
        return Slice(partition, group, base, in_order(logs)) if base or logs else None

    def _slice_of_layout_1(self, partition: str, group: str, files: Sequence[DataFile]) -> Slice | None:
        planned = {time for time, action in self.pending.items() if action == "compaction"}
        times = {file.instant for file in files if file.instant in self.writes}
        newest = max(times, default=None)
        logs = [file for file in files if not file.is_base and file.instant == newest]
        logs += [file for file in files if not file.is_base and file.instant in planned]
        base = next((file for file in files if file.is_base and file.instant == newest), None)
        return Slice(partition, group, base, in_order(logs)) if base or logs else None

    # The rows

    def rows(self) -> list[Found]:
        """All rows of the table, base files and log files merged."""
        return [Found(one.partition, one.group, row) for one in self.slices() for row in self._merged(one)]

    def _merged(self, one: Slice) -> Iterator[dict[str, Any]]:
        entries: dict[str, tuple[int | None, dict[str, Any] | None]] = {}
        for block in self._counting([block for log in one.logs for block in read_blocks(log.path)]):
            for key, ordering, row in entries_of(block):
                if key not in entries or self._wins(ordering, entries[key][0], is_delete=row is None):
                    entries[key] = (ordering, row)
        for row in [] if one.base is None else pq.read_table(one.base.path, partitioning=None).to_pylist():
            ordering, newer = entries.pop(row["_hoodie_record_key"], (-1, row))
            is_late = self.by_event_time and ordering is not None and ordering < row["ts"]
            winner = row if is_late else newer
            if winner is not None:
                yield winner
        yield from (row for _, row in entries.values() if row is not None)

    def _wins(self, newer: int | None, older: int | None, *, is_delete: bool) -> bool:
        """Whether a newer entry of a log wins over an older one of the same key; None is a delete by key."""
        if not self.by_event_time or newer is None:
            return True
        if older is None:
            return not is_delete
        return newer >= older

    def _counting(self, blocks: list[Block]) -> list[Block]:
        """The blocks that count, in the order in which they are merged."""
        for number, block in enumerate(blocks):
            if block.kind == COMMAND:
                target = block.header[TARGET]
                blocks[:number] = [_NOTHING if one.instant == target else one for one in blocks[:number]]
        counting = [one for one in blocks if one.kind != COMMAND and one.instant in self.writes]
        of_instant: dict[str, list[Block]] = defaultdict(list)
        for block in counting:
            of_instant[block.instant].append(block)
        replaced_by: dict[str, str] = {}
        order: list[str] = []
        for instant in reversed(of_instant):
            if (merged := of_instant[instant][0].header.get(COMPACTED)) is not None:
                final = replaced_by.get(instant, instant)
                replaced_by |= dict.fromkeys(merged.split(","), final)
            elif replaced_by.get(instant, instant) not in order:
                order.append(replaced_by.get(instant, instant))
        return [block for instant in reversed(order) for block in of_instant[instant]]


_NOTHING = Block(COMMAND, {TARGET: ""}, b"")


def in_order(logs: Sequence[DataFile]) -> tuple[DataFile, ...]:
    """Log files in the order in which they are merged."""
    return tuple(sorted(logs, key=lambda file: (file.instant, file.version, file.token)))


def entries_of(block: Block) -> Iterator[tuple[str, int | None, dict[str, Any] | None]]:
    """Record key, ordering value and row of each entry of a block; no row for a delete."""
    if block.kind == DELETE:
        yield from ((key, ordering, None) for key, _, ordering in block.deletes())
        return
    for row in block.records():
        yield row["_hoodie_record_key"], row["ts"], None if row.get("_hoodie_is_deleted") else row


def parse_name(path: Path, partition: str) -> DataFile | None:
    """The parts of a data file's name; None for other files."""
    if (base := _BASE.fullmatch(path.name)) is not None:
        return DataFile(path, partition, base[1], base[3], base[2])
    if (log := _LOG.fullmatch(path.name)) is not None:
        return DataFile(path, partition, log[1], log[2], log[4], int(log[3]), is_change=log[5] is not None)
    assert path.name == ".hoodie_partition_metadata", path
    return None


def read_content(path: Path) -> dict[str, Any]:
    """The content of a timeline's file."""
    return parse_content(path.read_bytes())


def parse_content(data: bytes) -> dict[str, Any]:
    """The content of a timeline's file: Avro, or JSON in version 6; nothing for an empty file."""
    if not data:
        return {}
    if data.startswith(b"Obj"):
        [record] = fastavro.reader(io.BytesIO(data))
        assert isinstance(record, dict)
        return record
    parsed: dict[str, Any] = json.loads(data)
    return parsed
