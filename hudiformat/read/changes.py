"""Read change data: what each write did to each record, from change-data logs where they exist, else by comparison.

The changes of a file without a change-data log follow from the rows of its file group before and after the write:
keys that are new, keys that are missing, and rows that differ.

Rows become JSON texts, in the two forms that Hudi writes: records in change-data logs as Avro's ``toString`` formats
them, rows of base and log files as Jackson does.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.arrays import map_leaf_types
from hudiformat.codec.avro.java_text import java_float
from hudiformat.codec.avro.renaming import rename_columns
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.conversion import batch_of, convert_to_schema
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.damaged import add_log_file_to_errors
from hudiformat.codec.log.frame import BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.conditions.filters import can_evaluate
from hudiformat.errors import CorruptTableError, StorageError, UnsupportedFeatureError, unknown_column_error
from hudiformat.file_group.base_file.filters import can_match
from hudiformat.file_group.deleted_files import explain_missing_files, refuse_cleaned_groups
from hudiformat.file_group.reader import SliceReader
from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile, build_slices, latest_slices
from hudiformat.naming.file_names import BaseFileName, LogFileName, base_name, join_path, parse_data_file
from hudiformat.read.incremental import Write
from hudiformat.read.skipping import filter_batch
from hudiformat.schema.meta_fields import FILE_NAME
from hudiformat.storage.protocol import FileInfo, Storage
from hudiformat.storage.threads import FILE_GROUPS, side_by_side
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Instant

T = TypeVar("T")

_ESCAPES = re.compile(r"\\(?:u([0-9a-f]{4})|.)")
_ESCAPED_BY_AVRO = re.compile("[\x7f-\x9f\u2000-\u20ff]")


def avro_images(rows: pa.Array) -> list[str]:
    """Return the JSON texts of the records of a change-data log, given as a struct array; ``null`` where there is none.

    Source: HoodieCDCUtils.recordToJson, org.apache.avro.generic.GenericData.toString.
    """
    rows = _without_times(rows)
    return [_AVRO.text(value, rows.type) for value in rows.to_pylist()]


def row_images(rows: pa.Table) -> list[str]:
    """Return the JSON texts of rows of base and log files.

    Null columns and null map values are left out at every depth; null list elements are kept.

    Source: InternalRowToJsonStringConverter, Hudi 1.2.0.
    """
    rows = pa.Table.from_arrays([_without_times(column) for column in rows.columns], names=rows.column_names)
    columns = [column.to_pylist() for column in rows.columns]
    return [_JACKSON.record(zip(rows.schema, row, strict=True)) for row in zip(*columns, strict=True)]


def _without_times(values: pa.Array | pa.ChunkedArray) -> Any:
    """Replace dates and times in *values* with their stored numbers: Python cannot represent all of them."""
    kind = map_leaf_types(values.type, _numbers_of)
    return values if kind == values.type else values.cast(kind)


def _numbers_of(kind: pa.DataType) -> pa.DataType:
    if not pa.types.is_temporal(kind):
        return kind
    return pa.int32() if pa.types.is_date32(kind) or pa.types.is_time32(kind) else pa.int64()


@dataclass(frozen=True, slots=True)
class _Form:
    """The rules by which values become JSON text; ``nulls`` decides whether objects include members that are null."""

    comma: str
    colon: str
    nulls: bool
    quoted: Callable[[str], str]
    binary: Callable[[bytes], str]
    decimal: Callable[[Any, pa.DataType], str]

    def record(self, values: Iterable[tuple[pa.Field, Any]]) -> str:
        return self._object((field.name, value, field.type) for field, value in values)

    def text(self, value: Any, kind: pa.DataType) -> str:
        if value is None:
            text = "null"
        elif pa.types.is_struct(kind):
            text = self.record((field, value[field.name]) for field in kind)
        elif pa.types.is_map(kind):
            text = self._object((key, item, kind.item_type) for key, item in value)
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            text = "[" + self.comma.join(self.text(item, kind.value_type) for item in value) + "]"
        elif isinstance(value, bytes):
            text = self.binary(value)
        elif pa.types.is_decimal(kind):
            text = self.decimal(value, kind)
        else:
            text = self.quoted(value) if isinstance(value, str) else _format_plain(value, kind)
        return text

    def _object(self, members: Iterable[tuple[str, Any, pa.DataType]]) -> str:
        texts = (
            f"{self.quoted(name)}{self.colon}{self.text(value, kind)}"
            for name, value, kind in members
            if self.nulls or value is not None
        )
        return "{" + self.comma.join(texts) + "}"


def _format_plain(value: Any, kind: pa.DataType) -> str:
    """Return the text of a number or a boolean."""
    if pa.types.is_boolean(kind):
        return "true" if value else "false"
    if pa.types.is_floating(kind):
        shortest = str(np.float32(value)) if pa.types.is_float32(kind) else None
        text = java_float(value, shortest=shortest) or ""
        return text if np.isfinite(value) else f'"{text}"'
    return str(value)


def _quote(text: str) -> str:
    """Return *text* as a JSON string whose Unicode escapes have upper-case digits, as Java writes them."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPES.sub(lambda match: f"\\u{match[1].upper()}" if match[1] else match[0], quoted)


