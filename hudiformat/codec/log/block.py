"""A log block as a value: its bytes, its records, and the record positions in its header.  Layout: spec/log-block.md.

A decoded block encodes to the same bytes.  The content of a block that was read is a view into the file.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from hudiformat.codec.avro.arrays import Longs
from hudiformat.codec.log.content import avro_data, delete, hfile_data, parquet_data
from hudiformat.codec.log.frame import (
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
from hudiformat.codec.log.selection import ReadRequest
from hudiformat.conditions.filters import Filter
from hudiformat.errors import CorruptBlockError, EncodeError, UnsupportedFeatureError
from hudiformat.wire import INT32_MAX, int32, shift_error_offsets

Positions = npt.NDArray[np.uint64]


_FINDERS = {
    BlockType.AVRO_DATA: avro_data.locate_records,
    BlockType.CDC_DATA: avro_data.locate_records,
    BlockType.HFILE_DATA: hfile_data.locate_records,
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
    fault: str | None = None


class LogBlock(_Fields):
    """One block of a log file.

    ``content`` of a block that was read is a view into the file, which loads its bytes when they are used.  ``offset``
    and ``size`` are bytes in the file, including magic and reverse pointer; they are None for a new block.  A span that
    cannot be read is a block of type CORRUPT, with the ``reason``, which is the ``fault`` and the offset of the bytes
    that are wrong; its content is what follows the magic.  ``quirks`` are damaged numbers on disk that Java reads as
    sound ones; no writer makes them.

    Blocks are equal if all but ``offset``, ``size``, ``quirks`` and ``fault`` are equal.

    Source: HoodieLogBlock and its subclasses; spec/log-block.md.
    """

    # A tuple is made five times as fast as a dataclass, and a file may have millions of blocks.
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogBlock) and self._identity() == other._identity()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._identity())

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return what a pickle holds: the bytes of the content, not the file that they are mapped from."""
        return (*self[:2], bytes(self.content), *self[3:])

    def _identity(self) -> tuple[object, ...]:
        return (self.type, self.header, self.content, self.footer, self.version, self.reason)

    @property
    def instant(self) -> str | None:
        """The instant of the write that made the block."""
        return self.header.get(HeaderKey.INSTANT_TIME)

    @property
    def content_offset(self) -> int | None:
        """The offset of the content in the file, in bytes; None for a new block."""
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
        """Return how many records or deletes the block declares; 0 for a command or corrupt block.

        Raises:
            DecodeError: the content is too short, or its count is impossible.
            UnsupportedFeatureError: the deletes or the HFile hold a Java class or a compression that is not supported.
        """
        if self.type is BlockType.DELETE:
            return len(self.deletes())
        if (count := _COUNTERS.get(self.type)) is None:
            return 0
        with shift_error_offsets(self.content_offset or 0):
            return count(self.content)

    def to_arrow(
        self,
        schema: pa.Schema | None = None,
        *,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
        views: bool = False,
    ) -> pa.RecordBatch:
        """Return the records of a data block, one row each, in file order.

        With *schema*, rows are converted to it: columns are matched by name, types are promoted, and missing columns
        are null.  Without it, they have the schema that they were written with.  *columns* selects columns of that
        schema; the other columns are not decoded.  *filter*, an expression of pyarrow, text or tuples, selects the rows
        for which it is true; in the other rows only the columns that the filter uses are decoded.

        With *views*, columns of strings and bytes have the types ``string_view`` and ``binary_view``: texts of an Avro
        block are not copied, and the columns keep the content alive, and with it the map of the file.  The types of
        *schema* take precedence, and texts in nested columns are copied.

        Raises:
            DecodeError: the content is damaged.
            SchemaError: the records cannot be converted to *schema*, a column is missing, or *filter* does not fit the
                columns.
            UnsupportedFeatureError: the block holds no records, or an HFile with a compression that is not supported.
        """
        names = [columns] if isinstance(columns, str) else columns
        return self.read(ReadRequest(schema, names, filter, views))

    def read(self, wanted: ReadRequest) -> pa.RecordBatch:
        """Return the *wanted* records of a data block, one row each, in file order.

        Raises:
            DecodeError, SchemaError, UnsupportedFeatureError: as :meth:`to_arrow`.
        """
        find, is_parquet = _FINDERS.get(self.type), self.type is BlockType.PARQUET_DATA
        if find is None and not is_parquet:
            raise self._unsupported("to_arrow", (*_FINDERS, BlockType.PARQUET_DATA))
        written = self.schema
        with shift_error_offsets(self.content_offset or 0):
            if find is None:
                return parquet_data.decode(self.content, written, wanted)
            return avro_data.decode(find(self.content, written), wanted)

    def deletes(self) -> pa.RecordBatch:
        """Return the deletes of a delete block: ``record_key``, ``partition_path`` and ``ordering``, in file order.

        A delete without an ordering value wins over every earlier record.  Its ``ordering`` is null or Hudi's
        placeholder, the int 0.  That placeholder becomes null if the other ordering values have another type; among
        ints it stays 0.

        Raises:
            DecodeError: the content is damaged.
            UnsupportedFeatureError: the block is no delete block, or an ordering value has an unknown Java class.
        """
        if self.type is not BlockType.DELETE:
            raise self._unsupported("deletes", (BlockType.DELETE,))
        with shift_error_offsets(self.content_offset or 0):
            return delete.decode(self.content)

    def positions(self) -> Positions | None:
        """Return the row numbers in the base file of the records or deletes, ascending; None if the block has none.

        They refer to the base file of the instant ``base_instant_of_positions`` and to no other.

        Raises:
            CorruptBlockError: the header value is no roaring bitmap, or has more positions than there can be records.
        """
        text = self.header.get(HeaderKey.RECORD_POSITIONS)
        most = _POSITIONS_PER_BYTE * len(self.content) + _FEW_POSITIONS
        return None if text is None else decode_positions(text, most=most)

    def without_positions(self) -> LogBlock:
        """Return the same block without record positions: readers match its records by their keys."""
        kept = (entry for entry in self.header.entries if entry[0] is not HeaderKey.RECORD_POSITIONS)
        return self._replace(header=BlockHeader(kept))

    @property
    def base_instant_of_positions(self) -> str | None:
        """The instant of the base file that the record positions refer to."""
        return self.header.get(HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS)

    @property
    def is_partial(self) -> bool:
        """Whether the records hold only the columns that were updated."""
        return self.header.get(HeaderKey.IS_PARTIAL, "").lower() == "true"

    @property
    def compacted_instants(self) -> tuple[str, ...]:
        """The instants whose blocks this block replaces, after a log compaction."""
        instants = self.header.get(HeaderKey.COMPACTED_BLOCK_TIMES)
        return tuple(instants.split(",")) if instants else ()

    @property
    def target_instant(self) -> str | None:
        """The instant that a rollback block reverts."""
        return self.header.get(HeaderKey.TARGET_INSTANT_TIME)

    @property
    def identifier(self) -> str | None:
        """The identifier that is equal in a block and its duplicate from a task that was run twice."""
        return self.header.get(HeaderKey.BLOCK_IDENTIFIER)

    def _unsupported(self, method: str, readable: Iterable[BlockType]) -> UnsupportedFeatureError:
        types = ", ".join(kind.name for kind in readable)
        other = "call deletes()" if self.type is BlockType.DELETE else "read its header and its content"
        return UnsupportedFeatureError(
            f"{method}(): expected a block of type {types}, found {self.type.name}; {other}",
            feature=self.type.name,
        )


