"""The bootstrap index: which source file has the columns of each file group that was bootstrapped.

It is two HFiles of the same entries, one by partition and one by file group.  Layout: spec/bootstrap.md.

Source: HFileBootstrapIndexWriter, HFileBootstrapIndexReader, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import pyarrow as pa

from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import encode_hfile
from hudiformat.errors import CorruptTableError
from hudiformat.naming.file_names import join_path
from hudiformat.naming.instants import METADATA_BOOTSTRAP
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.config_files import META_FOLDER
from hudiformat.timeline.records import FILE_ID, PARTITION, decode_record_file, encode_record_file

INDEX_FOLDER = f"{META_FOLDER}/.aux/.bootstrap"
_NAME = f"00000000-0000-0000-0000-000000000000-0_1-0-1_{METADATA_BOOTSTRAP}.hfile"
BY_PARTITION = f"{INDEX_FOLDER}/.partitions/{_NAME}"
BY_FILE_ID = f"{INDEX_FOLDER}/.fileids/{_NAME}"

_INFO = "INDEX_INFO"
_BLOCK_SIZE = 128 << 20


@dataclass(frozen=True, slots=True)
class Path:
    """A path or URI.  Source: HoodiePath."""

    version: int | None = 1
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class FSPermission:
    """The permissions of a file.  Source: HoodieFSPermission."""

    version: int | None = 1
    user_action: str | None = None
    group_action: str | None = None
    other_action: str | None = None
    sticky_bit: bool | None = None


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A source file as it was when the table was bootstrapped; ``length`` in bytes.  Source: HoodieFileStatus."""

    version: int | None = 1
    path: Path | None = None
    length: int | None = None
    is_dir: bool | None = None
    block_replication: int | None = None
    block_size: int | None = None
    modification_time: int | None = None
    access_time: int | None = None
    permission: FSPermission | None = None
    owner: str | None = None
    group: str | None = None
    symlink: Path | None = None


@dataclass(frozen=True, slots=True)
class BootstrapIndexInfo:
    """What an index says of itself.  Source: HoodieBootstrapIndexInfo."""

    version: int | None = 1
    bootstrap_base_path: str | None = None
    created_timestamp: int | None = None
    num_keys: int | None = None


@dataclass(frozen=True, slots=True)
class BootstrapPartitionMetadata:
    """The source files of a partition, by file id.  Source: HoodieBootstrapPartitionMetadata."""

    version: int | None = 1
    bootstrap_partition_path: str | None = None
    partition_path: str | None = field(default=None, metadata=PARTITION)
    file_id_to_bootstrap_file: Mapping[str, FileStatus] | None = field(default=None, hash=False, metadata=FILE_ID)


@dataclass(frozen=True, slots=True)
class BootstrapFilePartitionInfo:
    """The source file of a file group.  Source: HoodieBootstrapFilePartitionInfo."""

    version: int | None = 1
    bootstrap_partition_path: str | None = None
    bootstrap_file_status: FileStatus | None = None
    partition_path: str | None = field(default=None, metadata=PARTITION)


@dataclass(frozen=True, slots=True, order=True)
class SourceFile:
    """The source file of the file group *file_id* in the partition *partition_path*.

    ``folder`` is its folder below the base path of the sources.  ``uri`` is the whole path, ``size`` is in bytes.
    """

    partition_path: str
    file_id: str
    folder: str
    uri: str
    size: int

    @property
    def path(self) -> str:
        """The path of the file below the base path of the sources."""
        return join_path(self.folder, self.uri.rpartition("/")[2])


class BootstrapIndex:
    """The index of a table, of which each call reads the blocks that it needs.

    Raises:
        CorruptTableError, DecodeError: the index is damaged.
        StorageError: it does not exist or cannot be read.
    """

    def __init__(self, storage: Storage) -> None:
        self._root = storage.root
        self._file = HFileReader(storage.map(BY_FILE_ID))

    def find(self, partition_path: str, file_id: str) -> SourceFile | None:
        """Return the source file of a file group; None if it has none.

        Raises:
            CorruptTableError: its entry is damaged, or names a file outside of the base path of the sources.
        """
        value = self._file.get(_group_key(partition_path, file_id))
        if value is None:
            return None
        info = decode_record_file(BootstrapFilePartitionInfo, value, path=f"{self._root}/{BY_FILE_ID}")
        status = info.bootstrap_file_status
        uri = "" if status is None or status.path is None else status.path.uri or ""
        if status is None or not uri or status.length is None:
            raise CorruptTableError(
                f"{self._root}/{BY_FILE_ID}: expected the path and the size of the source file of the file group "
                f"{file_id}, found {status}",
                path=f"{self._root}/{BY_FILE_ID}",
            )
        folder = info.bootstrap_partition_path or ""
        found = SourceFile(partition_path, file_id, folder, uri, status.length)
        if folder and not uri.endswith(f"/{found.path}"):
            raise CorruptTableError(
                f"{self._root}/{BY_FILE_ID}: expected the source file of the file group {file_id} in the folder "
                f"{folder!r}, found {uri}",
                path=f"{self._root}/{BY_FILE_ID}",
            )
        return found


def encode_bootstrap_index(sources: Sequence[SourceFile], *, base_path: str, created: int) -> dict[str, bytes]:
    """Return the files of the index, by their paths; *created* is a time in milliseconds since 1970.

    *base_path* is the folder of all *sources*, as Hudi is to find it.

    Raises:
        EncodeError: a file group has two source files, or a key is too long.
    """
    by_group = {_group_key(one.partition_path, one.file_id): _of_group(one) for one in sources}
    by_partition: dict[str, bytes] = {}
    for (partition, folder), files in groupby(sorted(sources), key=lambda one: (one.partition_path, one.folder)):
        statuses = {one.file_id: _status(one) for one in files}
        by_partition[f"part={partition}"] = encode_record_file(
            BootstrapPartitionMetadata(
                bootstrap_partition_path=folder, partition_path=partition, file_id_to_bootstrap_file=statuses
            )
        )
    return {
        BY_PARTITION: _hfile(by_partition, base_path, created),
        BY_FILE_ID: _hfile(by_group, base_path, created),
    }


def _group_key(partition_path: str, file_id: str) -> str:
    return f"part={partition_path};fileid={file_id}"


def _of_group(one: SourceFile) -> bytes:
    return encode_record_file(
        BootstrapFilePartitionInfo(
            bootstrap_partition_path=one.folder, bootstrap_file_status=_status(one), partition_path=one.partition_path
        )
    )


def _status(one: SourceFile) -> FileStatus:
    return FileStatus(  # Hudi's readers take none of these numbers for null
        path=Path(uri=one.uri),
        length=one.size,
        is_dir=False,
        block_replication=1,
        block_size=_BLOCK_SIZE,
        modification_time=0,
        access_time=0,
    )


def _hfile(entries: Mapping[str, bytes], base_path: str, created: int) -> bytes:
    info = BootstrapIndexInfo(bootstrap_base_path=base_path, created_timestamp=created, num_keys=len(entries))
    ordered = sorted((key.encode(), value) for key, value in entries.items())
    return encode_hfile(
        pa.array([key for key, _ in ordered], pa.binary()),
        pa.array([value for _, value in ordered], pa.binary()),
        compression="none",
        file_info={_INFO: encode_record_file(info)},
    )
