"""The frame of a log block: its codes, its header map, and where its parts lie.  Layout: spec/log-block.md.

A rollback of instant 001 by instant 002 is a block of 77 bytes:

    bytes    field
     0- 6    magic              23 48 55 44 49 23                    "#HUDI#"
     6-14    block size         00 00 00 00 00 00 00 3f              63, the bytes from here to the end of the tail
    14-18    version            00 00 00 01
    18-22    type               00 00 00 00                          COMMAND
    22-26    header count       00 00 00 03
    26-37    header entry       00 00 00 00  00 00 00 03  30 30 32   INSTANT_TIME: 3 bytes, "002"
    37-48    header entry       00 00 00 01  00 00 00 03  30 30 31   TARGET_INSTANT_TIME: 3 bytes, "001"
    48-57    header entry       00 00 00 03  00 00 00 01  30         COMMAND_BLOCK_TYPE: 1 byte, "0"
    57-65    content length     00 00 00 00 00 00 00 00              the content, from byte 65 on, is empty
    65-69    footer count       00 00 00 00
    69-77    reverse pointer    00 00 00 00 00 00 00 45              69, the bytes from the magic to here

Nothing is copied or allocated before the whole block is known to be sound, and each field before the content is checked
as soon as it is read.  So a wrong length costs an error, never time or memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from hudiformat.errors import CorruptBlockError, EncodeError, TruncatedBlockError, UnsupportedVersionError
from hudiformat.wire import INT32_MAX, int32


class BlockType(IntEnum):
    """What a log block holds, by its ordinal on disk.

    Source: HoodieLogBlock.HoodieLogBlockType.
    """

    COMMAND = 0
    DELETE = 1
    CORRUPT = 2
    AVRO_DATA = 3
    HFILE_DATA = 4
    PARQUET_DATA = 5
    CDC_DATA = 6


class HeaderKey(IntEnum):
    """The keys of a block's header, by their ordinal on disk.

    Source: HoodieLogBlock.HeaderMetadataType.
    """

    INSTANT_TIME = 0
    TARGET_INSTANT_TIME = 1
    SCHEMA = 2
    COMMAND_BLOCK_TYPE = 3
    COMPACTED_BLOCK_TIMES = 4
    RECORD_POSITIONS = 5
    BLOCK_IDENTIFIER = 6
    IS_PARTIAL = 7
    BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS = 8


class CommandType(IntEnum):
    """What a command block orders.

    Source: HoodieCommandBlock.HoodieCommandBlockTypeEnum.
    """

    ROLLBACK_BLOCK = 0


@dataclass(frozen=True, slots=True)
class Quirks:
    """Damaged numbers of a block that Java reads as sound ones; they are kept so that the block encodes as it was.

    Java casts the block size and the content length to 32 bits: ``size_wraps`` and ``content_length_wraps`` are the
    multiples of 2**32 that the cast drops.  It reads negative counts of header or footer entries as 0:
    ``header_count`` and ``footer_count`` are these negative counts.  Writers make blocks in which all four are 0.

    Source: HoodieLogFileReader.readBlock, HoodieLogBlock.getLogMetadata.
    """

    size_wraps: int = 0
    content_length_wraps: int = 0
    header_count: int = 0
    footer_count: int = 0


class BlockHeader(Mapping[HeaderKey, str]):
    """A header map that keeps the order of its entries on disk.

    Java writes headers from a hash map, so their order is arbitrary: a decoded header keeps the order in which it was
    read, and a new header has its keys in ascending order.  If a damaged header has a key twice, the later entry
    counts, as in Java, and both are kept.  Values are kept as bytes, and read as UTF-8.

    Raises:
        EncodeError: a text has no UTF-8, because it contains a lone surrogate.

    Source: HoodieLogBlock.getHeaderMetadataBytes and getHeaderMetadata; spec/log-block.md.
    """

    __slots__ = ("_encoded", "_values", "entries")

    def __init__(self, entries: Mapping[HeaderKey, str] | Iterable[tuple[HeaderKey, bytes]] = ()) -> None:
        if isinstance(entries, BlockHeader):
            pairs = entries.entries
        elif isinstance(entries, Mapping):
            pairs = tuple((key, _utf8(key, entries[key])) for key in sorted(entries))
        else:
            pairs = tuple(entries)
        self.entries: tuple[tuple[HeaderKey, bytes], ...] = pairs
        self._values = dict(pairs)
        self._encoded: bytes | None = None

    @property
    def encoded(self) -> bytes:
        """The bytes of the map: the number of entries, and each one's key, length and value."""
        if self._encoded is None:  # kept, because a writer gives many blocks the same header
            entries = (int32(key) + int32(len(value)) + value for key, value in self.entries)
            self._encoded = int32(len(self.entries)) + b"".join(entries)
        return self._encoded

    def __getitem__(self, key: HeaderKey) -> str:
        return self._values[key].decode("utf-8", "replace")

    def __iter__(self) -> Iterator[HeaderKey]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, BlockHeader):
            return self._values == other._values
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"BlockHeader({dict(self)!r})"