_TAIL = struct.Struct(">iq")
_LEAST_SIZE = 4 + 4 + LENGTH_SIZE + TAIL_SIZE
"""What the block size counts besides the header and the content: version, type, content length and tail."""


def encode_block(block: LogBlock) -> bytes:
    """Return the bytes of *block*; for a block that was read, the bytes it was read from.

    Raises:
        EncodeError: no reader could read the block: it has 2 GiB or more (HUDI-2665), a log format version other than
            1, or a footer.

    Source: HoodieLogFormatWriter.appendBlocks; spec/log-block.md.
    """
    return b"".join(encode_block_parts(block))


def encode_block_parts(block: LogBlock) -> tuple[bytes | memoryview, ...]:
    """Return the bytes of *block* as (head, content, tail), which a writer can write in one call without joining them.

    Raises:
        EncodeError: as in :func:`encode_block`.
    """
    kind, header, content, footer, version, _, size, _, quirks, _ = block
    if kind is BlockType.CORRUPT:
        # A corrupt span has no envelope: the same bytes are written again, with the magic if there was one.
        return (MAGIC if size is None or size > len(content) else b"", content, b"")
    if version != FORMAT_VERSION or footer.entries:
        raise EncodeError(
            f"cannot encode a block of log format version {version} with {len(footer)} footer entries: no reader "
            f"accepts it, expected version {FORMAT_VERSION} and no footer"
        )
    encoded, count = header.encoded, len(content)
    # The block size counts neither the magic nor itself.  The reverse pointer counts the magic and the block size, but
    # not itself.  So they differ by 6.
    length = _LEAST_SIZE + len(encoded) + count
    # Java reads a block up to 14 bytes above the limit, because its size field is below: a block that was read is kept.
    if (total := len(MAGIC) + LENGTH_SIZE + length) > INT32_MAX and size != total:
        raise EncodeError(
            f"cannot encode a block of {total} bytes: no reader accepts it, because block lengths have 32 bits in Hudi "
            "(HUDI-2665); write smaller blocks (hoodie.logfile.data.block.max.size)"
        )
    if quirks is not None:
        return _with_quirks(quirks, kind, encoded, content)
    head = _head(len(encoded)).pack(MAGIC, length, version, kind, encoded, count)
    return (head, content, _TAIL.pack(0, len(MAGIC) + length))


