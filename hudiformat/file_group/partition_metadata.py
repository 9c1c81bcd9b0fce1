"""The metadata file of a partition, by which readers know that a folder is one: its names, and what is in it.

It is a text, or an empty Parquet or ORC file whose footer has the same entries, if
``hoodie.partition.metafile.use.base.format`` is true: BigQuery reads tables of such folders.

Source: HoodiePartitionMetadata, ParquetUtils.writeMetaFile, OrcUtils.writeMetaFile, Hudi 1.2.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.codec.orc.tail import orc_file
from hudiformat.errors import StorageError
from hudiformat.file_group.base_file.format import format_of
from hudiformat.naming.file_names import join_path
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig

PARTITION_METADATA_FILE = ".hoodie_partition_metadata"
PARTITION_METADATA_FILES = frozenset(f"{PARTITION_METADATA_FILE}{end}" for end in ("", ".parquet", ".orc"))
_TIME, _DEPTH = "commitTime", "partitionDepth"
_ENTRY = re.compile(r"^(commitTime|partitionDepth)[=:]([0-9]+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """What the file says: the instant that created the partition, and how many folders it is below the table's."""

    created: str | None
    depth: int | None


def metadata_file_of(config: TableConfig) -> str:
    """Return the name of the file that a writer of the table creates in a new partition."""
    if not config.partition_metafile_use_base_format:
        return PARTITION_METADATA_FILE
    return f"{PARTITION_METADATA_FILE}.{config.base_file_format.lower()}"


def find_metadata_file(names: Iterable[str]) -> str | None:
    """Return the partition metadata file among *names* of files; the text, if there are several; None if none."""
    return min(PARTITION_METADATA_FILES.intersection(names), default=None)


def is_partition(storage: Storage, folder: str, config: TableConfig) -> bool:
    """Return whether the folder of a table has a metadata file: of the kind that the table has now, or a text."""
    names = dict.fromkeys((metadata_file_of(config), PARTITION_METADATA_FILE))
    return any(storage.exists(join_path(folder, name)) for name in names)


def encode_partition_metadata(name: str, folder: str, instant: str) -> bytes:
    """Return the content of a metadata file *name* for the partition at *folder*, which *instant* creates."""
    depth = folder.count("/") + 1 if folder else 0
    entries = {_TIME: instant, _DEPTH: str(depth)}
    if name.endswith(".parquet"):
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, pa.schema([("dummyint", pa.int64())]), store_schema=False) as writer:
            writer.add_key_value_metadata(entries)
        return bytes(sink.getvalue())
    if name.endswith(".orc"):
        return orc_file(pa.schema([("_hoodie_record_key", pa.string())]).empty_table(), entries)
    return f"#partition metadata\n{_TIME}={instant}\n{_DEPTH}={depth}\n".encode()


def read_partition_metadata(storage: Storage, folder: str, name: str) -> PartitionMetadata:
    """Return what the metadata file *name* of a folder says.

    Raises:
        StorageError, CorruptTableError: the file cannot be read, or is no file of the format of its name.
    """
    path = join_path(folder, name)
    if name == PARTITION_METADATA_FILE:
        entries: Mapping[str, str] = dict(_ENTRY.findall(storage.read(path).decode("utf-8", "replace")))
    else:
        if not storage.exists(path):
            raise StorageError(f"{storage.root}/{path} does not exist", path=path)
        with format_of(name).open(storage, path) as file:
            entries = {key.decode(): value.decode() for key, value in (file.footer or {}).items()}
    depth = entries.get(_DEPTH, "")
    return PartitionMetadata(entries.get(_TIME), int(depth) if depth.isdecimal() else None)
