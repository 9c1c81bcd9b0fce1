"""The codes of a log block and its header map.  Layout: spec/log-block.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from hudiformat.errors import EncodeError
from hudiformat.wire import int32


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
    """Numbers of a block that Java reads as others than they are; they are kept to give the same bytes again.

    The block size and the content length have too many multiples of 2**32, for Java casts them to 32 bits; the counts
    of the header and the footer are negative where it finds no entries.  All are 0 in what a writer made.

    Source: HoodieLogFileReader.readBlock, HoodieLogBlock.getLogMetadata.
    """

    size_wraps: int = 0
    content_length_wraps: int = 0
    header_count: int = 0
    footer_count: int = 0


class BlockHeader(Mapping[HeaderKey, str]):
    """A header map that remembers how it stood on disk.

    Java writes headers from a hash map, so the order of entries is arbitrary: a decoded header keeps the order it was
    read in, and a block that is made here gets its keys in ascending order.  Where a damaged header names a key twice
    the later entry counts, as in Java, and both are kept.  Values are kept as bytes, and read as UTF-8.

    Raises:
        EncodeError: a text that has no UTF-8, for a lone surrogate is in it.

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
        if self._encoded is None:  # kept, for a writer gives many blocks one header
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
