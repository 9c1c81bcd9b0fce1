"""Base files in memory, written by :class:`ParquetBaseFileWriter`."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.file_group.base_file.parquet_writer import ParquetBaseFileWriter
from hudiformat.file_group.base_file.row_groups import NewFile
from hudiformat.schema.meta_fields import add_meta_columns, meta_schema
from hudiformat.storage.protocol import OutputFile

SCHEMA = pa.schema([pa.field("k", pa.string(), nullable=False), pa.field("n", pa.int32()), pa.field("t", pa.string())])
AVRO = '{"type":"record","name":"r","fields":[]}'


def table(keys: list[str]) -> pa.Table:
    batch = pa.record_batch({"k": keys, "n": range(len(keys)), "t": ["x"] * len(keys)}, schema=SCHEMA)
    return pa.Table.from_batches(
        [
            add_meta_columns(
                batch,
                pa.array(keys, pa.string()),
                instant="20240229120000001",
                partition_path="",
                file_name="f",
                task_partition=0,
                counters=1,
            ).cast(meta_schema(SCHEMA))
        ]
    )


class Memory:
    """An output file that keeps what is written to it."""

    def __init__(self) -> None:
        self.data = bytearray()

    @property
    def size(self) -> int:
        return len(self.data)

    def write(self, *parts: bytes | memoryview) -> None:
        for part in parts:
            self.data += part


def encode_base_file(rows: pa.Table, avro_schema: str, *, compression: str = "gzip", **options: Any) -> pa.Buffer:
    file = Memory()
    new = NewFile(schema=rows.schema, avro_schema=avro_schema, compression=compression, **options)
    writer = ParquetBaseFileWriter(cast("OutputFile", file), new)
    writer.write(rows)
    assert writer.close() == len(file.data)
    return pa.py_buffer(bytes(file.data))


def footer(data: pa.Buffer) -> dict[str, str]:
    metadata = pq.read_metadata(pa.BufferReader(data)).metadata or {}
    return {key.decode(): value.decode() for key, value in metadata.items()}
