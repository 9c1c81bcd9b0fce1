"""Record positions: a set of 64-bit row numbers in a header value.

Base64 of a roaring bitmap in its portable form, run-optimised.  Source: LogReaderUtils.encodePositions.

The value that a log block is, and what can be read out of it.

The envelope that every log block travels in.  Layout: spec/log-block.md.

Blocks that begin alike and stand behind each other, as most of a log's do: known by where they are.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from hudiformat.avro.arrays import Longs
from hudiformat.blocks.content import avro_data, delete, hfile_data, parquet_data
from hudiformat.blocks.frame import (
    FORMAT_VERSION,
    LENGTH_SIZE,
    MAGIC,
    TAIL_SIZE,
    BlockHeader,
    BlockType,
    Frame,
    HeaderKey,
    Quirks,
    parse_frame,
)
from hudiformat.blocks.wanted import Wanted
from hudiformat.errors import CorruptBlockError, EncodeError, UnsupportedFeatureError
from hudiformat.wire import INT32_MAX, int32, offsets_from

Positions = npt.NDArray[np.uint64]


def encode_positions(positions: Iterable[int]) -> str:
    """The header value for *positions*, which are row numbers in the base file; the same set gives the same text."""
    bitmap = BitMap64(positions)
    bitmap.run_optimize()
    return base64.b64encode(bitmap.serialize()).decode("ascii")


def decode_positions(text: str) -> Positions:
    """The positions that a header value holds, in ascending order.

    Raises:
        CorruptBlockError: it is no bitmap.
    """
    try:
        data = base64.b64decode(text, validate=True)
        if not data:
            raise ValueError("no bytes")  # noqa: TRY301 - pyroaring looks at the first
        bitmap = BitMap64.deserialize(data)
    except (ValueError, binascii.Error) as error:
        raise CorruptBlockError(f"record positions that are no roaring bitmap: {error}") from error
    return np.fromiter(bitmap, np.uint64, len(bitmap))


_FINDERS = {
    BlockType.AVRO_DATA: avro_data.find,
    BlockType.CDC_DATA: avro_data.find,
    BlockType.HFILE_DATA: hfile_data.find,
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
        find, is_parquet = _FINDERS.get(self.type), self.type is BlockType.PARQUET_DATA
        if find is None and not is_parquet:
            raise self._unsupported()
        written, wanted = self.schema, Wanted(schema, columns, filter)
        with offsets_from(self.content_offset or 0):
            if find is None:
                return parquet_data.decode(self.content, written, wanted)
            return avro_data.decode(find(self.content, written), wanted)

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


_HEAD = struct.Struct(">6sqii")
_INT64 = struct.Struct(">q")
_TAIL = struct.Struct(">iq")
_LEAST_SIZE = 4 + 4 + LENGTH_SIZE + TAIL_SIZE
"""Bytes that the block's size counts besides the header and the content."""
_PLAIN = Quirks()


def encode_block(block: LogBlock) -> bytes:
    """The bytes of *block*; for a block that was read, the bytes it was read from.

    Raises:
        EncodeError: no reader of the format could read the block back, for it would be of 2 GiB or more (HUDI-2665),
            of a log format version other than 1, or have a footer.

    Source: HoodieLogFormatWriter.appendBlocks; spec/log-block.md.
    """
    return b"".join(encode_block_parts(block))


