"""The formats that visible files can have; each has a writer of rows, and a way to merge files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from hudiformat.sink import avro_files, parquet
from hudiformat.sink.gathering import GatheredRows
from hudiformat.sink.options import Format, SinkOptions
from hudiformat.storage import OutputFile, Storage


def rows_writer(schema: pa.Schema, options: SinkOptions) -> Callable[[OutputFile, str], GatheredRows]:
    """What begins a file of *schema*, given a label that tells the files of one task apart.

    Raises:
        SchemaError: a column that the format does not have.
    """
    if options.format is Format.PARQUET:
        return lambda file, _: parquet.ParquetRows(file, schema)
    avro = avro_files.AvroSchema.of(schema, options.avro_codec)
    return lambda file, label: avro_files.AvroRows(file, avro, label)


def merge_files(storage: Storage, sources: Sequence[str], target: str, kind: Format) -> None:
    """Write the rows of *sources*, in their order, to the new file *target*; all are of the format *kind*.

    Raises:
        SchemaError: they are not of one schema, or Avro files not of one codec.
        DecodeError: an Avro file is damaged.
    """
    merge = {Format.PARQUET: parquet.merge_files, Format.AVRO: avro_files.merge_files}[kind]
    merge(storage, sources, target)
