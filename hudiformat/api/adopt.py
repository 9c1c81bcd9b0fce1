"""Take over Parquet files that are there: make a table of them, without a copy where Hudi reads them so.

The table has a folder of its own: Hudi lists all Parquet files in a partition's folder as base files of the table.

Source: SparkBootstrapCommitActionExecutor, Hudi 1.2.0; spec/bootstrap.md.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timezone

import pyarrow as pa

from hudiformat.api.create import NewTable, describe_table, make_table, refuse_existing
from hudiformat.api.reading import context_of
from hudiformat.api.table import Table
from hudiformat.arguments import as_name_list, check_arguments
from hudiformat.errors import OptionError, StorageError, UnsupportedFeatureError
from hudiformat.file_group.bootstrap.index import encode_bootstrap_index
from hudiformat.file_group.partition_metadata import encode_partition_metadata, metadata_file_of
from hudiformat.naming.file_names import join_path
from hudiformat.naming.instants import METADATA_BOOTSTRAP, next_instant
from hudiformat.progress import Progress, notebook_bar
from hudiformat.schema.table_schema import TableSchema
from hudiformat.services.indexing import build_metadata_table
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.opening import Location, open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.agreement import options_of
from hudiformat.table.options.keys import BOOTSTRAP_BASE_PATH
from hudiformat.table.sources import with_sources
from hudiformat.table.state import Clock, TableClock, TableContext
from hudiformat.table.versions import BOOTSTRAP_INDEX
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.config_files import (
    META_FOLDER,
    PROPERTIES_FILE,
    VERSION_WITH_COMPLETION_TIMES,
    format_table_config,
    load_table_config,
)
from hudiformat.timeline.contents import begin_instant, complete_instant
from hudiformat.timeline.table_config import TableConfig, TableType
from hudiformat.timeline.timeline import Action
from hudiformat.write.adopting.files import FoundFiles, find_files
from hudiformat.write.adopting.skeletons import Adopting, Skeleton

TABLE_FOLDER = "_hudi"
"""The folder, in that of the Parquet files, which the table gets by default: Spark and Hive read no files of it."""

_HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
_URL_ENCODE = "hoodie.datasource.write.partitionpath.urlencode"
_BATCH_ROWS = 65_536
_BEGUN = f"{META_FOLDER}/.adopting"
"""A file that is there while the table is made: what a stopped adoption has left is deleted by the next one."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """What :func:`adopt` makes of a folder; :func:`plan_adoption` returns one, for which only footers were read.

    ``path`` is that of the table.  ``files``, ``rows`` and ``size`` (bytes) are those of the Parquet files,
    ``partitions`` the paths of their folders, ``schema`` the columns of the table.  ``copied_because`` is why the rows
    have to be copied, or are; None if all files can stay.

    Source: SparkBootstrapCommitActionExecutor, Hudi 1.2.0; spec/bootstrap.md.
    """

    path: str
    files: int
    rows: int
    size: int
    partitions: tuple[str, ...]
    schema: pa.Schema
    copied_because: str | None
    _job: _Job = field(repr=False, compare=False)

    def check(self, progress: Progress | None = None) -> None:
        """Read the record keys of all rows, and check them; *progress* is called with the bytes of the files done.

        Raises:
            DataError: a record key is null, or occurs twice in a partition; or a row is in the folder of another
                partition.
            StorageError, CorruptTableError: a file cannot be read.

        Source: SparkBootstrapCommitActionExecutor, Hudi 1.2.0; spec/bootstrap.md.
        """
        with _progress_of(progress, "checking", self.size) as done:
            self._job.adopting(done).check_keys()

    def run(self, progress: Progress | None = None) -> Table:
        """Make the table, and return it; *progress* is called with the bytes of the files that are done.

        Raises:
            HudiFormatError: as for :func:`adopt`.

        Source: SparkBootstrapCommitActionExecutor, Hudi 1.2.0; spec/bootstrap.md.
        """
        job = self._job
        with _progress_of(progress, "adopting", self.size) as done:
            adopting = job.adopting(done)
            return _copy_rows(job, adopting) if job.is_copied else _make_without_copy(job, adopting)


@dataclass(frozen=True, slots=True)
class _Job:
    """What an adoption needs: the storage of the *found* files and that of the table, and what table that is to be."""

    source: Storage
    target: Storage
    found: FoundFiles
    new: NewTable
    is_copied: bool
    clock: Clock | None

    def adopting(self, progress: Progress) -> Adopting:
        return Adopting(self.source, self.found, self.new.config, progress)


def _progress_of(progress: Progress | None, title: str, size: int) -> AbstractContextManager[Progress]:
    """Return the context of the caller's own *progress*, else of a bar in a notebook."""
    return notebook_bar(title, size) if progress is None else nullcontext(progress)