def _fixed_bytes(value: Any, kind: Any) -> str:
    size = (10**kind.precision - 1).bit_length() // 8 + 1
    unscaled = int(value.scaleb(kind.scale, context=Context(prec=kind.precision))).to_bytes(size, "big", signed=True)
    return str(np.frombuffer(unscaled, np.int8).tolist())


def _quote_as_avro(text: str) -> str:
    return _ESCAPED_BY_AVRO.sub(lambda match: f"\\u{ord(match[0]):04X}", _quote(text))


_AVRO = _Form(", ", ": ", True, _quote_as_avro, lambda value: _quote_as_avro(value.decode("latin-1")), _fixed_bytes)
_JACKSON = _Form(
    ",", ":", False, _quote, lambda value: _quote(base64.b64encode(value).decode()), lambda value, _: str(value)
)

CHANGE_SCHEMA = pa.schema([pa.field(name, pa.string()) for name in ("op", "ts_ms", "before", "after")])
"""The columns of a change: ``i``, ``u`` or ``d``, the instant of the write, the record as JSON before and after.

Source: CDCRelation.FULL_CDC_SPARK_SCHEMA.
"""

_SILENT = ("COMPACT", "CLUSTER", "LOG_COMPACT", "INDEX", "ALTER_SCHEMA", "BUCKET_RESCALE", "UNKNOWN", None)
"""Operations that change no record.  Source: WriteOperationType.yieldChanges."""

_IMAGES = ("before", "after")
"""The columns of a change-data log that hold records of the table."""

_MOST_COMPARED = 8
"""Number of file slices whose rows are cached for the comparison with the next write."""

_Rows = dict[str, tuple[str, str]]
"""By record key: the row's JSON text without the file name, by which versions are compared, and the row's full JSON
text.
"""

_Change = tuple[str, str | None, str | None]
"""The operation, and the record's JSON text before and after the write."""


