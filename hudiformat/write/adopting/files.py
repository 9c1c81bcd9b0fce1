"""Look at Parquet files that are to become a table: their folders, their columns, and what keeps them from staying.

Hudi reads a file where it is if it can pair its rows with those of a skeleton file: see spec/bootstrap.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.conversion import batch_of
from hudiformat.errors import DataError, SchemaError, StorageError
from hudiformat.file_group.base_file.parquet import PARQUET, ParquetBaseFile
from hudiformat.naming.file_names import join_path
from hudiformat.naming.keys import DEFAULT_PARTITION, unescape_path_name
from hudiformat.schema.meta_fields import is_meta_field
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.protocol import FileInfo, Storage

_ENDING = ".parquet"
_AT_ONCE = 8
_HIDDEN = (".", "_")
_INT96 = "INT96"
_OF_INTEGERS = ("INT32", "INT64")
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_INT32_MAX = 2**31 - 1

PathValues = Mapping[str, pa.Scalar]
"""The values of the partition columns that a file lacks, as its path tells them."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A Parquet file: its path below the folder, its bytes, its rows, its columns, and why it cannot stay, or None."""

    path: str
    size: int
    rows: int
    columns: pa.Schema
    copied_because: str | None = None

    @property
    def folder(self) -> str:
        """The folder of the file, which is the partition path."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True)
class FoundFiles:
    """All Parquet files of a folder, and the table that they make.

    ``schema`` has the columns of the files, and at the end the partition columns that only the folders tell, as texts.
    ``hive_style`` and ``url_encode`` say how folders name the values of the columns ``partition_by``.
    """

    files: tuple[FoundFile, ...]
    schema: pa.Schema
    partition_by: tuple[str, ...]
    hive_style: bool
    url_encode: bool

    @property
    def rows(self) -> int:
        """The number of rows of all files."""
        return sum(one.rows for one in self.files)

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(one.size for one in self.files)

    @cached_property
    def partitions(self) -> list[str]:
        """The partition paths, sorted."""
        return sorted({one.folder for one in self.files})

    @property
    def copied_because(self) -> str | None:
        """Why the files cannot stay where they are; None if they can."""
        found = next((one for one in self.files if one.copied_because is not None), None)
        return None if found is None else f"{found.path}: {found.copied_because}"

    def with_types_of_paths(self) -> FoundFiles:
        """Return the same files; columns that only the folders tell have the types of their values.

        Hudi's readers do not agree on such types, but for texts, where the rows stay in files without the columns.
        """
        known = {name for one in self.files for name in one.columns.names}
        values = [self._texts(folder) for folder in self.partitions]
        kinds = {
            name: _type_of(texts) for name, texts in zip(self.partition_by, zip(*values, strict=True), strict=True)
        }
        fields = [one if one.name in known else one.with_type(kinds[one.name]) for one in self.schema]
        return replace(self, schema=pa.schema(fields))

    def values_of_path(self, file: FoundFile) -> dict[str, pa.Scalar]:
        """Return the values of the partition columns that *file* lacks."""
        there = set(file.columns.names)
        texts = dict(zip(self.partition_by, self._texts(file.folder), strict=True))
        return {name: _value(text, self.schema.field(name).type) for name, text in texts.items() if name not in there}

    def batches(self, storage: Storage, file: FoundFile, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the columns *names* of *file*, with the types of ``schema``, at most *rows* rows at a time.

        Raises:
            CorruptTableError, StorageError: the file cannot be read.
        """
        there, told = set(file.columns.names), self.values_of_path(file)
        schema = pa.schema([self.schema.field(name) for name in names])
        with PARQUET.open(storage, file.path) as opened:
            for batch in opened.batches([name for name in names if name in there], batch_rows=rows):
                count = batch.num_rows
                columns = [
                    batch[field.name].cast(field.type)
                    if field.name in there
                    else pa.repeat(told[field.name], count)
                    if field.name in told
                    else pa.nulls(count, field.type)
                    for field in schema
                ]
                yield batch_of(columns, schema, count)

    def _texts(self, folder: str) -> list[str]:
        parts = folder.split("/") if self.partition_by else []
        return [part.partition("=")[2] if self.hive_style else part for part in parts]


