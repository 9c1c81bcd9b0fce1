"""ORC as the format of base files: how a file is opened, what its footer says, and how one is written.

Hudi maps the types of Avro to fewer types of ORC, so the Avro schema in the footer says what the numbers of a column
mean: spec/base-files.md has the table.

Source: AvroOrcUtils, HoodieAvroOrcWriter, OrcUtils, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from pyarrow import orc

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.conversion import batch_of
from hudiformat.codec.custom_types import custom_type_in
from hudiformat.codec.orc.tail import OrcTail, add_texts
from hudiformat.errors import CorruptTableError, DataError, DecodeError, UnsupportedFeatureError
from hudiformat.file_group.base_file.no_statistics import NoStatistics
from hudiformat.file_group.base_file.parquet import convert_read_errors
from hudiformat.file_group.base_file.row_groups import NEVER_FULL, NewFile, RowGroupWriter
from hudiformat.storage.protocol import OutputFile, Storage
from hudiformat.wire import check_row_count

if TYPE_CHECKING:
    from pyarrow import orc

_AVRO_SCHEMA = "orc.avro.schema"
_ROWS_PER_BYTE, _FEW_ROWS = 16, 100_000
_DISTINCT = 0.8
"""Texts are a dictionary if at most such a part of a column is of different texts: the default of ORC in Java."""
_LEAST_BATCH = 1024
_MOST_SECONDS = (1 << 63) // 1_000_000_000 - 1
"""Seconds from 1970 that are within 64 bits of nanoseconds, in which Arrow reads timestamps."""
_PER_SECOND = {"ms": 1_000, "us": 1_000_000}
_STORED: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
    (pat.is_time32, pa.int32()),
    (pat.is_time64, pa.int64()),
    (lambda kind: pat.is_fixed_size_binary(kind) and not pat.is_decimal(kind), pa.binary()),
)
_UTC = ("UTC", "GMT", "Etc/UTC", "Z", "Etc/GMT")


class OrcFormat:
    """Base files in ORC; see ``hudiformat.file_group.base_file.format.BaseFileFormat``."""

    extension = "orc"
    schema_key = _AVRO_SCHEMA
    never_full = NEVER_FULL

    @contextmanager
    def open(self, storage: Storage, path: str) -> Iterator[OrcBaseFile]:
        """Open the base file at *path* for the body, in which damage raises the same errors.

        Raises:
            CorruptTableError: the file is not an ORC file, has impossible row counts, or the body found damage in it.
            StorageError: the file cannot be read.
            UnsupportedFeatureError: its footer is compressed by LZO or LZ4.
        """
        from pyarrow import orc  # noqa: PLC0415 - not every build of pyarrow has it

        with convert_read_errors(path), storage.open_input(path) as source:
            size = source.size()
            with _convert_tail_errors(path):
                tail = OrcTail.read(source, size)
            file = orc.ORCFile(source)
            if max(map(abs, tail.timestamp_seconds), default=0) >= _MOST_SECONDS:
                raise UnsupportedFeatureError(
                    f"{path}: expected timestamps from 1677-09-22 to 2262-04-11, as Arrow reads them from ORC, found "
                    "others; read it with Hudi",
                    feature="timestamps of ORC files that are more than 292 years from 1970",
                )
            check_row_count(file.nrows, tail.stripe_rows, size, per_byte=_ROWS_PER_BYTE, few=_FEW_ROWS)
            yield OrcBaseFile(path, source, file, tail)

    def writer(self, file: OutputFile, new: NewFile) -> OrcBaseFileWriter:
        """Return a writer of *new* into *file*."""
        return OrcBaseFileWriter(file, new)

    def unwritable(self, schema: pa.Schema) -> dict[str, str]:
        """Return the columns, at any depth, with local timestamps or types of Hudi 1.2, and which they have.

        Spark cannot read what Hudi makes of local timestamps in ORC, and Hudi writes none of the others into it.

        Source: AvroOrcUtils.createOrcSchema, Hudi 1.2.0.
        """
        local = {field.name: "local timestamps" for field in schema if _has_local(field.type)}
        return {**local, **{field.name: f"a {what}" for field in schema if (what := custom_type_in(field))}}


ORC = OrcFormat()


@dataclass(frozen=True)
class OrcBaseFile(NoStatistics):
    """An open ORC file, whose row groups are its stripes; see ``hudiformat.file_group.base_file.format.StoredFile``."""

    path: str
    source: pa.NativeFile
    file: orc.ORCFile
    tail: OrcTail

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return int(self.source.size())

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the file, with the types of the Avro schema in its footer."""
        text = (self.footer or {}).get(_AVRO_SCHEMA.encode())
        named = {} if text is None else {field.name: field.type for field in avro_to_arrow(text.decode())}
        stored: pa.Schema = self.file.schema
        return pa.schema([field.with_type(_type_of(field.type, named.get(field.name))) for field in stored])

    @property
    def plain_schema(self) -> pa.Schema:
        """The columns of the file with ORC's own types, without those in which other readers may see other values.

        These are timestamps, which depend on the time zones of writer and reader, and dates where some may be before
        1582, which Java's readers take for dates of another calendar.
        """
        with_dates = not self.tail.has_old_dates
        return pa.schema([field for field in self.file.schema if _is_plain(field.type, with_dates=with_dates)])

    @cached_property
    def footer(self) -> Mapping[bytes, bytes] | None:
        """The texts of the footer."""
        found = self.file.metadata
        return None if found is None else dict(found)

    @property
    def group_rows(self) -> Sequence[int]:
        """The number of rows of each stripe."""
        return self.tail.stripe_rows

    def batches(
        self, names: Sequence[str], *, groups: Sequence[int] | None = None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns *names* of the stripes *groups*, or of all, at most *batch_rows* rows at a time."""
        schema = pa.schema([self.schema.field(name) for name in names])
        with convert_read_errors(self.path):  # the caller may read outside of the body
            for stripe in range(len(self.group_rows)) if groups is None else groups:
                rows = self._stripe(stripe, schema)
                for start in range(0, rows.num_rows, batch_rows):
                    yield rows.slice(start, batch_rows)

    def _stripe(self, stripe: int, schema: pa.Schema) -> pa.RecordBatch:
        count = self.group_rows[stripe]
        if not schema.names:
            return batch_of([], schema, count)
        found = self.file.read_stripe(stripe, columns=schema.names)
        if found.num_rows != count:
            raise ValueError(f"expected {count} rows in stripe {stripe}, found {found.num_rows}")
        with _convert_tail_errors(self.path):
            zone = self.tail.time_zone(self.source, stripe) if self.tail.has_timestamps else "UTC"
        columns = [_convert(found.column(field.name), field.type, zone, field.name) for field in schema]
        return batch_of(columns, schema, count)


class OrcBaseFileWriter(RowGroupWriter):
    """Write an ORC base file, each larger row group as a stripe; its footer has the Avro schema of the rows, too."""

    def __init__(self, file: OutputFile, new: NewFile) -> None:
        super().__init__(file, new)
        self._stored = pa.schema([field.with_type(_stored_type(field.type)) for field in new.schema])
        self._writer: orc.ORCWriter | None = None

    @property
    def column_sizes(self) -> dict[str, tuple[int, int]]:
        """Return nothing: the sizes of columns are not known."""
        return {}

    def _write_group(self, group: pa.Table, size: int, *, ahead: bool) -> None:  # noqa: ARG002 - as for Parquet
        if self._writer is None:
            self._writer = self._orc_writer(group.num_rows)
        for field in group.schema:
            for chunk in group[field.name].chunks:
                _refuse_instants(chunk, field.name)
        self._writer.write(group.cast(self._stored))

    def _finish(self, footer: Mapping[str, str]) -> int:
        if self._writer is None:
            self._writer = self._orc_writer(1)
            self._writer.write(self._stored.empty_table())
        self._sink.flush()
        with self._target.capture() as tail:
            self._writer.close()
            self._sink.flush()
        self._target.write(add_texts(bytes(tail), {**footer, _AVRO_SCHEMA: self._new.avro_schema}))
        self._sink.close()
        return self._target.tell()

    def _orc_writer(self, rows: int) -> orc.ORCWriter:
        from pyarrow import orc  # noqa: PLC0415 - not every build of pyarrow has it

        # A group of more than a compressed block, of 64 KiB, is a stripe: so the size of the file is known after it.
        return orc.ORCWriter(
            self._sink,
            compression=self._new.compression,
            stripe_size=1,
            batch_size=max(rows, _LEAST_BATCH),
            dictionary_key_size_threshold=_DISTINCT,
        )


@contextmanager
def _convert_tail_errors(path: str) -> Iterator[None]:
    """Convert what the reader of the tail raises for damage in the file at *path* to a CorruptTableError."""
    try:
        yield
    except DecodeError as error:
        raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error


def _type_of(stored: pa.DataType, kind: pa.DataType | None) -> pa.DataType:
    """Return the type of a column that ORC has as *stored*, and the Avro schema as *kind*, if it has it."""
    if pat.is_struct(stored):
        named = {field.name: field.type for field in kind} if kind is not None and pat.is_struct(kind) else {}
        return pa.struct([field.with_type(_type_of(field.type, named.get(field.name))) for field in stored])
    if pat.is_map(stored):
        item = kind.item_type if kind is not None and pat.is_map(kind) else None
        return pa.map_(stored.key_field, stored.item_field.with_type(_type_of(stored.item_type, item)))
    if pat.is_list(stored):
        item = kind.value_type if kind is not None and pat.is_list(kind) else None
        return pa.list_(stored.value_field.with_type(_type_of(stored.value_type, item)))
    if kind is not None and _stored_type(kind) == (pa.timestamp("us") if pat.is_timestamp(stored) else stored):
        return kind
    return pa.timestamp("us", "UTC") if pat.is_timestamp(stored) else stored


def _stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type by which ORC stores *kind*: dates, decimals and texts have types of their own, other times none.

    Source: AvroOrcUtils.createOrcSchema, Hudi 1.2.0.
    """
    if pat.is_struct(kind):
        return pa.struct([field.with_type(_stored_type(field.type)) for field in kind])
    if pat.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(_stored_type(kind.item_type)))
    if pat.is_list(kind):
        return pa.list_(kind.value_field.with_type(_stored_type(kind.value_type)))
    if isinstance(kind, pa.TimestampType):
        return pa.int64() if kind.tz is None else pa.timestamp("us")
    return next((stored for is_of, stored in _STORED if is_of(kind)), kind)