@dataclass(frozen=True, slots=True)
class ChangeReader:
    """Reads what writes to a table changed."""

    storage: Storage
    reader: SliceReader
    _listed: dict[str, list[FileInfo]] = field(default_factory=dict)
    _compared: dict[tuple[str, ...], _Rows] = field(default_factory=dict)

    def changes(
        self, writes: Sequence[Write], columns: Sequence[str] | None = None, condition: pc.Expression | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the changes made by *writes*, in the order of the writes, in one batch per file.

        Only changes for which *condition* is true are included, and of these only *columns*.  The files of a write
        whose instant *condition* rules out are not opened.

        Raises:
            FilesGoneError: a clean has deleted a file that a write's changes are read from.
            CorruptTableError: a change-data log is damaged, or contradicts its file group.
            SchemaError: *condition* does not fit the columns.
        """
        for batch in self._changes(self._select_writes(writes, condition)):
            found = batch if condition is None else filter_batch(batch, condition)
            yield found if columns is None else found.select(list(columns))

    def _select_writes(self, writes: Sequence[Write], condition: pc.Expression | None) -> Iterator[Write]:
        if condition is None or not can_evaluate(condition, CHANGE_SCHEMA):
            yield from writes
            return
        instants = [pc.field("ts_ms") == instant.time for instant, _ in writes]
        for write, may_hold in zip(writes, can_match(condition, CHANGE_SCHEMA, instants), strict=True):
            if may_hold:
                yield write

    def _changes(self, writes: Iterable[Write]) -> Iterator[pa.RecordBatch]:
        for instant, metadata in writes:
            if metadata.operation_type in _SILENT:
                continue
            with explain_missing_files(self.storage, self.reader.config, partial(_read_for, metadata)):
                for changes in self._of_write(instant, metadata):
                    rows = [(op, instant.time, before, after) for op, before, after in changes]
                    if rows:
                        arrays = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
                        yield pa.RecordBatch.from_arrays(arrays, schema=CHANGE_SCHEMA)

    def _of_write(self, instant: Instant, metadata: CommitMetadata) -> Iterator[list[_Change]]:
        # Deletes come first, because an overwrite may write a deleted key again.
        for partition, file_ids in (metadata.partition_to_replace_file_ids or {}).items():
            replaced = [one for one in self._slices_before(partition, instant) if one.file_id in file_ids]
            if missing := set(file_ids).difference(one.file_id for one in replaced):
                refuse_cleaned_groups(self.storage, self.reader.config, partition, missing)
            yield from self._of_each(
                lambda one: [("d", image, None) for image in row_images(self._read(one))], replaced
            )

        def of_file(given: tuple[str, WriteStat]) -> list[_Change]:
            partition, stat = given
            return (self._read_change_logs if stat.cdc_stats else self._differences)(partition, stat, instant)

        every = metadata.partition_to_write_stats.items()
        yield from self._of_each(
            of_file, [(path, one) for path, some in every for one in some if one.cdc_stats or one.path]
        )

    def _of_each(self, read: Callable[[T], list[_Change]], given: Iterable[T]) -> Iterator[list[_Change]]:
        """Yield what *read* returns for each of *given*; of a remote storage several are read at a time."""
        in_turn = self.reader.merger is not None
        return map(read, given) if in_turn else side_by_side(self.storage, read, given, at_once=FILE_GROUPS)

    def _read_change_logs(self, partition: str, stat: WriteStat, instant: Instant) -> list[_Change]:
        """Return the changes that a write's change-data logs record.

        The table's logging mode decides whether the logs hold the records before and after the write.  Records that
        they do not hold are read from the file slices.
        """
        paths = sorted(stat.cdc_stats or {})
        with add_log_file_to_errors(self.storage, paths):
            batches = [self._recorded(block) for path in paths for block in self._whole_blocks(path)]
        rows = pa.Table.from_batches(batches).combine_chunks()
        operations = rows["op"].to_pylist()
        if "after" in rows.column_names:
            images = (avro_images(rows[name].combine_chunks()) for name in ("before", "after"))
            return list(zip(operations, *images, strict=True))
        keys = rows["record_key"].to_pylist()
        later = self._images(self._base_slice(partition, stat))
        after = [None if op == "d" else _image(later, key, stat) for op, key in zip(operations, keys, strict=True)]
        if "before" in rows.column_names:
            return list(zip(operations, avro_images(rows["before"].combine_chunks()), after, strict=True))
        earlier = self._images(self._slice_before(partition, stat, instant))
        before = [None if op == "i" else _image(earlier, key, stat) for op, key in zip(operations, keys, strict=True)]
        return list(zip(operations, before, after, strict=True))

    def _recorded(self, block: LogBlock) -> pa.RecordBatch:
        """Return the records of a block of a change-data log, with the columns that the table has now in their images.

        Hudi finds these by their names alone: a column that was renamed since is null there.
        """
        rows = block.to_arrow()
        fields, columns = list(rows.schema), list(rows.columns)
        target = pa.struct(list(self.reader.schema.arrow))
        for place, stored in enumerate(rows.schema):
            if stored.name in _IMAGES and not stored.type.equals(target):
                fields[place] = pa.field(stored.name, target)
                columns[place] = self._image_of_now(columns[place], block, fields[place])
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    def _image_of_now(self, images: pa.Array, block: LogBlock, field: pa.Field) -> pa.Array:
        rows = batch_of([images], pa.schema([field.with_type(images.type)]), len(images))
        history, instant = self.reader.history, block.instant
        if history is not None and instant is not None:
            renamed = avro_to_arrow(history.rename_record_schema(_image_schema(block), instant))
            rows = rename_columns(rows, pa.schema([field.with_type(pa.struct(list(renamed)))]))
        return convert_to_schema(rows, pa.schema([field])).column(0)

    def _whole_blocks(self, path: str) -> list[LogBlock]:
        """Return all blocks of a change-data log; raise a CorruptTableError if it is empty or a block is corrupt."""
        blocks = list(LogReader(path, storage=self.storage))
        corrupt = next((block for block in blocks if block.type is BlockType.CORRUPT), None)
        if corrupt is not None or not blocks:
            why = "it is empty" if corrupt is None else f"at byte {corrupt.offset}: {corrupt.reason}"
            raise CorruptTableError(f"{self.storage.root}/{path}: the change-data log is damaged: {why}", path=path)
        return blocks

    def _differences(self, partition: str, stat: WriteStat, instant: Instant) -> list[_Change]:
        before = self._slice_before(partition, stat, instant)
        after = self._slice_after(partition, stat, before)
        if before is None:
            return [("i", None, image) for image in row_images(self._read(after))]
        earlier, later = self._by_key(before), self._by_key(after)
        changes: list[_Change] = [("d", row[1], None) for key, row in earlier.items() if key not in later]
        for key, (content, image) in later.items():
            if key not in earlier:
                changes.append(("i", None, image))
            elif earlier[key][0] != content:
                changes.append(("u", earlier[key][1], image))
        return changes

    def _slice_before(self, partition: str, stat: WriteStat, instant: Instant) -> FileSlice | None:
        """Return the slice of the file group of *stat* before the write; None if the group had no files.

        If the write made a base file, this is the previous base file.  If it made a log file, these are the base file
        and the log files that the commit names for it.  A log file written while a compaction of its group was pending
        names no base file, because its slice had none yet: then the group's files are listed.
        """
        file_id = stat.file_id or ""
        if not _is_log(stat):
            return self._base_at(partition, file_id, stat.prev_commit)
        names = [LogFileName.parse(name) for name in stat.log_files or ()]
        own = LogFileName.parse(_name(stat))
        logs = [LogFile(name, 0) for name in names if not name.is_cdc and name.sort_key < own.sort_key]
        base = BaseFile(BaseFileName.parse(stat.base_file), 0) if stat.base_file else None
        if base is None and (found := self._group_before(partition, own, instant)) is not None:
            return found
        if base is None and not logs:
            return None
        logs.sort(key=lambda log: log.name.sort_key)
        return FileSlice(partition, file_id, base.name.instant if base else own.instant, base, tuple(logs))

    def _group_before(self, partition: str, own: LogFileName, instant: Instant) -> FileSlice | None:
        """Return the newest slice of the older files in the group of *own*, a log file of the write *instant*."""
        older = [info for info in self._files(partition) if _is_older(info.name, own, instant)]
        slices = latest_slices(build_slices(partition, older, self.reader.visibility, as_of=instant.time))
        return slices[0] if slices else None

    def _slice_after(self, partition: str, stat: WriteStat, before: FileSlice | None) -> FileSlice:
        if not _is_log(stat):
            return self._base_slice(partition, stat)
        own = LogFile(LogFileName.parse(_name(stat)), 0)
        base, logs = (before.base_file, before.log_files) if before else (None, ())
        return FileSlice(partition, stat.file_id or "", own.name.instant, base, (*logs, own))

    def _base_slice(self, partition: str, stat: WriteStat) -> FileSlice:
        name = BaseFileName.parse(_name(stat))
        return FileSlice(partition, name.file_id, name.instant, BaseFile(name, stat.file_size_in_bytes))

    def _base_at(self, partition: str, file_id: str, instant: str | None) -> FileSlice | None:
        if instant is None or not instant.isdigit():
            return None
        for info in self._files(partition):
            if info.name.startswith(f"{file_id}_") and info.name.partition(".")[0].endswith(f"_{instant}"):
                name = BaseFileName.parse(info.name)
                return FileSlice(partition, file_id, instant, BaseFile(name, info.size))
        where = f"{self.storage.root}/{partition}"
        raise StorageError(f"{where}: the base file of {file_id} at {instant} is not there (any more)", path=where)

    def _slices_before(self, partition: str, instant: Instant) -> list[FileSlice]:
        files = self._files(partition)
        visibility = self.reader.visibility
        unreplaced = {key: by for key, by in visibility.replaced.items() if by < instant.time}
        return latest_slices(
            build_slices(
                partition, _files_before(files, instant), visibility.with_replaced(unreplaced), as_of=instant.time
            )
        )

    def _files(self, partition: str) -> list[FileInfo]:
        """Return the files of a partition, which is listed only once."""
        if partition not in self._listed:
            self._listed[partition] = [info for info in self.storage.list(partition) if not info.is_dir]
        return self._listed[partition]

    def _read(self, file_slice: FileSlice) -> pa.Table:
        return self.reader.read(self.storage, file_slice)

    def _images(self, file_slice: FileSlice | None) -> Mapping[str, str]:
        return {} if file_slice is None else {key: row[1] for key, row in self._by_key(file_slice).items()}

    def _by_key(self, file_slice: FileSlice) -> _Rows:
        """Return the rows of a slice by record key.

        The rows of the last few slices are cached, because the next write is compared with them.
        """
        files = (
            str(file_slice.base_file and file_slice.base_file.name),
            *(str(log.name) for log in file_slice.log_files),
        )
        if files not in self._compared:
            self._compared[files] = self._rows_of(file_slice)
            while len(self._compared) > _MOST_COMPARED:
                del self._compared[next(iter(self._compared))]
        return self._compared[files]

    def _rows_of(self, file_slice: FileSlice) -> _Rows:
        rows = self._read(file_slice)
        keys = self.reader.merge_rule().keys(rows).to_pylist()
        compared = row_images(rows.drop_columns([FILE_NAME]) if FILE_NAME in rows.column_names else rows)
        return dict(zip(keys, zip(compared, row_images(rows), strict=True), strict=True))


def _image_schema(block: LogBlock) -> str:
    """Return the Avro schema of the images in a change-data block; the first image defines it, others name it."""
    fields = json.loads(block.schema)["fields"]
    branches = [branch for field in fields if field["name"] in _IMAGES for branch in field["type"]]
    return json.dumps(next(branch for branch in branches if isinstance(branch, dict)))


def change_schema(columns: Sequence[str] | None) -> pa.Schema:
    """Return the schema of changes with only *columns*, in their order; None for all columns.

    Raises:
        SchemaError: there is no such column.
    """
    known = frozenset(CHANGE_SCHEMA.names)
    for name in columns or ():
        if name not in known:
            raise unknown_column_error(name, CHANGE_SCHEMA.names, prefix="changes: ")
    return CHANGE_SCHEMA if columns is None else pa.schema([CHANGE_SCHEMA.field(name) for name in columns])


def refuse_without_changes(config: TableConfig, root: str) -> None:
    """Raise an UnsupportedFeatureError if the table keeps no change data.

    Source: CDCRelation.getCDCRelation.
    """
    if not config.cdc_enabled:
        raise UnsupportedFeatureError(
            f"{root}: expected a table that keeps change data, found one without "
            "hoodie.table.cdc.enabled=true; create the table with this option, or read the "
            "rows as they are now by incremental",
            feature="change data",
        )


def _is_older(name: str, own: LogFileName, instant: Instant) -> bool:
    """Return whether the file *name* belongs to the file group of *own* and was written before it.

    In table version 6 all log files of a slice carry the same instant in their names, so log files are compared by
    version.
    """
    found = parse_data_file(name)
    if found is None or found.file_id != own.file_id or found.instant == instant.time:
        return False
    return isinstance(found, BaseFileName) or found.instant != own.instant or found.sort_key < own.sort_key


def _files_before(files: Sequence[FileInfo], instant: Instant) -> list[FileInfo]:
    names = ((info, parse_data_file(info.name)) for info in files)
    return [info for info, name in names if name is not None and name.instant != instant.time]


def _name(stat: WriteStat) -> str:
    return base_name(stat.path or "")


def _is_log(stat: WriteStat) -> bool:
    return _name(stat).startswith(".")


def _image(images: Mapping[str, str], key: str, stat: WriteStat) -> str:
    if key not in images:
        raise CorruptTableError(f"{stat.path}: a change-data log names the record {key!r}, which is not there")
    return images[key]


def _read_for(metadata: CommitMetadata) -> list[str]:
    """Return the paths, relative to the table, of the files from which the changes of a write are read."""
    found: list[str] = []
    for stat in metadata.write_stats:
        beside = (stat.base_file, stat.prev_base_file, *(stat.log_files or ()))
        found += [join_path(stat.partition_path or "", name) for name in beside if name]
        found += [path for path in (stat.path, *(stat.cdc_stats or ())) if path]
    return found