def find_files(storage: Storage, partition_by: Sequence[str], *, name: str) -> FoundFiles:
    """Return the Parquet files below the root of *storage*, of which a table *name* is to be made.

    Files and folders whose names begin with ``.`` or ``_`` are left out, as Spark does.  Only footers are read.

    Raises:
        StorageError: there are no files, or one cannot be read.
        CorruptTableError: a file is no Parquet file.
        DataError: a file is of another kind, or its folder does not fit *partition_by*.
        SchemaError: two files have a column of different types, or Avro cannot hold a column.
    """
    entries = list(_walk(storage, ""))
    others = [path for path, _ in entries if not path.endswith(_ENDING)]
    if others:
        raise DataError(
            f"{storage.root}/{others[0]}: expected Parquet files whose names end in {_ENDING}, found another file; "
            "move it away, or give it a name that begins with _"
        )
    if not entries:
        raise StorageError(f"{storage.root}: expected Parquet files, found none", path=storage.root)
    hive_style = _is_hive_style(storage.root, [path for path, _ in entries], partition_by)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        files = tuple(pool.map(lambda entry: _look_at(storage, *entry), entries))
    folders = sorted({one.folder for one in files})
    columns = _columns_of(storage.root, files)
    known = set(columns.names)
    told = [pa.field(field, pa.string()) for field in partition_by if field not in known]
    schema = pa.schema([*columns, *told])
    of_table = pa.schema([pa.field(one.name, _in_table(one.type)) for one in schema])
    avro = avro_to_arrow(TableSchema.from_arrow(of_table, name).avro)
    return FoundFiles(
        files=tuple(_with_reason(one, schema, avro) for one in files),
        schema=avro,
        partition_by=tuple(partition_by),
        hive_style=hive_style,
        url_encode=bool(partition_by) and any(unescape_path_name(folder) != folder for folder in folders),
    )


def _walk(storage: Storage, folder: str) -> Iterator[tuple[str, FileInfo]]:
    """Yield the paths of all files below *folder* that are not hidden, sorted."""
    for entry in storage.list(folder):
        path = join_path(folder, entry.name)
        if entry.name.startswith(_HIDDEN):
            continue
        if entry.is_dir:
            yield from _walk(storage, path)
        else:
            yield path, entry


def _is_hive_style(root: str, paths: Iterable[str], partition_by: Sequence[str]) -> bool:
    """Return whether folders are named ``name=value``; each file has to be in one folder for each partition column.

    Raises:
        DataError: a file is not, or its folders have other names.
    """
    styles: dict[bool, str] = {}
    for path in paths:
        parts = path.split("/")[:-1]
        if len(parts) != len(partition_by):
            named = [part.partition("=")[0] for part in parts if "=" in part]
            hint = f"; partition_by={named} would fit its folders" if len(named) == len(parts) else ""
            raise DataError(
                f"{root}/{path}: expected a file in {len(partition_by)} folders, one for each partition column, found "
                f"it in {len(parts)}{hint or '; name the columns that the folders stand for in partition_by='}"
            )
        with_names = [part.partition("=")[0] for part in parts if "=" in part]
        if with_names and with_names != list(partition_by):
            raise DataError(
                f"{root}/{path}: expected folders of {', '.join(partition_by)}, found {', '.join(with_names)}; give "
                "partition_by= in the order of the folders"
            )
        styles.setdefault(bool(with_names), path)
    if len(styles) > 1:
        raise DataError(
            f"{root}: expected folders that are all named like {partition_by[0]}=value, or none, found {styles[True]} "
            f"and {styles[False]}; rename some"
        )
    return True in styles


def _look_at(storage: Storage, path: str, entry: FileInfo) -> FoundFile:
    with PARQUET.open(storage, path) as opened:
        columns = opened.schema.remove_metadata()
        meta = [name for name in columns.names if is_meta_field(name)]
        if meta:
            raise SchemaError(
                f"{storage.root}/{path}: expected a file that no writer of Hudi has made, found the column {meta[0]}; "
                "open its table, or write the file again without meta fields",
                column=meta[0],
            )
        if len(set(columns.names)) < len(columns.names):
            raise SchemaError(f"{storage.root}/{path}: expected each column once, found one twice")
        rows = sum(opened.group_rows)
        return FoundFile(path, entry.size, rows, columns, _reason_of_file(opened))