def encode_block_parts(block: LogBlock) -> tuple[bytes | memoryview, ...]:
    """The bytes of *block* as (head, content, tail), so that a writer can gather them without a copy.

    Raises:
        EncodeError: as in :func:`encode_block`.
    """
    if block.type is BlockType.CORRUPT:
        # A corrupt span has no envelope to rebuild: what stood there stands there again, a magic in front or not.
        starts_with_magic = block.size is None or block.size > len(block.content)
        return (MAGIC if starts_with_magic else b"", block.content, b"")
    if block.version != FORMAT_VERSION or block.footer.entries:
        raise EncodeError(
            f"a block of log format version {block.version} with {len(block.footer)} footer entries cannot be read by "
            f"anybody: expected version {FORMAT_VERSION} and no footer"
        )
    quirks = block.quirks or _PLAIN
    header, content = block.header.encoded, len(block.content)
    if quirks.header_count:
        header = int32(quirks.header_count)
    # Two lengths that look alike: the first leaves out the magic and itself, the last counts the magic and the first
    # but not itself.  They differ by 6.
    length = _LEAST_SIZE + len(header) + content
    # Java reads a size just below the limit, of a block up to 14 bytes beyond it: one that was read is given back.
    if (total := len(MAGIC) + LENGTH_SIZE + length) > INT32_MAX and block.size != total:
        raise EncodeError(
            f"a block of {total} bytes cannot be read by anybody: Hudi keeps block lengths in 32 bits (HUDI-2665); "
            "write smaller blocks (hoodie.logfile.data.block.max.size)"
        )
    head = _HEAD.pack(MAGIC, length + (quirks.size_wraps << 32), block.version, block.type)
    size = _INT64.pack(content + (quirks.content_length_wraps << 32))
    return (head + header + size, block.content, _TAIL.pack(quirks.footer_count, len(MAGIC) + length))


def decode_block(data: bytes | memoryview, start: int = 0, *, base: int = 0) -> tuple[LogBlock, int]:
    """The block that begins at *start*, and the offset just after it; its content is a view, not a copy.

    What follows the block is not looked at.  *base* is the file offset of ``data[0]``, for ``block.offset`` and for
    the offsets in errors.

    Raises:
        TruncatedBlockError: the block runs past the end of *data*.
        CorruptBlockError: its parts contradict each other.
        UnsupportedVersionError: a log format version other than 1.

    Source: HoodieLogFileReader.readBlock, with the content length checked, which Java does not do.
    """
    view = memoryview(data)
    frame = parse_frame(view, start, base=base)
    return block_in_frame(view, frame, base=base), frame.end


def block_in_frame(view: memoryview, frame: Frame, *, base: int = 0) -> LogBlock:
    """The block that *frame* found in *view*; the values of the header are copied, the content is a view."""
    entries = [(key, bytes(view[start:end])) for key, start, end in frame.entries]
    return LogBlock(
        frame.type,
        BlockHeader(entries),
        view[frame.content : frame.end - TAIL_SIZE],
        offset=base + frame.start,
        size=frame.end - frame.start,
        quirks=frame.quirks,
    )


_NO_MORE = (None, None)  # neither reason nor quirks
_make = partial(tuple.__new__, LogBlock)  # in two thirds of the time of a call of the class


@dataclass(frozen=True, slots=True)
class BlockRun:
    """Sound blocks in *data* of the type and header of *model*, and without quirks like it.

    ``places`` are the offsets of their first bytes and of the end of the last one; ``before`` is how many bytes of each
    stand before its content.
    """

    data: memoryview
    model: LogBlock
    places: Longs
    before: int

    @property
    def type(self) -> BlockType:
        """That of all of them."""
        return self.model.type

    @property
    def header(self) -> BlockHeader:
        """That of all of them."""
        return self.model.header

    @property
    def schema(self) -> str:
        """That of :attr:`LogBlock.schema`."""
        return self.model.schema

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return int(self.places[-1] - self.places[0])

    @property
    def largest(self) -> int:
        """Bytes of the longest content."""
        starts, ends = self.contents()
        return int((ends - starts).max())

    def contents(self) -> tuple[Longs, Longs]:
        """Where the contents begin and end."""
        return self.places[:-1] + self.before, self.places[1:] - TAIL_SIZE

    def blocks(self) -> list[LogBlock]:
        """The blocks themselves."""
        kind, header, _, footer, version, *_ = self.model
        data, before = self.data, self.before
        return [
            _make((kind, header, data[at + before : end - TAIL_SIZE], footer, version, at, end - at, *_NO_MORE))
            for at, end in pairwise(self.places.tolist())
        ]