def _is_plain(kind: pa.DataType, *, with_dates: bool) -> bool:
    if pat.is_timestamp(kind) or (pat.is_date(kind) and not with_dates):
        return False
    return all(_is_plain(kind.field(number).type, with_dates=with_dates) for number in range(kind.num_fields))


def _has_local(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.TimestampType):
        return kind.tz is None
    return any(_has_local(kind.field(number).type) for number in range(kind.num_fields))


def _convert(array: pa.Array, kind: pa.DataType, zone: str, name: str) -> pa.Array:
    """Return an array as ORC stores it with the type *kind*; timestamps are of clocks in the time zone *zone*."""
    if array.type == kind:
        return array
    if isinstance(array.type, pa.TimestampType):
        return _instants(array, array.type, zone, name).cast(kind, safe=False)
    buffers = array.buffers()
    if isinstance(array, pa.StructArray) and isinstance(kind, pa.StructType):
        fields = [_convert(array.field(field.name), field.type, zone, f"{name}.{field.name}") for field in kind]
        return pa.StructArray.from_buffers(kind, len(array), buffers[:1], children=fields)
    if isinstance(array, pa.MapArray) and isinstance(kind, pa.MapType):
        items = _convert(array.items, kind.item_type, zone, name)
        entries = pa.StructArray.from_arrays([array.keys, items], fields=[kind.key_field, kind.item_field])
        return pa.Array.from_buffers(kind, len(array), buffers[:2], children=[entries])
    if isinstance(array, pa.ListArray) and isinstance(kind, pa.ListType):
        items = _convert(array.values, kind.value_type, zone, name)
        return pa.Array.from_buffers(kind, len(array), buffers[:2], children=[items])
    return array.cast(kind)


