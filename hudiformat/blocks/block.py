"""The value that a log block is, and what can be read out of it."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.blocks.content import avro_data, delete, hfile_data, parquet_data
from hudiformat.blocks.content.positions import Positions, decode_positions
from hudiformat.blocks.frame import TAIL_SIZE
from hudiformat.blocks.types import BlockHeader, BlockType, HeaderKey, Quirks
from hudiformat.blocks.wanted import Wanted
from hudiformat.errors import CorruptBlockError, UnsupportedFeatureError
from hudiformat.wire import offsets_from

_DECODERS = {
    BlockType.AVRO_DATA: avro_data.decode,
    BlockType.CDC_DATA: avro_data.decode,
    BlockType.HFILE_DATA: hfile_data.decode,
    BlockType.PARQUET_DATA: parquet_data.decode,
}
_COUNTERS = {
    BlockType.AVRO_DATA: avro_data.record_count,
    BlockType.CDC_DATA: avro_data.record_count,
    BlockType.HFILE_DATA: hfile_data.record_count,
    BlockType.PARQUET_DATA: parquet_data.record_count,
}


class _Fields(NamedTuple):
    type: BlockType
    header: BlockHeader
    content: bytes | memoryview
    footer: BlockHeader = BlockHeader()
    version: int = 1
    offset: int | None = None
    size: int | None = None
    reason: str | None = None
    quirks: Quirks | None = None


class LogBlock(_Fields):
    """One block of a log file.

    ``content`` of a block that was read is a view into the file: nothing of it is loaded before it is touched.
    ``offset`` and ``size`` are bytes in the file, magic and reverse pointer included, and None for a block that was
    made here.  A span that cannot be read is a block of type CORRUPT, with the ``reason``; its content is what follows
    the magic.  ``quirks`` are numbers on disk that mean others; no writer makes them.

    Blocks are equal when they say the same, wherever they stand.

    Source: HoodieLogBlock and its subclasses; spec/log-block.md.
    """

    # A tuple and not a dataclass: it is made five times as fast, and a file may have millions of blocks.
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogBlock) and self._said() == other._said()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._said())

    def _said(self) -> tuple[object, ...]:
        return (self.type, self.header, self.content, self.footer, self.version, self.reason)

    @property
    def instant(self) -> str | None:
        """The instant that wrote the block."""
        return self.header.get(HeaderKey.INSTANT_TIME)

    @property
    def content_offset(self) -> int | None:
        """The offset in bytes of the content in the file; None for a block that was made here."""
        if self.offset is None or self.size is None:
            return None
        return self.offset + self.size - len(self.content) - (0 if self.type is BlockType.CORRUPT else TAIL_SIZE)

    @property
    def schema(self) -> str:
        """The Avro schema that the records were written with, as JSON.

        Raises:
            CorruptBlockError: the header has none.
        """
        if (schema := self.header.get(HeaderKey.SCHEMA)) is None:
            raise CorruptBlockError(f"a block of type {self.type.name} without a SCHEMA header", offset=self.offset)
        return schema

    def num_records(self) -> int:
        """How many records or deletes the block declares; 0 for a command or corrupt block.

        Raises:
            DecodeError: the content is too short to say.
            UnsupportedFeatureError: deletes or an HFile with something of Java's that is not known.
        """
        if self.type is BlockType.DELETE:
            return len(self.deletes())
        if (count := _COUNTERS.get(self.type)) is None:
            return 0
        with offsets_from(self.content_offset or 0):
            return count(self.content)

    def to_arrow(
        self,
        schema: pa.Schema | None = None,
        *,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> pa.RecordBatch:
        """The records of a data block, one row each, in file order.

        *schema* is what the rows are brought to (columns by name, types promoted, missing ones null); without it they
        come as they were written.  *columns* picks some, of *schema* where there is one; the others are skipped and
        not decoded.  With *filter* only the rows for which it is true come; of the others nothing is decoded but the
        columns that it looks at.

        Raises:
            DecodeError: the content is damaged.
            SchemaError: the written schema cannot be brought to *schema*, a column is not there, or *filter* does not
                fit the columns.
            UnsupportedFeatureError: the block holds no records, or an HFile of a compression that is not supported.
        """
        if (decode := _DECODERS.get(self.type)) is None:
            raise self._unsupported()
        written = self.schema
        with offsets_from(self.content_offset or 0):
            return decode(self.content, written, Wanted(schema, columns, filter))

    def deletes(self) -> pa.RecordBatch:
        """The deletes of a delete block: ``record_key``, ``partition_path`` and ``ordering``, in file order.

        A delete without an ordering value wins over whatever came before it.  Such a value is null, or Hudi's
        placeholder, the int 0: among values of another type that is null too, among ints it stays a 0.

        Raises:
            DecodeError: the content is damaged.
            UnsupportedFeatureError: not a delete block, or an ordering value of a Java class that is not known.
        """
        if self.type is not BlockType.DELETE:
            raise self._unsupported()
        with offsets_from(self.content_offset or 0):
            return delete.decode(self.content)

    def positions(self) -> Positions | None:
        """The rows of the base file that the records or deletes are about, in ascending order; None without them.

        They hold for the base file of the instant ``base_instant_of_positions`` alone.

        Raises:
            CorruptBlockError: the header value is no roaring bitmap.
        """
        text = self.header.get(HeaderKey.RECORD_POSITIONS)
        return None if text is None else decode_positions(text)

    @property
    def base_instant_of_positions(self) -> str | None:
        """The instant of the base file that the record positions count rows of."""
        return self.header.get(HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS)

    @property
    def is_partial(self) -> bool:
        """Whether the records hold only the columns that were updated."""
        return self.header.get(HeaderKey.IS_PARTIAL, "").lower() == "true"

    @property
    def compacted_instants(self) -> tuple[str, ...]:
        """The instants whose blocks this one takes the place of, from a log compaction."""
        instants = self.header.get(HeaderKey.COMPACTED_BLOCK_TIMES)
        return tuple(instants.split(",")) if instants else ()

    @property
    def target_instant(self) -> str | None:
        """The instant that a rollback block takes back."""
        return self.header.get(HeaderKey.TARGET_INSTANT_TIME)

    @property
    def identifier(self) -> str | None:
        """What tells the block from its like after a task was run again."""
        return self.header.get(HeaderKey.BLOCK_IDENTIFIER)

    def _unsupported(self) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(
            f"a block of type {self.type.name} cannot be read in this way", feature=self.type.name
        )
