"""Open a partition of the metadata table: the HFiles and log blocks of its newest file slices.

Only log blocks of writes that are completed in the table are merged.  A write commits to the metadata table before it
commits to the table.  So an instant may be completed on the timeline of the metadata table although the write never
became visible in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.container import decode_avro_file
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.damaged import add_log_file_to_errors
from hudiformat.codec.log.frame import BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import CorruptBlockError, CorruptTableError, UnsupportedFeatureError
from hudiformat.file_group.merging.candidates import blocks_to_merge
from hudiformat.file_group.slices import FileSlice, Visibility, build_slices, latest_slices
from hudiformat.naming.file_names import parse_data_file
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.archive.archived_times import ArchivedTimes
from hudiformat.timeline.config_files import METADATA_FOLDER, VERSION_WITH_COMPLETION_TIMES, load_table_config
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, Timeline, instant_path, load_timeline

INITIAL = "00000000000000"
"""The lowest instant; the instants that initialize a partition of the metadata table begin with it."""


def valid_instants(storage: Storage, config: TableConfig, timeline: Timeline, own: Timeline) -> frozenset[str]:
    """Return the instants whose log blocks are merged.

    These are the completed instants of the table's *timeline*, and the completed delta commits of the metadata table's
    *own* timeline that are not pending on the table's timeline.  Rolled-back instants are included, because the blocks
    of their rollback, which undo them, are merged too.

    Raises:
        CorruptTableError: the metadata of a rollback or restore is damaged.

    Source: HoodieTableMetadataUtil.getValidInstantTimestamps.
    """
    pending = {instant.time for instant in timeline.pending}
    valid = {instant.time for instant in timeline.completed}
    compacted = INITIAL
    for instant in own.completed:
        if instant.action is Action.DELTA_COMMIT and (instant.time not in pending or instant.time.startswith(INITIAL)):
            valid.add(instant.time)
        elif instant.action is Action.COMMIT:
            compacted = instant.time
    # Log blocks of instants that were rolled back earlier have been compacted, or never existed.
    since = max(compacted, min(valid, default=INITIAL))
    for instant in timeline.completed:
        if instant.action in (Action.ROLLBACK, Action.RESTORE) and instant.time > since:
            valid.update(_rolled_back_instants(storage, config, instant))
    return frozenset(valid)


def _rolled_back_instants(storage: Storage, config: TableConfig, instant: Instant) -> list[str]:
    path = instant_path(config, instant)
    named = f"{storage.root}/{path}"
    record = decode_avro_file(storage.read(path), path=named)
    try:
        rollbacks = [record]
        if instant.action is Action.RESTORE:
            rollbacks = [rollback for group in record["hoodieRestoreMetadata"].values() for rollback in group]
        return [str(time) for rollback in rollbacks for time in rollback["commitsRollback"]]
    except (LookupError, TypeError, AttributeError) as error:
        raise CorruptTableError(f"{named}: expected the metadata of {instant}: {error!r}", path=named) from error


_SCHEMA = "schema"  # a key of the HFile's file info: HoodieAvroHFileReaderImplBase.SCHEMA_KEY


@dataclass(frozen=True, slots=True)
class HFileRecords:
    """The records of one HFile; *schema* is the Avro schema of their values, as JSON."""

    file: HFileReader
    schema: str


@dataclass(frozen=True, slots=True)
class Deletes:
    """The keys of a delete block, whose records are removed."""

    keys: frozenset[str]


Part = HFileRecords | Deletes
"""A base file or a log block."""


def open_partition(storage: Storage, config: TableConfig, timeline: Timeline, partition: str) -> list[Part]:
    """Return the base files and log blocks of *partition* in merge order.

    *config* and *timeline* are those of the table, not of the metadata table.  Only the index of a base file is read
    here.

    Raises:
        CorruptTableError: there is no such partition, or the metadata table is damaged.
        DecodeError: a file of the metadata table is damaged.
        StorageError: a file of the metadata table is missing.
        UnsupportedFeatureError: the metadata table cannot be read yet.

    Source: HoodieBackedTableMetadata.readSliceWithFilter.
    """
    return open_metadata(storage, config, timeline).parts(partition)


def open_metadata(storage: Storage, config: TableConfig, timeline: Timeline) -> OpenMetadata:
    """Open the metadata table of the table at the root of *storage*; *config* and *timeline* are those of the table.

    Raises:
        CorruptTableError: the metadata table is damaged.
        UnsupportedFeatureError: the metadata table cannot be read yet.
    """
    own = FolderStorage(storage, METADATA_FOLDER)
    own_config = load_table_config(own)
    return OpenMetadata.of(storage, config, timeline, own_config, load_timeline(own, own_config))


@dataclass(frozen=True, slots=True)
class OpenMetadata:
    """A metadata table whose properties and timelines have been read.

    ``valid`` are the instants whose log blocks are merged.
    """

    storage: Storage
    visibility: Visibility
    valid: frozenset[str]

    @classmethod
    def of(
        cls, storage: Storage, config: TableConfig, timeline: Timeline, own_config: TableConfig, own_timeline: Timeline
    ) -> OpenMetadata:
        """Open a metadata table whose properties and timeline, the last two arguments, have been read.

        *storage*, *config* and *timeline* are those of the table.

        Raises:
            CorruptTableError: the metadata of a rollback or restore is damaged.
        """
        own = FolderStorage(storage, METADATA_FOLDER)
        valid = valid_instants(storage, config, timeline, own_timeline)
        in_names = own_config.version < VERSION_WITH_COMPLETION_TIMES
        archived = None if in_names else ArchivedTimes(own, own_config)
        return cls(own, Visibility.of(own_timeline, logs_name_slices=in_names, archived=archived), valid)

    def slices(self, partition: str) -> list[FileSlice]:
        """Return the newest file slice of each file group of *partition*, in the order of the file ids.

        Raises:
            CorruptTableError: there is no slice; or a file group has none, because other writers cleaned it meanwhile.
        """
        files, root = self.storage.list(partition), self.storage.root
        slices = latest_slices(build_slices(partition, files, self.visibility))
        groups = {name.file_id for one in files if (name := parse_data_file(one.name)) is not None}
        missing = groups - {one.file_id for one in slices}  # a key's hash counts the groups: with fewer it is not found
        if missing or not slices:
            of = f" of {min(missing)} from before this look at it" if slices else ""
            raise CorruptTableError(f"{root}/{partition}: expected a file slice{of}, found none", path=root)
        return slices

    def any_slices(self, partition: str) -> list[FileSlice]:
        """Return the same as :meth:`slices`; the partition may lack file groups, as a partitioned record index."""
        return latest_slices(build_slices(partition, self.storage.list(partition), self.visibility))

    def parts(self, partition: str) -> list[Part]:
        """Return the base files and log blocks of *partition* in merge order.

        Raises:
            CorruptTableError, DecodeError, StorageError, UnsupportedFeatureError: as :func:`open_partition`.
        """
        return [part for file_slice in self.slices(partition) for part in self.parts_of(file_slice)]

    def parts_of(self, file_slice: FileSlice) -> Iterator[Part]:
        """Yield the base file and log blocks of one slice in merge order."""
        return _parts(self.storage, file_slice, self.visibility, self.valid)


def newest_records(parts: Iterable[Part], keys: pa.Array) -> Iterator[tuple[npt.NDArray[np.int64], pa.Array, str]]:
    """Yield the newest record of each of *keys* in a file group whose *parts* are in merge order.

    *keys* are binary and in ascending order.  Each item has indexes into *keys*, their records, and the Avro schema
    (JSON) of these records.
    """
    left = np.arange(len(keys))
    for part in reversed(list(parts)):
        if not len(left):
            return
        wanted = keys.take(pa.array(left))
        if isinstance(part, Deletes):
            dropped = pa.array([key.encode() for key in part.keys], pa.binary())
            left = left[~np.asarray(pc.is_in(wanted, value_set=dropped))]
            continue
        found, values = part.file.find(wanted)
        if len(found):
            yield left[found], values, part.schema
            left = np.delete(left, found)


def _parts(storage: Storage, file_slice: FileSlice, visibility: Visibility, valid: frozenset[str]) -> Iterator[Part]:
    if file_slice.base_file is not None:
        yield _base_records(storage, f"{file_slice.partition_path}/{file_slice.base_file.name}")
    paths = file_slice.log_paths
    blocks = (block for path in paths for block in _intact_blocks(storage, path))
    for block in blocks_to_merge(blocks):
        # In version 6 the name of a log file has the instant of the slice, so the instants of its blocks are checked
        # here.
        instant = block.instant or ""
        if instant in valid and visibility.is_committed(instant):
            with add_log_file_to_errors(storage, paths):
                yield _block_part(block)


def _base_records(storage: Storage, path: str) -> HFileRecords:
    if not path.endswith(".hfile"):
        raise UnsupportedFeatureError(
            f"{storage.root}/{path}: expected an HFile as base file of the metadata table, "
            "found another file; set hoodie.metadata.enable=false to read without it",
            feature="base file that is no HFile",
        )
    file = HFileReader(storage.map(path))
    schema = file.file_info.get(_SCHEMA)
    if schema is None:
        raise CorruptTableError(f"{storage.root}/{path}: expected a schema in its file info", path=storage.root)
    return HFileRecords(file, schema.decode(errors="replace"))


def _intact_blocks(storage: Storage, path: str) -> Iterator[LogBlock]:
    """Yield the blocks of a log file.

    A query skips corrupt blocks, but a metadata table without one of its blocks would lack files of the table.

    Raises:
        CorruptBlockError: a block is corrupt.
    """
    for block in LogReader(path, storage=storage):
        if block.type is BlockType.CORRUPT:
            named = f"{storage.root}/{path}"
            raise CorruptBlockError(f"{named}: {block.reason}", offset=block.offset, path=named)
        yield block


def _block_part(block: LogBlock) -> Part:
    if block.type is BlockType.DELETE:
        return Deletes(frozenset(block.deletes()["record_key"].to_pylist()))
    if block.type is not BlockType.HFILE_DATA:
        feature = f"{block.type.name} block in a metadata table"
        raise UnsupportedFeatureError(
            f"metadata table: expected blocks of type HFILE_DATA, found {block.type.name}; set "
            "hoodie.metadata.enable=false to read without it",
            feature=feature,
        )
    return HFileRecords(HFileReader(memoryview(block.content)), block.schema)
