"""Content of a Parquet data block: a whole Parquet file, with the Avro schema in its footer.

Layout: spec/log-block.md.  Source: HoodieParquetDataBlock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat.codec.avro.schema import avro_to_arrow, with_views
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.codec.custom_types import format_vector_columns, restore_vectors, store_vectors
from hudiformat.codec.log.selection import ReadRequest, find_matching_rows, select_fields
from hudiformat.codec.parquet.dates import GREGORIAN, StoredDates, open_parquet
from hudiformat.codec.parquet.rows import read_batches
from hudiformat.conditions.filters import columns_of
from hudiformat.errors import CorruptBlockError, HudiFormatError, UnsupportedFeatureError
from hudiformat.wire import check_row_count

AVRO_SCHEMA_KEY = "parquet.avro.schema"
MODEL_KEY = "writer.model.name"
VECTOR_COLUMNS_KEY = "hoodie.vector.columns"
_GZIP_LEVEL = 4
_CODECS = ("none", "gzip", "snappy", "zstd", "lz4", "brotli")
_ROWS_AT_ONCE = 1024
_EXPANSION, _FEW_BYTES = 1000, 100_000_000


def compression_level(compression: str) -> int | None:
    """Return the compression level for a codec; None for the codec's default.

    Java uses gzip's level 6 and Arrow 9; level 4 takes half the time of 6, for 1 to 6 % more bytes.
    """
    return _GZIP_LEVEL if compression == "gzip" else None


def encode_parquet(table: pa.Table, avro_schema: str, *, compression: str = "gzip") -> pa.Buffer:
    """Return the bytes of a Parquet file as Hudi's readers expect it, with the Avro schema in its footer."""
    sink = pa.BufferOutputStream()
    level = compression_level(compression)
    stored = store_vectors(table)
    with pq.ParquetWriter(
        sink, stored.schema, compression=compression, compression_level=level, store_schema=False
    ) as writer:
        writer.write_table(stored)
        texts = {AVRO_SCHEMA_KEY: avro_schema, MODEL_KEY: "avro", **GREGORIAN, **vector_columns(table.schema)}
        writer.add_key_value_metadata(texts)
    return sink.getvalue()


def vector_columns(schema: pa.Schema) -> dict[str, str]:
    """Return the text of the footer that names the vectors among the columns of *schema*, if there are any."""
    vectors = format_vector_columns(schema)
    return {VECTOR_COLUMNS_KEY: vectors} if vectors else {}


def encode(batch: pa.RecordBatch, schema: str, *, compression: str = "gzip") -> memoryview:
    """Return the content for *batch* under the Avro schema *schema* (JSON).

    Raises:
        SchemaError: the batch does not fit the schema.
        UnsupportedFeatureError: a *compression* that Parquet does not have.
    """
    codec = "none" if compression.lower() == "uncompressed" else compression.lower()
    if codec not in _CODECS:
        raise UnsupportedFeatureError(
            f"compression: expected one of {', '.join(_CODECS)}, found {compression!r}; pass one of these",
            feature=f"compression {compression}",
        )
    converted = convert_to_schema(batch, avro_to_arrow(schema))
    return memoryview(encode_parquet(pa.Table.from_batches([converted]), schema, compression=codec))


def decode(content: bytes | memoryview, written: str, wanted: ReadRequest) -> pa.RecordBatch:
    """Decode the rows and columns of *content* that are *wanted*; *written* is the Avro schema of its records.

    Raises:
        CorruptBlockError: the content is no Parquet file.
        SchemaError: the records cannot be converted to the wanted schema, or a column is missing.
    """
    schema = avro_to_arrow(written) if wanted.schema is None else wanted.schema
    given = schema if wanted.columns is None else select_fields(schema, wanted.columns)
    target = with_views(given) if wanted.views and wanted.schema is None else given
    condition = None if wanted.filter is None else wanted.condition(schema)
    if condition is None:
        return convert_to_schema(_read(content, target.names, written), target, relabel=wanted.relabel)
    shown = set(target.names)
    only_tested = [name for name in columns_of(condition, schema) if name not in shown]
    read = select_fields(schema, [*target.names, *only_tested])
    rows = convert_to_schema(_read(content, read.names, written), read, relabel=wanted.relabel)
    return convert_to_schema(rows.take(pa.array(find_matching_rows(condition, rows))), target)


def _read(content: bytes | memoryview, columns: list[str], written: str) -> pa.RecordBatch:
    with _open_file(content) as file:
        rows = read_row_count(file.metadata, len(content))
        present = set(file.schema_arrow.names)
        table = read_small_file(file, [name for name in columns if name in present], len(content)).combine_chunks()
        if not table.num_columns:  # all columns are missing, and resolve fills them with nulls
            batch = pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
        elif table.num_rows:
            (batch,) = table.to_batches()
        else:
            batch = pa.RecordBatch.from_pylist([], schema=table.schema)
        batch.validate(full=True)  # pyarrow does not check that strings are UTF-8
    return restore_vectors(batch, avro_to_arrow(written))


def record_count(content: bytes | memoryview) -> int:
    """Return how many records *content* holds, according to its footer."""
    with _open_file(content) as file:
        return read_row_count(file.metadata, len(content))


def read_row_count(metadata: pq.FileMetaData, size: int) -> int:
    """Return the number of rows in the footer of a Parquet file of *size* bytes, after checking that it is plausible.

    Raises:
        ValueError: the row groups have another number of rows, or the file is too small for so many.
    """
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    return check_row_count(metadata.num_rows, groups, size)


def _decoded_size(column: pa.Array) -> int:
    """Return the bytes of *column* without its dictionary, whose values count as often as they are used."""
    size: int = column.nbytes
    if isinstance(column, pa.DictionaryArray) and _has_length(column.type.value_type):
        size += pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    return size


def _has_length(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string))


def read_small_file(file: pq.ParquetFile, columns: list[str], size: int) -> pa.Table:
    """Read the *columns* of a small file of *size* bytes as a whole.

    Raises:
        ValueError: decoded, they take more than 1000 bytes per byte of the file, and more than 100 MB: such a file
            holds one repeated value, not rows of a table.
    """
    batches, left = [], _EXPANSION * size + _FEW_BYTES
    for batch in read_batches(file, _ROWS_AT_ONCE, columns=columns) if columns else ():
        left -= sum(map(_decoded_size, batch.columns))
        if left < 0:
            raise ValueError(f"the columns take over {_EXPANSION * size + _FEW_BYTES} bytes in a file of {size} bytes")
        batches.append(batch)
    if batches:
        return pa.Table.from_batches(batches)
    return pa.schema([field for field in StoredDates.of(file).schema if field.name in columns]).empty_table()


@contextmanager
def _open_file(content: bytes | memoryview) -> Iterator[pq.ParquetFile]:
    try:
        with open_parquet(pa.BufferReader(pa.py_buffer(content))) as file:
            yield file
    except HudiFormatError:  # of the code that reads the rows; some are a ValueError too
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises all of them for damage
        raise CorruptBlockError(f"expected a Parquet file: {error}") from error
