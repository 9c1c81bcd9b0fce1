"""Content of a Parquet data block: a whole Parquet file, with the Avro schema in its footer.

Layout: spec/log-block.md.  Source: HoodieParquetDataBlock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.avro import avro_to_arrow, resolve
from hudiformat.errors import CorruptBlockError, SchemaError

AVRO_SCHEMA_KEY = "parquet.avro.schema"
MODEL_KEY = "writer.model.name"


def encode_parquet(
    table: pa.Table, avro_schema: str, *, compression: str = "gzip", footer: Mapping[str, str] | None = None
) -> pa.Buffer:
    """The bytes of a Parquet file as Hudi's readers expect it; *footer* goes with the Avro schema into the footer."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression=compression, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({AVRO_SCHEMA_KEY: avro_schema, MODEL_KEY: "avro", **(footer or {})})
    return sink.getvalue()


def encode(batch: pa.RecordBatch, schema: str, *, compression: str = "gzip") -> memoryview:
    """The content for *batch* under the Avro schema *schema* (JSON).

    Raises:
        SchemaError: the batch does not fit the schema.
    """
    fitted = resolve(batch, avro_to_arrow(schema))
    return memoryview(encode_parquet(pa.Table.from_batches([fitted]), schema, compression=compression))


def decode(
    content: bytes | memoryview, written: str, *, schema: pa.Schema | None, columns: list[str] | None
) -> pa.RecordBatch:
    """The records of *content*, which were written with the Avro schema *written*; columns not asked for are skipped.

    Raises:
        CorruptBlockError: the content is no Parquet file.
        SchemaError: the records cannot be brought to *schema*, or a column is not there.
    """
    target = avro_to_arrow(written) if schema is None else schema
    if columns is not None:
        if missing := [name for name in columns if name not in target.names]:
            raise SchemaError(f"no column {missing[0]!r}; the columns are {', '.join(target.names)}", column=missing[0])
        target = pa.schema([target.field(name) for name in columns])
    with _reading(content) as file:
        present = set(file.schema_arrow.names)
        table = file.read([name for name in target.names if name in present]).combine_chunks()
        if not table.num_columns:  # rows without columns, which are all made here
            batch = pa.RecordBatch.from_struct_array(pa.array([{}] * file.metadata.num_rows, pa.struct([])))
        elif table.num_rows:
            (batch,) = table.to_batches()
        else:
            batch = pa.RecordBatch.from_pylist([], schema=table.schema)
        batch.validate(full=True)  # pyarrow reads strings that are no UTF-8
    return resolve(batch, target)


def record_count(content: bytes | memoryview) -> int:
    """How many records *content* holds, by its footer."""
    with _reading(content) as file:
        count: int = file.metadata.num_rows
    return count


@contextmanager
def _reading(content: bytes | memoryview) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(pa.BufferReader(pa.py_buffer(content))) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises all of them for damage
        raise CorruptBlockError(f"expected a Parquet file that can be read, found {error}") from error
