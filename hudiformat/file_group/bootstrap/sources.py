"""The storage of a bootstrapped table: that of its own files, which also knows where the source files are.

Source files are outside of the table's folder, unless hudiformat has made the table of files that were in it.  What is
outside is read only if the user has named its folder: what a table says is not enough.  It is never written or deleted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from hudiformat.errors import CorruptTableError, UnsupportedFeatureError
from hudiformat.file_group.bootstrap.index import BY_FILE_ID, BootstrapIndex, SourceFile
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import BaseFileName, base_name, join_path, parse_data_file
from hudiformat.naming.instants import METADATA_BOOTSTRAP
from hudiformat.schema.partition_columns import PartitionColumns
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.opening import TaskRoot, open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig


class Sources:
    """Finds the source files of a table's base files.

    *table* is the table's own storage, *config* its properties, which name the folder of the source files, *files* the
    storage of these, None if the user has not named their folder.  *read_schema* returns the table's own columns.
    """

    def __init__(
        self, table: Storage, files: Storage | None, config: TableConfig, read_schema: Callable[[], pa.Schema]
    ) -> None:
        self._table = table
        self._files = files
        self._config = config
        self._read_schema = read_schema
        self._index: BootstrapIndex | None = None
        self._lock = threading.Lock()

    def root_for_tasks(self) -> SourcedRoot:
        """Return the root of the table's storage, by which a task opens it together with the source files."""
        return SourcedRoot(self._table.root, self)

    def reduced(self) -> tuple[str, str | None, TableConfig, pa.Schema]:
        """Return the arguments of :func:`_reopen` for the same storage."""
        files = None if self._files is None else self._files.root
        return self._table.root, files, self._config, pa.schema(self.of_path)

    @cached_property
    def of_path(self) -> list[pa.Field]:
        """The table's partition columns, which source files may lack."""
        names = self._config.partition_fields
        if not names:
            return []
        schema = self._read_schema()
        known = set(schema.names)
        return [schema.field(name) for name in names if name in known]

    @cached_property
    def columns_of_path(self) -> PartitionColumns:
        """What partition paths tell."""
        return PartitionColumns.of(self._config)

    def find(self, path: str) -> SourceFile | None:
        """Return the source file of the base file at *path*; None if its rows are all in it.

        Raises:
            CorruptTableError, DecodeError: the index is damaged, or there is none.
            StorageError: it cannot be read.
        """
        name = parse_data_file(base_name(path))
        if name is None or not is_bootstrapped(path):
            return None
        with self._lock:
            if self._index is None:
                self._index = self._open_index(path)
            return self._index.find(path.rpartition("/")[0], name.file_id)

    def _open_index(self, path: str) -> BootstrapIndex:
        if not self._table.exists(BY_FILE_ID):
            named = f"{self._table.root}/{path}"
            raise CorruptTableError(
                f"{named}: expected an index that names its source file, {BY_FILE_ID}, found none; put it back",
                path=named,
            )
        return BootstrapIndex(self._table)

    @property
    def is_named(self) -> bool:
        """Whether the user has named the folder of the source files."""
        return self._files is not None

    @property
    def files(self) -> Storage:
        """The storage of the source files.

        Raises:
            UnsupportedFeatureError: the user has not named their folder.
        """
        named = self._config.bootstrap_base_path
        if self._files is None:
            raise UnsupportedFeatureError(
                f"{self._table.root}: expected rows in the table's folder, found a bootstrapped table, whose rows are "
                f"in {named}, which is read only if you name it; open the table with the option "
                f"hoodie.bootstrap.base.path={named}, or the folder where these files are now",
                feature="source files of a bootstrapped table that are outside of its folder",
            )
        return self._files


