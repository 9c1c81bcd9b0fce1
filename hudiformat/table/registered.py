"""Refuse writes to tables with registered files that Hudi could not go on with, or after which rows would be lost.

Registered files are those that others wrote, and of which a commit of Hudi's only says that they are there: XTable
registers the files of Delta Lake and Iceberg.  The tables have no meta fields, and their metadata table alone lists
such files: their names in it are not those in the folders, which need no partition metadata file either.
"""

from __future__ import annotations

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.read import read_columns
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import FileSlice, build_slices, latest_slices
from hudiformat.metadata_table.column_stats import COLUMN_STATS
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.naming.file_names import BaseFileName, join_path, parse_data_file
from hudiformat.schema.table_schema import field_type
from hudiformat.storage.protocol import Storage
from hudiformat.table.listing import may_be_registered
from hudiformat.table.state import TableState
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.table_config import TableConfig, TableType


def refuse_writes_beside_registered(state: TableState) -> None:
    """Refuse to write to a table that has registered files, or file groups that began with one, where Hudi cannot.

    Raises:
        UnsupportedFeatureError: it has them, and log files or statistics of columns, too, or they lack a partition
            column.

    Source: FSUtils.LOG_FILE_PATTERN, HoodieMetadataWriteUtils.getFilesToFetchColumnStats, Hudi 1.2.0.
    """
    config, root = state.config, state.storage.root
    has_statistics = COLUMN_STATS in set(config.metadata_partitions).difference(state.options.indexing.drop)
    refused = {
        "log files of registered files": (
            config.table_type is TableType.MERGE_ON_READ,
            "Hudi cannot read the names of such log files; copy the rows into a new table",
        ),
        f"statistics of registered files in table version {config.version}": (
            has_statistics and config.version >= VERSION_WITH_COMPLETION_TIMES,
            f"Hudi fails in its next write; set hoodie.metadata.index.drop={COLUMN_STATS} to drop the statistics",
        ),
    }
    for feature, (present, reason) in refused.items():
        if present and (path := _first_of_groups(state)) is not None:
            raise UnsupportedFeatureError(
                f"{root}/{path}: expected a file that Hudi wrote, found one that was registered with the table, which "
                f"has {feature}: {reason}",
                feature=feature,
            )
    if (one := _first_to_read(state)) is not None:
        refuse_lacking_columns(state.storage, config, one)


def refuse_lacking_columns(storage: Storage, config: TableConfig, below: FileSlice) -> None:
    """Refuse to rewrite the registered file of the slice *below* if it lacks partition columns.

    Delta Lake has their values in paths alone.

    Raises:
        UnsupportedFeatureError: it lacks one.
    """
    columns = read_columns(storage, below.base_path)
    lacking = [one for one in config.partition_fields if field_type(columns, one) is None]
    if lacking:
        raise UnsupportedFeatureError(
            f"{storage.root}/{below.base_path}: expected the partition columns in a registered file of a table to "
            f"write to, found no {', '.join(lacking)}: Hudi fails on such files, and a new file could not have their "
            "values; write in the other format, or copy the rows into a new table",
            feature="registered files without partition columns",
        )


def refuse_to_lose_registered(state: TableState) -> None:
    """Refuse to delete the metadata table of a table with registered files: nothing else lists them.

    Raises:
        UnsupportedFeatureError: a folder has a file that may be registered.
    """
    if state.config.populate_meta_fields:
        return
    for path, files in list_partitions(state.storage, incomplete=True):
        found = next((file.name for file in files if may_be_registered(file.name)), None)
        if found is not None:
            raise UnsupportedFeatureError(
                f"{state.storage.root}/{join_path(path, found)}: expected a file that Hudi named in a table whose "
                "metadata table is to be deleted, found one that may be registered, and that nothing else would list; "
                "keep the metadata table, or copy the rows into a new table",
                feature="deleting the metadata table of registered files",
            )


def refuse_to_index_registered(state: TableState) -> None:
    """Refuse to build an index of the metadata table of a table with registered files.

    Raises:
        UnsupportedFeatureError: it has them.
    """
    for path, files in state.registered.items():
        raise UnsupportedFeatureError(
            f"{state.storage.root}: expected files of Hudi's to build an index of, found {path}/{files[0].name}, which "
            "was registered with the table; leave the index out, as Hudi fails in writes, or finds no such file in it",
            feature="indexes of registered files",
        )


def _first_to_read(state: TableState) -> FileSlice | None:
    """Return the first slice with a registered file that a snapshot reads; None if there is none."""
    for path in state.registered:
        for one in latest_slices(build_slices(path, state.partition_files(path), state.visibility)):
            if one.is_registered:
                return one
    return None


def _first_of_groups(state: TableState) -> str | None:
    """Return the path of a file of a group that began with a registered one; None if there is none."""
    if not state.has_metadata_partition(FILES):
        return None
    for path, files in state.files():
        for file in files:
            name = parse_data_file(file.name)
            if isinstance(name, BaseFileName) and name.began_registered:
                return join_path(path, name.stored_as)
    return None