def _instants(array: pa.Array, kind: pa.TimestampType, zone: str, name: str) -> pa.Array:
    """Return the instants at which clocks of *zone* show the timestamps of *array*, which has the type *kind*.

    Raises:
        UnsupportedFeatureError: the clocks show one of them twice, as when summer time ends.
    """
    if kind.tz is not None:
        return array
    if zone in _UTC:
        return array.cast(pa.timestamp(kind.unit, "UTC"))
    try:
        return pc.assume_timezone(array, zone, ambiguous="raise", nonexistent="earliest")
    except pa.ArrowInvalid as error:
        raise UnsupportedFeatureError(
            f"column {name}: expected timestamps that clocks of {zone}, where the file was written, show once, found "
            "one of an hour that they repeat; read it with Hudi in a JVM with this time zone",
            feature=f"ambiguous timestamps of ORC files in {zone}",
        ) from error


def _refuse_instants(column: pa.Array, name: str) -> None:
    """Refuse timestamps, at any depth, that would not be read as they are written.

    Raises:
        DataError: a timestamp is before 1970 and not of a whole second, or more than 292 years from 1970.
    """
    kind = column.type
    if isinstance(kind, pa.TimestampType) and kind.tz is not None:
        second = _PER_SECOND[kind.unit]
        numbers = np.asarray(column.cast(pa.int64()).fill_null(0))
        if len(numbers) and not -_MOST_SECONDS < numbers.min() // second <= numbers.max() // second < _MOST_SECONDS:
            raise DataError(
                f"column {name}: expected timestamps from 1677-09-22 to 2262-04-11, as Arrow reads them from ORC, "
                "found another one; make the table with base files in Parquet",
                column=name,
            )
        if ((numbers < 0) & (numbers % second != 0)).any():
            raise DataError(
                f"column {name}: expected timestamps of whole seconds before 1970, as Spark reads them from ORC, found "
                "one with a fraction of a second; truncate it, or make the table with base files in Parquet",
                column=name,
            )
    elif isinstance(column, pa.StructArray):
        for field in column.type:
            _refuse_instants(column.field(field.name), f"{name}.{field.name}")
    elif isinstance(column, pa.MapArray):
        _refuse_instants(column.items, name)
    elif isinstance(column, pa.ListArray):
        _refuse_instants(column.values, name)