class SourcedRoot(TaskRoot):
    """The root of a bootstrapped table, which a task opens with its source files."""

    _sources: Sources

    def __new__(cls, root: str, sources: Sources) -> SourcedRoot:
        """Return the text *root* with *sources*."""
        made = super().__new__(cls, root)
        made._sources = sources
        return made

    def __reduce__(self) -> tuple[Callable[..., SourcedRoot], tuple[str, str | None, TableConfig, pa.Schema]]:
        return _reopened_root, self._sources.reduced()

    def open(self) -> Storage:
        """Open the storage of the table."""
        return _reopen(*self._sources.reduced())


@dataclass(frozen=True, slots=True)
class SourcedStorage(FolderStorage):
    """The storage of a bootstrapped table; its methods are those of the table's own storage."""

    sources: Sources

    @property
    def root(self) -> str:
        """The folder of the table, as a user would write it."""
        return self.sources.root_for_tasks()

    def __reduce__(self) -> tuple[Callable[..., Storage], tuple[str, str | None, TableConfig, pa.Schema]]:
        return _reopen, self.sources.reduced()

    def _below(self, path: str) -> str:
        return path


def is_bootstrapped(path: str) -> bool:
    """Return whether the base file at *path* may have a source file, by its name."""
    name = parse_data_file(base_name(path))
    return isinstance(name, BaseFileName) and name.instant == METADATA_BOOTSTRAP


def _reopen(root: str, files: str | None, config: TableConfig, schema: pa.Schema) -> SourcedStorage:
    opened = None if files is None else open_storage(files)
    return SourcedStorage(table := open_storage(root), "", Sources(table, opened, config, lambda: schema))


def _reopened_root(root: str, files: str | None, config: TableConfig, schema: pa.Schema) -> SourcedRoot:
    return _reopen(root, files, config, schema).sources.root_for_tasks()


def sourced_storage(
    storage: Storage, files: Storage | None, config: TableConfig, read_schema: Callable[[], pa.Schema]
) -> Storage:
    """Return the *storage* of a bootstrapped table with its source files; the arguments are those of ``Sources``."""
    return SourcedStorage(storage, "", Sources(storage, files, config, read_schema))


@dataclass(frozen=True, slots=True)
class FoundSource:
    """The *source* file of a base file in the storage *files*, and what the path tells of the columns *of_path*."""

    files: Storage
    source: SourceFile
    of_path: Sequence[pa.Field]
    columns: PartitionColumns

    def value_of(self, field: pa.Field) -> pa.Scalar:
        """Return the value of a partition column in all rows of the file.

        Raises:
            UnsupportedFeatureError: the path does not tell it.
        """
        return self.columns.value(field, self.source.partition_path)


def find_source(storage: Storage, path: str) -> FoundSource | None:
    """Return the source file of the base file at *path*; None if its rows are all in it.

    Raises:
        CorruptTableError, DecodeError, StorageError: as :meth:`Sources.find`.
        UnsupportedFeatureError: the user has not named the folder of the source files.
    """
    if not isinstance(storage, SourcedStorage):
        return None
    sources = storage.sources
    found = sources.find(path)
    return None if found is None else FoundSource(sources.files, found, sources.of_path, sources.columns_of_path)


def require_sources(storage: Storage, slices: Iterable[FileSlice]) -> None:
    """Refuse slices whose rows are in source files of which the user has not named the folder, before one is read.

    Raises:
        CorruptTableError, DecodeError, StorageError, UnsupportedFeatureError: as :func:`find_source`.
    """
    if not isinstance(storage, SourcedStorage) or storage.sources.is_named:
        return
    for one in slices:
        if one.base_file is not None:
            find_source(storage, join_path(one.partition_path, str(one.base_file.name)))


def source_uri(storage: Storage, path: str) -> str | None:
    """Return the URI of the source file of the base file at *path*, as a plan names it; None if it has none.

    Raises:
        CorruptTableError, DecodeError, StorageError: as :meth:`Sources.find`.
    """
    found = storage.sources.find(path) if isinstance(storage, SourcedStorage) else None
    return None if found is None else found.uri