def _with_quirks(
    quirks: Quirks, kind: BlockType, header: bytes, content: bytes | memoryview
) -> tuple[bytes, bytes | memoryview, bytes]:
    if quirks.header_count:
        header = int32(quirks.header_count)
    length = _LEAST_SIZE + len(header) + len(content)
    wrapped, size = length + (quirks.size_wraps << 32), len(content) + (quirks.content_length_wraps << 32)
    head = _head(len(header)).pack(MAGIC, wrapped, FORMAT_VERSION, kind, header, size)
    return (head, content, _TAIL.pack(quirks.footer_count, len(MAGIC) + length))


@lru_cache
def _head(header: int) -> struct.Struct:
    """Return the layout of the bytes before the content: magic, block size, version, type, header and content length.

    The header has *header* bytes.
    """
    return struct.Struct(f">6sqii{header}sq")


def decode_block(data: bytes | memoryview, start: int = 0, *, base: int = 0) -> tuple[LogBlock, int]:
    """Decode the block that begins at *start*, and return it and the offset just after it; its content is a view.

    The bytes behind the block are not checked.  *base* is the file offset of ``data[0]``, for ``block.offset`` and for
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
    """Return the block in *view* whose parts *frame* locates; the header values are copied, the content is a view."""
    entries = [(key, bytes(view[start:end])) for key, start, end in frame.entries]
    return LogBlock(
        frame.type,
        BlockHeader(entries),
        view[frame.content : frame.end - TAIL_SIZE],
        offset=base + frame.start,
        size=frame.end - frame.start,
        quirks=frame.quirks,
    )


_OF_SOUND_BLOCKS = (None, None, None)  # reason, quirks, fault
_make_block = partial(tuple.__new__, LogBlock)  # takes two thirds of the time of LogBlock(...)


@dataclass(frozen=True, slots=True)
class BlockRun:
    """Sound blocks that follow each other in *data*, all with the type and header of *model* and without quirks.

    ``offsets`` are the offsets of the first byte of each block, and the end of the last block; ``head_size`` is the
    number of bytes of each block before its content.  Three blocks of 100, 120 and 100 bytes at the start of a file,
    with 60 bytes before their contents and 12 behind:

        offsets      [0, 100, 220, 320]
        contents()   ([60, 160, 280], [88, 208, 308])
    """

    data: memoryview
    model: LogBlock
    offsets: Longs
    head_size: int

    @property
    def type(self) -> BlockType:
        """The type of all blocks."""
        return self.model.type

    @property
    def header(self) -> BlockHeader:
        """The header of all blocks."""
        return self.model.header

    @property
    def schema(self) -> str:
        """The schema of all blocks, as :attr:`LogBlock.schema`."""
        return self.model.schema

    @property
    def size(self) -> int:
        """The bytes of all blocks together."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def largest(self) -> int:
        """The bytes of the longest content."""
        starts, ends = self.contents()
        return int((ends - starts).max())

    def contents(self) -> tuple[Longs, Longs]:
        """Return the offsets at which the contents begin, and those at which they end."""
        return self.offsets[:-1] + self.head_size, self.offsets[1:] - TAIL_SIZE

    def blocks(self) -> list[LogBlock]:
        """Return the blocks one by one."""
        kind, header, _, footer, version, *_ = self.model
        data, head_size, rest = self.data, self.head_size, _OF_SOUND_BLOCKS
        return [
            _make_block((kind, header, data[at + head_size : end - TAIL_SIZE], footer, version, at, end - at, *rest))
            for at, end in pairwise(self.offsets.tolist())
        ]


_POSITIONS_PER_BYTE, _FEW_POSITIONS = 4, 1024
"""A content has fewer records than this: even compressed, a record with a distinct key takes more space."""


def encode_positions(positions: Iterable[int]) -> str:
    """Return the header value for *positions*, row numbers in the base file; the same set gives the same text.

    It is the Base64 of a roaring bitmap in its portable form, run-optimised.

    Source: LogReaderUtils.encodePositions.
    """
    bitmap = BitMap64(positions)
    bitmap.run_optimize()
    return base64.b64encode(bitmap.serialize()).decode("ascii")


def decode_positions(text: str, *, most: int | None = None) -> Positions:
    """Decode the positions of a header value, in ascending order.

    *most* limits their number, because a bitmap of a few bytes may have any number of positions.

    Raises:
        CorruptBlockError: the text is no Base64 of a roaring bitmap, or of a larger one.
    """
    try:
        data = base64.b64decode(text, validate=True)
        if not data:
            raise ValueError("no bytes")  # noqa: TRY301 - pyroaring reads the first byte unchecked
        bitmap = BitMap64.deserialize(data)
        if most is not None and len(bitmap) > most:
            raise ValueError(f"{len(bitmap)} positions, in a block of {most} bytes")  # noqa: TRY301 - it becomes an error of ours below
    except (ValueError, binascii.Error) as error:
        raise CorruptBlockError(f"record positions that are no roaring bitmap: {error}") from error
    return np.array(bitmap.to_array(), np.uint64)
