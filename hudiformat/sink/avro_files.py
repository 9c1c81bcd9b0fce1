"""Write Avro files of plain rows, block by block, and merge them by copying blocks, in bounded memory."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.codec.avro.container import (
    CODEC_KEY,
    SCHEMA_KEY,
    ContainerReader,
    encode_block_head,
    encode_header,
    sync_marker,
)
from hudiformat.codec.avro.encode import encode_records
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.errors import EncodeError, SchemaError
from hudiformat.sink.gathering import BufferedRowWriter
from hudiformat.sink.options import Codec
from hudiformat.storage.protocol import OutputFile, Storage
from hudiformat.storage.streams import open_ranges
from hudiformat.wire import INT32_MAX

BLOCK = 1 << 20
"""The size of a block's rows in Arrow's memory, in bytes."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """What all files of one schema have in common: the text of the schema, and the compression of blocks.

    Records are called ``record``; types are those of spec/avro-records.md.
    """

    text: str
    codec: Codec

    @classmethod
    def of(cls, schema: pa.Schema, codec: Codec) -> AvroSchema:
        """Return the Avro schema of *schema*.

        Raises:
            SchemaError: a column of a type or name that Avro does not have.
        """
        return cls(arrow_to_avro(schema, name="record", namespace="hudiformat"), codec)

    def header(self) -> bytes:
        """Return the bytes at the beginning of each file."""
        return encode_header({SCHEMA_KEY: self.text.encode(), CODEC_KEY: self.codec.value.encode()})


class AvroRows(BufferedRowWriter):
    """Writes rows to *file* in blocks.

    *label* is different for each file of a writer.  The sync marker is made of it, so that the same rows give the same
    file.
    """

    def __init__(self, file: OutputFile, schema: AvroSchema, label: str) -> None:
        super().__init__(BLOCK)
        self._file = file
        self._schema = schema
        header = schema.header()
        self._sync = sync_marker(header, label.encode())
        file.write(header, self._sync)

    @property
    def written(self) -> int:
        """As :attr:`BufferedRowWriter.written`."""
        return self._file.size

    def close(self) -> int:
        """Write the remaining rows; return the size of the file in bytes."""
        self.flush()
        return self.written

    def _write_piece(self, table: pa.Table) -> None:
        """Write blocks of about equal numbers of rows."""
        blocks = max(self.waiting // BLOCK, 1)
        for rows in table.combine_chunks().to_batches(max_chunksize=max(-(-table.num_rows // blocks), 1)):
            self._write_block(rows)

    def _write_block(self, rows: pa.RecordBatch) -> None:
        data = _COMPRESS[self._schema.codec](encode_records(rows, self._schema.text, framed=False))
        if len(data) > INT32_MAX:
            raise EncodeError(
                f"a block of {len(data)} bytes: Avro's readers accept less than 2 GiB; write shorter rows"
            )
        self._file.write(encode_block_head(rows.num_rows, len(data)), data, self._sync)


def merge_files(storage: Storage, sources: Sequence[str], target: str) -> None:
    """Write the rows of *sources*, in their order, to the new file *target*: their blocks are copied as they are.

    Raises:
        SchemaError: the sources differ in schema or codec.  Tasks of one batch write one schema, so there is no rule to
            choose one of several.
        DecodeError: a source is damaged.
    """
    with storage.open_new(target) as file:
        first: ContainerReader | None = None
        for source in sources:
            with open_ranges(storage, source) as opened:
                found = ContainerReader(opened, source)
                if first is None:
                    first = found
                    file.write(encode_header(first.metadata), first.sync)
                _check_alike(first, found)
                for records, data in found.blocks():
                    file.write(encode_block_head(records, len(data)), data, first.sync)
        file.sync()


def _check_alike(first: ContainerReader, other: ContainerReader) -> None:
    for key in (SCHEMA_KEY, CODEC_KEY):
        if other.metadata.get(key) != first.metadata.get(key):
            raise SchemaError(
                f"{other.path}: expected the {key} of the files before, {first.metadata.get(key)!r}, "
                f"found {other.metadata.get(key)!r}: write a batch with one schema and one codec"
            )


def _deflate(data: memoryview) -> bytes:
    compress = zlib.compressobj(wbits=-zlib.MAX_WBITS)  # bare, as Avro wants it
    return compress.compress(data) + compress.flush()


def _snappy(data: memoryview) -> bytes:
    compressed = pa.compress(data, codec="snappy", asbytes=True)
    return compressed + zlib.crc32(data).to_bytes(4, "big")


_COMPRESS: dict[Codec, Callable[[memoryview], bytes | memoryview]] = {
    Codec.NULL: lambda data: data,
    Codec.DEFLATE: _deflate,
    Codec.SNAPPY: _snappy,
    Codec.BZIP2: bz2.compress,
    Codec.XZ: lzma.compress,
}
