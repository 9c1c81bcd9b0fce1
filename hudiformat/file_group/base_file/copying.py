"""Make a base file of whole other ones: row groups are copied byte for byte, and only the record keys are decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.custom_types import stored_schema
from hudiformat.codec.log.content.parquet_data import AVRO_SCHEMA_KEY, MODEL_KEY, vector_columns
from hudiformat.codec.parquet.constants import CODECS
from hudiformat.codec.parquet.copying import RowGroupCopier
from hudiformat.codec.parquet.dates import GREGORIAN
from hudiformat.codec.parquet.rows import read_batches
from hudiformat.codec.parquet.source import (
    ChunkField,
    ColumnField,
    ParquetSource,
    chunks,
    number_field,
    struct_field,
)
from hudiformat.codec.statistics import ColumnStatistics, StatisticsCollector
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.assembled_groups import empty_file
from hudiformat.file_group.base_file.bloom import BLOOM_FILTER
from hudiformat.file_group.base_file.file_indexes import FileKeys, footer_of, key_range_of
from hudiformat.file_group.base_file.footers import read_footer
from hudiformat.file_group.base_file.parquet import PARQUET
from hudiformat.file_group.base_file.read import BATCH_ROWS
from hudiformat.schema.meta_fields import FILE_NAME, RECORD_KEY
from hudiformat.storage.protocol import OutputFile, Storage

_NO_CODEC = "uncompressed"
"""As pyarrow calls it in a footer."""
LEAST_GROUP = 4 << 20
"""Row groups are worth copying if they have at least this many bytes on average, before compression: copies of small
row groups would stay small."""


class CopiedBaseFile:
    """Write the base file *name* into *file* by copying base files for which :func:`can_be_copied` is true.

    *columns* are the columns whose statistics are collected, of rows with *schema*, meta fields included.  The record
    keys of the file are in memory.

    Source: HoodieBinaryCopyHandle, HoodieFileBinaryCopier, Hudi 1.2.0.
    """

    def __init__(self, file: OutputFile, name: str, *, schema: pa.Schema, columns: Sequence[str] = ()) -> None:
        self._copier = RowGroupCopier(file)
        self._name = name
        self._schema = schema
        self._wanted = columns
        self._keys: list[pa.Array] = []
        self.columns: dict[str, ColumnStatistics] = {}
        """Statistics of *columns*, from the footers; if those cannot be trusted, from the decoded values."""
        self.bloom_filter: str | None = None
        """The bloom filter of the closed file, as its footer has it; None if it has none."""

    @property
    def rows(self) -> int:
        """The number of rows that were copied so far."""
        return self._copier.rows

    @property
    def keys(self) -> pa.ChunkedArray:
        """The record keys of the rows that were copied so far."""
        return pa.chunked_array(self._keys, pa.string())

    def add(self, storage: Storage, path: str) -> None:
        """Copy all row groups of the base file at *path*.

        Raises:
            CorruptTableError, DecodeError: the file is damaged.
            StorageError: the file cannot be read.
        """
        footer = read_footer(storage, path, self._schema, self._wanted)
        decoded = StatisticsCollector(footer.unknown, self._schema)
        names = list(dict.fromkeys([RECORD_KEY, *_top_level_names(footer.unknown, self._schema)]))
        with PARQUET.open(storage, path) as base:
            opened, file = base.source, base.file
            for batch in read_batches(file, BATCH_ROWS, columns=names):
                self._keys.append(batch[RECORD_KEY])
                decoded.add(batch)
            self._copier.append(ParquetSource.open(opened, path), constants={FILE_NAME: self._name})
        for name, found in {**footer.columns, **decoded.finish()}.items():
            size, uncompressed = footer.sizes.get(name, (0, 0))
            sized = replace(found, size=size, uncompressed=uncompressed)
            if name == FILE_NAME:
                sized = replace(sized, lower=self._name, upper=self._name)
            self.columns[name] = self.columns[name] + sized if name in self.columns else sized

    def close(self, avro_schema: str, *, bloom_filter: bool) -> int:
        """Write the footer, with *avro_schema*, the key range and the bloom filter; return the file's size in bytes."""
        keys = self.keys.combine_chunks()
        texts = footer_of(FileKeys.of_keys(keys) if bloom_filter else FileKeys(key_range_of(keys), None))
        self.bloom_filter = texts.get(BLOOM_FILTER)
        texts |= {AVRO_SCHEMA_KEY: avro_schema, MODEL_KEY: "avro", **GREGORIAN}
        texts |= vector_columns(avro_to_arrow(avro_schema))
        return self._copier.close({key.encode(): text.encode() for key, text in texts.items()})


def can_be_copied(
    storage: Storage, paths: Sequence[str], schema: pa.Schema, *, compression: str, least_group: int = LEAST_GROUP
) -> bool:
    """Return whether the base files at *paths* can be copied into one, and have row groups large enough for it.

    All of them must have exactly the columns of *schema*, and be compressed by *compression*.  Row groups are large
    enough if they have at least *least_group* bytes on average.

    Raises:
        CorruptTableError, DecodeError: a file is damaged.
        StorageError: a file cannot be read.
    """
    first: ParquetSource | None = None
    for path in paths:
        with PARQUET.open(storage, path) as base:
            opened, file = base.source, base.file
            if base.dates.columns:  # to decode them makes dates of the Gregorian calendar of them
                return False
            if not (_is_alike(file, schema, compression) and has_large_groups(file.metadata, least_group)):
                return False
            try:
                source = ParquetSource.open(opened, path)
            except UnsupportedFeatureError:
                return False
            if first is not None and first.difference(source) is not None:
                return False
            first = first or source
    return True


def can_be_mixed(source: ParquetSource, schema: pa.Schema, *, compression: str) -> bool:
    """Return whether row groups of *source* can be in a file with *schema* that is written now, beside its own ones.

    They have the same columns and codec, but for columns that are stored without one.
    """
    if source.difference(empty_file(stored_schema(schema))) is not None:
        return False
    columns = [struct_field(chunk, ChunkField.METADATA) for chunk in chunks(source.groups)]
    codecs = {number_field(column, ColumnField.CODEC) for column in columns}
    return CODECS[compression] in codecs and codecs <= {CODECS[compression], CODECS["none"]}


def has_large_groups(metadata: pq.FileMetaData, least_group: int) -> bool:
    """Return whether row groups have at least *least_group* bytes on average, before compression."""
    sizes = [int(metadata.row_group(number).total_byte_size) for number in range(metadata.num_row_groups)]
    return sum(sizes) >= least_group * len(sizes)


def _is_alike(file: pq.ParquetFile, schema: pa.Schema, compression: str) -> bool:
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    codecs = {group.column(column).compression.lower() for group in groups for column in range(group.num_columns)}
    codec = _NO_CODEC if compression == "none" else compression.lower()
    has_columns: bool = file.schema_arrow.equals(stored_schema(schema))
    return has_columns and (not codecs or (codec in codecs and codecs <= {codec, _NO_CODEC}))


def _top_level_names(names: Sequence[str], schema: pa.Schema) -> list[str]:
    """Return the columns of *schema* to which the fields *names* belong: ``a`` for ``a.b``, unless it is a column."""
    roots = set(schema.names)
    return [name if name in roots else name.partition(".")[0] for name in names]
