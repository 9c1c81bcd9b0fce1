"""The formats of visible files; each has a writer of rows and a function that merges files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import pyarrow as pa

from hudiformat.codec.avro.arrays import map_leaf_types
from hudiformat.sink import avro_files, parquet
from hudiformat.sink.gathering import BufferedRowWriter
from hudiformat.sink.options import Format, SinkOptions
from hudiformat.storage.protocol import OutputFile, Storage

_PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def rows_writer(schema: pa.Schema, options: SinkOptions) -> Callable[[OutputFile, str], BufferedRowWriter]:
    """Return a function that starts a file of *schema*; it takes the file and a label that is unique in the task.

    Raises:
        SchemaError: the format does not support the type of a column.
    """
    if options.format is Format.PARQUET:
        parquet.check_types(schema)
        return lambda file, _: parquet.ParquetRows(file, schema)
    avro = avro_files.AvroSchema.of(schema, options.avro_codec)
    return lambda file, label: avro_files.AvroRows(file, avro, label)


def without_views(kind: pa.DataType) -> pa.DataType:
    """Return *kind* with plain texts and bytes for views: Arrow neither picks rows of views nor slices nested ones."""
    return map_leaf_types(kind, lambda leaf: _PLAIN.get(leaf, leaf))


def file_kind(schema: pa.Schema, options: SinkOptions) -> str:
    """Return a text that two files have in common if they can be merged: 16 hex digits for format, codec and schema."""
    codec = options.avro_codec.value if options.format is Format.AVRO else ""
    described = f"{options.format.value} {codec} ".encode() + schema.serialize().to_pybytes()
    return hashlib.sha256(described).hexdigest()[:16]


def merge_files(storage: Storage, sources: Sequence[str], target: str, kind: Format) -> None:
    """Write the rows of *sources*, in their order, to the new file *target*; all files have the format *kind*.

    Memory is bounded.  Blocks of Avro files and large row groups of Parquet files are copied as they are, small row
    groups are put together.  Policies of users can call this, for files that no reader sees.

    Raises:
        SchemaError: the files have different schemas, or Avro files have different codecs.
        DecodeError: a file is damaged.
        DataError: there are no files.
    """
    merge = {Format.PARQUET: parquet.merge_files, Format.AVRO: avro_files.merge_files}[kind]
    merge(storage, sources, target)
