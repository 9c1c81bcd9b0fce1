"""Tables with a metadata table in Hudi's layout; of commits there are only the file names, which suffice."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

from hudiformat import open_table
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import NameFormatError
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import Visibility
from hudiformat.metadata_table.listing import Listing, listing
from hudiformat.naming.file_names import BaseFileName, LogFileName, join_path, parse_data_file
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import FileInfo
from hudiformat.timeline.commit_metadata import CommitMetadata, encode_commit_metadata
from hudiformat.timeline.config_files import (
    METADATA_FOLDER,
    VERSION_WITH_COMPLETION_TIMES,
    load_table_config,
    update_table_config,
)
from hudiformat.timeline.timeline import load_timeline, read_metadata
from hudiformat.write.commit.files import log_instants

ALL = "__all_partitions__"
GONE = -1
FIRST = "00000000000000000"
T1, T2, T3, T4, T5 = (f"202601010000{second:02d}000" for second in range(1, 6))
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "HoodieMetadataRecord",
        "namespace": "org.apache.hudi.avro.model",
        "fields": [
            {"name": "key", "type": "string"},
            {"name": "type", "type": "int"},
            {
                "name": "filesystemMetadata",
                "type": [
                    "null",
                    {
                        "type": "map",
                        "values": {
                            "type": "record",
                            "name": "HoodieMetadataFileInfo",
                            "fields": [{"name": "size", "type": "long"}, {"name": "isDeleted", "type": "boolean"}],
                        },
                    },
                ],
            },
        ],
    }
)
_PARSED = fastavro.parse_schema(json.loads(SCHEMA))
_PROPERTIES = """hoodie.table.name=t
hoodie.table.type=MERGE_ON_READ
hoodie.table.version={version}
hoodie.timeline.layout.version={layout}
hoodie.table.recordkey.fields=k
hoodie.table.partition.fields=p
hoodie.table.metadata.partitions=files
"""


def _properties(version: int) -> str:
    return _PROPERTIES.format(version=version, layout=2 if version > 6 else 1)


Content = Mapping[str, Mapping[str, int] | None]
"""By key the names with their sizes, GONE for those that are deleted; None for a record that names none."""


def record(names: Mapping[str, int] | None) -> bytes:
    entries = (
        None
        if names is None
        else {name: {"size": max(size, 0), "isDeleted": size == GONE} for name, size in names.items()}
    )
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, _PARSED, {"key": "", "type": 2, "filesystemMetadata": entries})
    return buffer.getvalue()


def hfile(content: Content, *, info: Mapping[str, bytes] | None = None) -> bytes:
    keys = sorted(content)
    values = pa.array([record(content[key]) for key in keys], pa.binary())
    file_info = {"schema": SCHEMA.encode()} if info is None else info
    return encode_hfile(pa.array([key.encode() for key in keys], pa.binary()), values, file_info=file_info)


def data_block(instant: str, content: Content) -> bytes:
    header = BlockHeader({HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: SCHEMA})
    return encode_block(LogBlock(BlockType.HFILE_DATA, header, hfile(content)))


@dataclass
class MadeTable:
    """A table at *path* that begins without partitions; instants are completed a second after they began."""

    path: Path
    version: int = 9

    def __post_init__(self) -> None:
        for folder in (self.path, self.own):
            self.write(folder / ".hoodie" / "hoodie.properties", _properties(self.version).encode())

    @property
    def own(self) -> Path:
        return self.path / ".hoodie" / "metadata"

    @property
    def files(self) -> Path:
        return self.own / "files"

    @staticmethod
    def write(path: Path, data: bytes = b"") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def instant(self, folder: Path, name: str, data: bytes = b"") -> Path:
        return self.write(folder / ".hoodie" / ("timeline" if self.version > 6 else "") / name, data)

    def complete(self, time: str, action: str = "deltacommit", *, data: bytes = b"", own: bool = False) -> None:
        """Have an instant completed on the table's timeline, or on the metadata table's own."""
        completion = f"_{int(time) + 1:017d}" if self.version > 6 else ""
        self.instant(self.own if own else self.path, f"{time}{completion}.{action}", data)

    def base(self, time: str, content: Content, *, info: Mapping[str, bytes] | None = None) -> Path:
        """A base file, and the instant that wrote it."""
        self.complete(time, "deltacommit" if time.startswith("0000") else "commit", own=True)
        return self.write(self.files / f"files-0000-0_0-0-0_{time}.hfile", hfile(content, info=info))

    def log(self, time: str, *blocks: bytes, version: int = 1) -> Path:
        """A log file; no instant."""
        return self.write(self.files / f".files-0000-0_{time}.log.{version}_0-0-0", b"".join(blocks))

    def commit(self, time: str, content: Content) -> None:
        """A write of the table: its records in the metadata table, and its instant on both timelines."""
        self.log(time, data_block(time, content))
        self.complete(time, own=True)
        self.complete(time)

    def listing(self) -> Listing:
        storage = LocalStorage(self.path)
        config = load_table_config(storage)
        return listing(storage, config, load_timeline(storage, config))

    def listed(self) -> dict[str, dict[str, int]]:
        """Partition path -> file name -> size."""
        return {path: sizes(files) for path, files in self.listing()}


def version_6(path: Path) -> MadeTable:
    """A table of version 6, where the names of all log files have the instant of their slice."""
    made = MadeTable(path, version=6)
    made.base(FIRST, {ALL: {}})
    made.log(FIRST, data_block(T1, {ALL: {"p": 0}, "p": {"a": 1}}))
    made.complete(T1)
    made.complete(T1, own=True)
    return made


def add_metadata_table(path: Path) -> None:
    """Give the table at *path* a metadata table, as Hudi sets one up; no matter what there was before."""
    storage = LocalStorage(path)
    config = load_table_config(storage)
    visibility = Visibility.of(load_timeline(storage, config))
    found = {folder: sizes(data_files(files, visibility)) for folder, files in list_partitions(storage)}
    content = {ALL: dict.fromkeys((folder or "." for folder in found), 0)}
    content |= {folder or ".": files for folder, files in found.items()}
    own = path / METADATA_FOLDER
    own_properties = _properties(config.version).replace("hoodie.table.metadata.partitions=files\n", "")
    MadeTable.write(own / ".hoodie" / "hoodie.properties", own_properties.encode())
    MadeTable.write(own / "files" / ".hoodie_partition_metadata", b"commitTime=00000000000000000\npartitionDepth=1\n")
    MadeTable.write(own / "files" / "files-0000-0_0-0-0_00000000000000000.hfile", hfile(content))
    metadata = CommitMetadata("BULK_INSERT_PREPPED", extra_metadata={"schema": SCHEMA})
    name = "00000000000000000_20000101000000000.deltacommit"
    MadeTable.write(own / ".hoodie" / "timeline" / name, encode_commit_metadata(metadata))
    changes = {"hoodie.table.metadata.partitions": "files"}
    update_table_config(storage, changes, saved_at=datetime(2024, 2, 29, tzinfo=timezone.utc))


def check_paths(path: Path) -> None:
    """The commits of the metadata table name their files below it: Hudi deletes by these paths what it rolls back."""
    own = FolderStorage(LocalStorage(path), METADATA_FOLDER)
    config = load_table_config(own)
    for one in load_timeline(own, config).completed_writes:
        metadata = read_metadata(own, config, one)
        for partition, stats in metadata.partition_to_write_stats.items():
            assert all(stat.path is not None and stat.path.startswith(f"{partition}/") for stat in stats), one


def check_listing(path: Path) -> None:
    """The listing is that of the folders, and so are the slices."""
    check_paths(path)
    storage = LocalStorage(path)
    config, timeline = load_table_config(storage), load_timeline(storage, load_table_config(storage))
    assert "files" in config.metadata_partitions
    visibility = Visibility.of(timeline)
    folders, pending = list(list_partitions(storage)), {one.time for one in timeline.pending}
    hidden = {name for name, instants in instants_of_logs(path).items() if instants and instants <= pending}
    expected = {
        folder: [file for file in data_files(files, visibility) if file.name not in hidden] for folder, files in folders
    }
    found = listing(storage, config, timeline)
    listed = dict(found)
    assert {folder: data_files(files, visibility) for folder, files in listed.items()} == expected
    assert {folder: found.files(folder) for folder in found.partitions()} == listed
    slices = open_table(path).file_slices()  # a warning would be an error
    direct = open_table(path, options={"hoodie.metadata.enable": "false"}).file_slices()
    seen = [
        replace(one, log_files=tuple(log for log in one.log_files if str(log.name) not in hidden)) for one in direct
    ]
    assert slices == sorted(seen, key=lambda item: (item.partition_path, item.file_id))


def instants_of_logs(path: Path) -> dict[str, set[str]]:
    """The instants of the blocks of each log file, in version 6, where its name has that of its slice instead."""
    storage = LocalStorage(path)
    if load_table_config(storage).version >= VERSION_WITH_COMPLETION_TIMES:
        return {}
    found = [(folder, file.name) for folder, files in list_partitions(storage) for file in files]
    logs = [(folder, name) for folder, name in found if isinstance(parse_data_file(name), LogFileName)]
    return {name: log_instants(storage, join_path(folder, name)) for folder, name in logs}


def sizes(files: Sequence[FileInfo]) -> dict[str, int]:
    return {file.name: file.size for file in files}


def data_files(files: list[FileInfo], visibility: Visibility) -> list[FileInfo]:
    """Those that are Hudi's and of a completed write: what others left is in a folder, and not in a metadata table."""
    found = []
    for file in files:
        try:
            name = LogFileName.parse(file.name) if file.name.startswith(".") else BaseFileName.parse(file.name)
        except NameFormatError:
            continue
        if visibility.is_committed(name.instant):
            found.append(file)
    return found


_ROLLBACK: dict[str, Any] = {
    "type": "record",
    "name": "HoodieRollbackMetadata",
    "fields": [{"name": "commitsRollback", "type": {"type": "array", "items": "string"}}],
}
_RESTORE = {
    "type": "record",
    "name": "HoodieRestoreMetadata",
    "fields": [
        {"name": "hoodieRestoreMetadata", "type": {"type": "map", "values": {"type": "array", "items": _ROLLBACK}}}
    ],
}


def rollback_metadata(*instants: str) -> bytes:
    return _container(_ROLLBACK, {"commitsRollback": instants})


def restore_metadata(*instants: str) -> bytes:
    return _container(_RESTORE, {"hoodieRestoreMetadata": {time: [{"commitsRollback": [time]}] for time in instants}})


def _container(schema: Any, value: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema(schema), [value])
    return buffer.getvalue()