@check_arguments
def adopt(
    path: Location,
    *,
    record_key: str | Sequence[str],
    partition_by: str | Sequence[str] = (),
    ordering: str | Sequence[str] = (),
    into: str | None = None,
    copy: bool | None = None,
    name: str | None = None,
    table_type: str = "COPY_ON_WRITE",
    version: int = 9,
    options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Table:
    """Make a table of the Parquet files in the folder *path*, which stay as they are, and return it.

    *into* is the path of the table, by default the folder ``_hudi`` in *path*.  Without a copy, the table gets for each
    file one that has only the record keys of its rows, as a bootstrap of Hudi's in the mode METADATA_ONLY makes it.
    With ``copy=True`` all rows are written into the table, in bounded memory.  If *copy* is None, they are if Hudi
    could not read a file where it is, such as one with unsigned numbers; with ``copy=False`` that is an error.

    A table without a copy reads the files from then on, so they must not change.  Later, whoever opens it with
    hudiformat has to name their folder: ``open_table(..., options={"hoodie.bootstrap.base.path": path})``.

    The names of folders tell the columns *partition_by*, in this order: ``day=2024-01-05`` or ``2024-01-05``.  Such a
    column that the files lack is a text, as Hudi's bootstrap makes it; in a copy it is a whole number, a date or a
    text, by its values.  Files and folders whose names begin with ``.`` or ``_`` are left out.

    *record_key*, *ordering*, *table_type*, *version*, *options*, *clock* and *storage_options* are as for
    ``create_table``; with ``record_key=[]`` the rows get generated keys.  *name* is by default that of the folder.
    There is no table before all is done.

    Raises:
        TableExistsError: there is a table at *into* already.
        DataError: a record key is null, or occurs twice in a partition; a file is no Parquet file; or folders do not
            fit *partition_by*.
        SchemaError: two files have a column of different types, or Avro cannot hold the type of a column.
        UnsupportedFeatureError: Hudi could not read a file where it is, and *copy* is False.
        OptionError, StorageError, CorruptTableError: as for ``create_table``, and for files that cannot be read.

    Source: SparkBootstrapCommitActionExecutor, Hudi 1.2.0; spec/bootstrap.md.
    """
    return plan_adoption(
        path,
        record_key=record_key,
        partition_by=partition_by,
        ordering=ordering,
        into=into,
        copy=copy,
        name=name,
        table_type=table_type,
        version=version,
        options=options,
        clock=clock,
        storage_options=storage_options,
    ).run()


@check_arguments
def plan_adoption(
    path: Location,
    *,
    record_key: str | Sequence[str],
    partition_by: str | Sequence[str] = (),
    ordering: str | Sequence[str] = (),
    into: str | None = None,
    copy: bool | None = None,
    name: str | None = None,
    table_type: str = "COPY_ON_WRITE",
    version: int = 9,
    options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Adoption:
    """Return what :func:`adopt` makes of a folder, by the footers of its files; nothing is written.

    Its method ``check`` reads all record keys, and ``run`` makes the table.

    Raises:
        HudiFormatError: as for :func:`adopt`; record keys are not read yet.

    Source: SparkBootstrapCommitActionExecutor, Hudi 1.2.0; spec/bootstrap.md.
    """
    source, target = _open(path, into, storage_options)
    title = name or _name_of(source)
    keys, ordering, partition_by = as_name_list(record_key), as_name_list(ordering), as_name_list(partition_by)
    found = find_files(source, partition_by, name=title)
    given = {**_style(found), **(options or {})}
    is_copied = found.copied_because is not None if copy is None else copy
    found = found.with_types_of_paths() if is_copied else found
    if not is_copied and found.copied_because is not None:
        raise UnsupportedFeatureError(
            f"{source.root}: expected files that Hudi reads where they are, found {found.copied_because}; leave out "
            "copy=False, so that the rows are copied",
            feature="adopting files that Hudi cannot read without a copy",
        )
    new = describe_table(
        name=title,
        schema=found.schema,
        record_key=keys,
        ordering=ordering,
        partition_by=partition_by,
        table_type=table_type,
        version=version,
        options=given,
        properties={} if is_copied else _properties(source, version),
    )
    if not is_copied:
        _refuse_record_index(target, new)
    return Adoption(
        path=target.root,
        files=len(found.files),
        rows=found.rows,
        size=found.size,
        partitions=tuple(found.partitions),
        schema=found.schema,
        copied_because=(found.copied_because or "it was asked for") if is_copied else None,
        _job=_Job(source, target, found, new, is_copied, clock),
    )


def _refuse_record_index(target: Storage, new: NewTable) -> None:
    if new.parsed.indexing.record_index or new.parsed.indexing.partitioned_record_index:
        raise UnsupportedFeatureError(
            f"{target.root}: expected no record index for rows that are not copied, found one in the options: it keeps "
            "the time of each row's commit, and the instant of a bootstrap is no time; leave it out, or set copy=True",
            feature="a record index of bootstrapped rows",
        )


def _open(path: Location, into: str | None, storage_options: Mapping[str, str] | None) -> tuple[Storage, Storage]:
    """Return the storage of the Parquet files and that of the table.

    Raises:
        TableExistsError: there is a table in one of them.
        OptionError: the table would be among the Parquet files.
    """
    source = open_storage(path, storage_options=storage_options)
    refuse_existing(source)
    if into is not None:
        target = open_storage(into, storage_options=storage_options)
    elif isinstance(path, str | os.PathLike) and "://" not in source.root:
        target = open_storage(f"{source.root}/{TABLE_FOLDER}")
    else:
        target = FolderStorage(source, TABLE_FOLDER)
    if not target.exists(_BEGUN):
        refuse_existing(target)
    below = f"{target.root}/".removeprefix(f"{source.root}/")
    if f"{target.root}/" != below and not below.startswith(("_", ".")):
        raise OptionError(
            f"into: expected a folder that is not among the Parquet files, found {target.root}; choose one outside of "
            f"{source.root}, or one whose name begins with _",
            option="into",
        )
    return source, target


def _copy_rows(job: _Job, adopting: Adopting) -> Table:
    adopting.check_keys()
    table = make_table(job.target, job.new, job.clock)
    table.bulk_insert(pa.RecordBatchReader.from_batches(job.found.schema, _all_rows(adopting)))
    return table


def _style(found: FoundFiles) -> dict[str, str]:
    """Return the options of a table whose partitions are named as the folders of the files."""
    flags = {_HIVE_STYLE: found.hive_style, _URL_ENCODE: found.url_encode}
    return {key: "true" for key, value in flags.items() if value}


def _name_of(storage: Storage) -> str:
    """Return the name of a folder, with ``_`` for each character that a table name cannot have."""
    name = re.sub(r"\W", "_", storage.root.rstrip("/").rpartition("/")[2], flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() or not name else name


def _properties(source: Storage, version: int) -> dict[str, str]:
    """Return the properties of a table whose rows are in *source*."""
    index = (
        {"hoodie.bootstrap.index.type": "HFILE"}
        if version >= VERSION_WITH_COMPLETION_TIMES
        else {"hoodie.bootstrap.index.class": BOOTSTRAP_INDEX}
    )
    return {BOOTSTRAP_BASE_PATH: source.root, **index}


def _all_rows(adopting: Adopting) -> Iterator[pa.RecordBatch]:
    found, done = adopting.found, 0
    for file in found.files:
        yield from found.batches(adopting.source, file, found.schema.names, _BATCH_ROWS)
        done += file.size
        adopting.progress(done)


def _make_without_copy(job: _Job, adopting: Adopting) -> Table:
    """Write the table without a copy of its rows; its properties come last, and before them it is none."""
    target, config = job.target, job.new.config
    clock = job.clock or TableClock(config.timeline_zone)
    _clean_up(target)
    target.make_folder(config.history_folder)
    target.create(_BEGUN, b"")
    skeletons = adopting.write_skeletons(target, job.new.parsed)
    metadata_file = metadata_file_of(config)
    for folder in dict.fromkeys(one.source.folder for one in skeletons):
        content = encode_partition_metadata(metadata_file, folder, METADATA_BOOTSTRAP)
        target.create(join_path(folder, metadata_file), content)
    now = datetime.now(timezone.utc)
    created, sources = int(now.timestamp() * 1000), [one.source for one in skeletons]
    for path, content in encode_bootstrap_index(sources, base_path=job.source.root, created=created).items():
        target.create(path, content)
    _commit(target, config, job.found, skeletons, clock)
    target.create(PROPERTIES_FILE, format_table_config(config, saved_at=now))
    target.delete(_BEGUN)
    table = _open_made(job, clock)
    if job.new.parsed.metadata_enable:
        build_metadata_table(context_of(table).state())
        table = _open_made(job, clock)
    return table


def _open_made(job: _Job, clock: Clock) -> Table:
    config = load_table_config(job.target)
    options = options_of(config, {**job.new.options, BOOTSTRAP_BASE_PATH: job.source.root})
    return Table(with_sources(TableContext(job.target, config, options, clock), job.source))


def _commit(
    target: Storage, config: TableConfig, found: FoundFiles, skeletons: Sequence[Skeleton], clock: Clock
) -> None:
    action = Action.COMMIT if config.table_type is TableType.COPY_ON_WRITE else Action.DELTA_COMMIT
    stats: defaultdict[str, list[WriteStat]] = defaultdict(list)
    for one in skeletons:
        stats[one.source.folder].append(one.stat)
    by_partition = {folder: tuple(found) for folder, found in stats.items()}
    schema = TableSchema.from_arrow(found.schema, config.name).avro
    metadata = CommitMetadata("BOOTSTRAP", by_partition, {"schema": schema})
    begun = begin_instant(target, config, METADATA_BOOTSTRAP, action, CommitMetadata("BOOTSTRAP"))
    complete_instant(target, config, begun, metadata, completion_time=next_instant(clock(), None))


def _clean_up(target: Storage) -> None:
    """Delete what a stopped adoption has left.

    Raises:
        StorageError: there are other files where the table is to be.
    """
    there = target.list("")
    if not there:
        return
    if not target.exists(_BEGUN):
        raise StorageError(
            f"{target.root}: expected an empty folder for the table, found {there[0].name} in it; name another one",
            path=target.root,
        )
    for entry in there:
        if entry.name == META_FOLDER:
            continue  # last: it has the file by which the next adoption would know
        _ = target.delete_folder(entry.name) if entry.is_dir else target.delete(entry.name)
    target.delete_folder(META_FOLDER)