def _reason_of_file(opened: ParquetBaseFile) -> str | None:
    """Return why Hudi could not read the file where it is, apart from the types of its columns."""
    stored = opened.file.metadata.schema
    leaves = [stored.column(number) for number in range(len(stored))]
    if any(leaf.physical_type == _INT96 for leaf in leaves):
        return "it has timestamps in INT96, which not every reader of Hudi reads"
    if any(leaf.logical_type.type == "DECIMAL" and leaf.physical_type in _OF_INTEGERS for leaf in leaves):
        return "it has decimals that are stored as integers, which not every reader of Hudi reads"
    if opened.dates.columns:
        return "it has dates of the Julian calendar, which not every reader of Hudi converts"
    return None


def _columns_of(root: str, files: Sequence[FoundFile]) -> pa.Schema:
    """Return the columns of all files, those of the first one first; all may be null.

    Raises:
        SchemaError: two files have a column of different types.
    """
    found: dict[str, tuple[pa.DataType, str]] = {}
    for file in files:
        for field in file.columns:
            kind = _plain(field.type)
            known, path = found.setdefault(field.name, (kind, file.path))
            if known != kind:
                raise SchemaError(
                    f"{root}: expected the column {field.name} to be of one type, found {known} in {path} and {kind} "
                    f"in {file.path}; write some of the files again",
                    column=field.name,
                )
    return pa.schema([pa.field(name, kind) for name, (kind, _) in found.items()])


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type that Parquet stores for *kind*: its footer says how Arrow held the values in memory."""
    if pat.is_dictionary(kind):
        return _plain(kind.value_type)
    if pat.is_struct(kind):
        return pa.struct([pa.field(one.name, _plain(one.type)) for one in kind])
    if pat.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if pat.is_list(kind) or pat.is_large_list(kind) or pat.is_fixed_size_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pat.is_large_string(kind) or pat.is_string_view(kind):
        return pa.string()
    return pa.binary() if pat.is_large_binary(kind) or pat.is_binary_view(kind) else kind


def _in_table(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column of the type *kind* gets: Spark writes no timestamps that count milliseconds."""
    if pat.is_struct(kind):
        return pa.struct([pa.field(one.name, _in_table(one.type)) for one in kind])
    if pat.is_map(kind):
        return pa.map_(_in_table(kind.key_type), _in_table(kind.item_type))
    if pat.is_list(kind):
        return pa.list_(_in_table(kind.value_type))
    return pa.timestamp("us", kind.tz) if pat.is_timestamp(kind) else kind


def _with_reason(file: FoundFile, schema: pa.Schema, avro: pa.Schema) -> FoundFile:
    """Return *file* with the reason why it cannot stay, if a column has a type that Avro has not."""
    if file.copied_because is not None:
        return file
    for field in file.columns:
        kind = schema.field(field.name).type
        if not _is_same(kind, avro.field(field.name).type):
            reason = f"its column {field.name} is of type {kind}, which a table of Hudi has not"
            return FoundFile(file.path, file.size, file.rows, file.columns, reason)
    return file


def _is_same(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return whether two types are the same but for names of list items and for what may be null."""
    if pat.is_struct(kind) and pat.is_struct(other):
        pairs = zip(kind, other, strict=False)
        return kind.num_fields == other.num_fields and all(
            one.name == two.name and _is_same(one.type, two.type) for one, two in pairs
        )
    if pat.is_map(kind) and pat.is_map(other):
        return _is_same(kind.key_type, other.key_type) and _is_same(kind.item_type, other.item_type)
    if pat.is_list(kind) and pat.is_list(other):
        return _is_same(kind.value_type, other.value_type)
    return bool(kind == other)


def _type_of(texts: Iterable[str]) -> pa.DataType:
    """Return the type of a partition column whose values are *texts*: a whole number, a date, or a text.

    A value is a number or a date only if its text is the one that the column's value would get again.
    """
    plain = [unescape_path_name(text) for text in texts if text != DEFAULT_PARTITION]
    if plain and all(map(_NUMBER.fullmatch, plain)):
        return pa.int32() if all(abs(int(text)) <= _INT32_MAX for text in plain) else pa.int64()
    return pa.date32() if plain and all(map(_is_date, plain)) else pa.string()


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _value(text: str, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(None if text == DEFAULT_PARTITION else unescape_path_name(text), pa.string()).cast(kind)