def _utf8(key: HeaderKey, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise EncodeError(f"header {key.name}: {error}") from None


MAGIC = b"#HUDI#"
FORMAT_VERSION = 1
LENGTH_SIZE = 8
"""Bytes of the block size after the magic, and of the reverse pointer at the end."""
TAIL_SIZE = 4 + LENGTH_SIZE
"""Bytes after the content: the footer's count and the reverse pointer."""
MAX_HEADER_ENTRIES = 64
"""More than there are keys, and so few that reading a forged file takes time in proportion to its size."""

_SMALLEST_SIZE = 4 + 4 + 4 + LENGTH_SIZE + TAIL_SIZE
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_KEYS: Mapping[int, HeaderKey] = {int(key): key for key in HeaderKey}
_TYPES: Mapping[int, BlockType] = {int(kind): kind for kind in BlockType if kind is not BlockType.CORRUPT}
Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Frame:
    """The positions of a sound block's parts in its buffer; an entry is a key and where its value begins and ends."""

    start: int
    type: BlockType
    entries: tuple[tuple[HeaderKey, int, int], ...]
    content: int
    end: int
    quirks: Quirks | None


def parse_header(data: Buffer) -> BlockHeader:
    """Parse the header of the block that begins with *data*, which may end before the block does.

    Raises:
        TruncatedBlockError: *data* ends within the header.
        CorruptBlockError: *data* is not the beginning of a block.
    """
    fields = _Fields(data, 0, 0)
    at = fields.take(len(MAGIC), "magic")
    if data[at : fields.pos] != MAGIC:
        raise CorruptBlockError(f"expected the magic {MAGIC!r}, found {bytes(data[at : fields.pos])!r}", offset=0)
    fields.take(LENGTH_SIZE + 2 * _INT32.size, "size, version and type")
    entries = _parse_entries(fields, fields.int32("header count"))
    return BlockHeader([(key, bytes(data[start:end])) for key, start, end in entries])


def parse_frame(data: Buffer, start: int = 0, *, base: int = 0) -> Frame:
    """Parse the frame of the block that begins at *start*; *base* is the offset of ``data[0]`` in the file, for errors.

    As in Java, only the lower 32 bits of sizes count, and negative counts are read as 0.

    Raises:
        TruncatedBlockError: the block runs past the end of *data*; ``needed`` is the number of bytes to retry with.
        CorruptBlockError: its parts contradict each other.
        UnsupportedVersionError: a log format version other than 1.
    """
    fields = _Fields(data, start, base)
    at = fields.take(len(MAGIC), "magic")
    if (magic := data[at : fields.pos]) != MAGIC:
        raise CorruptBlockError(f"expected the magic {MAGIC!r}, found {bytes(magic)!r}", offset=base + start)
    size, size_wraps = fields.wrapped_int("block size")
    if size < _SMALLEST_SIZE:
        raise CorruptBlockError(
            f"block size {_as_stored(size, size_wraps)}: expected at least {_SMALLEST_SIZE} bytes",
            offset=base + start + len(MAGIC),
        )
    fields.end = fields.pos + size
    if (version := fields.int32("log format version")) != FORMAT_VERSION:
        raise UnsupportedVersionError(
            f"log format version {version}; only version {FORMAT_VERSION} can be read, by Hudi too", offset=base + start
        )
    if (kind := _TYPES.get(number := fields.int32("block type"))) is None:
        raise _unknown(_TYPES, "block type", number, fields)
    header_count = fields.int32("header count")
    entries = _parse_entries(fields, header_count)
    length, length_wraps = fields.wrapped_int("content length")
    content, room = fields.pos, fields.end - fields.pos - TAIL_SIZE
    if length != room or length < 0:
        raise CorruptBlockError(
            f"content length {_as_stored(length, length_wraps)} in a block with room for {room}",
            offset=base + content - LENGTH_SIZE,
        )
    footer_count = _parse_tail(fields, length, size)
    quirks = (size_wraps, length_wraps, min(header_count, 0), footer_count)
    return Frame(start, kind, entries, content, fields.end, Quirks(*quirks) if any(quirks) else None)


def _as_stored(value: int, wraps: int) -> str:
    return f"{value + (wraps << 32)} ({value} in 32 bits)" if wraps else str(value)


class _Fields:
    """Reads a block's fields front to back, never past the end of the data, nor past ``end`` once that is known."""

    __slots__ = ("_base", "_data", "_start", "end", "pos")

    def __init__(self, data: Buffer, start: int, base: int) -> None:
        self._data = data
        self._base = base
        self._start = self.pos = start
        self.end = 0

    @property
    def offset(self) -> int:
        """The offset of the next field, as in errors."""
        return self._base + self.pos

    def take(self, count: int, what: str) -> int:
        """Move past the next *count* bytes, and return where they begin; all of them are in the data.

        Raises:
            TruncatedBlockError: they run past the end of the data; ``needed`` counts from the start of the block.
            CorruptBlockError: *count* is negative, or they run past the end of the block.
        """
        at, after = self.pos, self.pos + count
        if count < 0:
            raise CorruptBlockError(f"{what}: negative length {count}", offset=self.offset)
        if self.end and after > self.end:
            raise CorruptBlockError(
                f"{what}: {count} bytes expected, {self.end - at} left in the block", offset=self.offset
            )
        if after > len(self._data):
            if self.end:  # whichever field is being read, the message is about the block
                at, count, what = self._start + len(MAGIC) + LENGTH_SIZE, self.end - self._start, "block"
                count -= len(MAGIC) + LENGTH_SIZE
            raise TruncatedBlockError(
                f"{what}: {count} bytes expected, {len(self._data) - at} left",
                offset=self._base + at,
                needed=after - self._start,
            )
        self.pos = after
        return at

    def int32(self, what: str) -> int:
        """Read the next four bytes as a Java ``int``."""
        value: int = _INT32.unpack_from(self._data, self.take(4, what))[0]
        return value

    def int64(self, what: str) -> int:
        """Read the next eight bytes as a Java ``long``."""
        value: int = _INT64.unpack_from(self._data, self.take(8, what))[0]
        return value

    def wrapped_int(self, what: str) -> tuple[int, int]:
        """Read a ``long``, and return it as Java's cast to int gives it, and the multiple of 2**32 that the cast drops.

        For 2**32 + 40 that is (40, 1).
        """
        value = self.int64(what)
        wrapped = (value + INT32_MAX + 1) % 2**32 - INT32_MAX - 1
        return wrapped, (value - wrapped) >> 32


def _parse_entries(fields: _Fields, count: int) -> tuple[tuple[HeaderKey, int, int], ...]:
    if count > MAX_HEADER_ENTRIES:
        raise CorruptBlockError(f"header count {count}; at most {MAX_HEADER_ENTRIES} are read", offset=fields.offset)
    entries = []
    for _ in range(count):
        if (key := _KEYS.get(number := fields.int32("header key"))) is None:
            raise _unknown(_KEYS, "header key", number, fields)
        start = fields.take(fields.int32("header value length"), "header value")
        entries.append((key, start, fields.pos))
    return tuple(entries)


def _parse_tail(fields: _Fields, length: int, size: int) -> int:
    """Skip a content of *length* bytes, check the tail behind it, and return the footer's count.

    The count is 0, or a negative number, which Java reads as 0.
    """
    offset = fields.offset
    fields.take(length + TAIL_SIZE, "content")  # before reading the bytes at its end
    fields.pos -= TAIL_SIZE
    if (count := fields.int32("footer count")) > 0:
        raise CorruptBlockError(
            f"footer count {count}: expected 0, because the format has no footer keys", offset=offset + length
        )
    if (pointer := fields.int64("reverse pointer")) != size + len(MAGIC):
        raise CorruptBlockError(f"block size {size}, but reverse pointer {pointer}", offset=fields.offset - LENGTH_SIZE)
    return count


def _unknown(known: Iterable[int], what: str, number: int, fields: _Fields) -> CorruptBlockError:
    """Return the error for the int32 that was just read, which is none of the codes in *known*."""
    message = f"unknown {what} {number}; known are {', '.join(map(str, known))}"
    return CorruptBlockError(message, offset=fields.offset - _INT32.size)
