"""Encode and decode the file info: a map of short values that describe the file.  Layout: spec/hfile.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hudiformat.codec.hfile.block import Block
from hudiformat.codec.protobuf import decode_delimited, decode_fields, encode_delimited, encode_field
from hudiformat.errors import CorruptBlockError, EncodeError, UnsupportedFeatureError
from hudiformat.wire import Cursor, int32, int64


def text_bytes(text: str) -> bytes:
    """Return the UTF-8 of *text*; for a result of :func:`name_of`, the bytes that it was read from.

    Raises:
        EncodeError: *text* has no UTF-8, because it contains a lone surrogate.
    """
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise EncodeError(f"no UTF-8 for {text!r}: {error.reason}") from None


def name_of(data: bytes) -> str:
    """Return the text of *data*; bytes that are no UTF-8 become surrogates."""
    return data.decode(errors="surrogateescape")


def hash_order(names: Iterable[str]) -> list[str]:
    """Return *names* in the order in which Java's HashMap iterates over them after they were inserted in this order.

    The order on disk has no meaning; with this order the bytes equal those that Java writes.
    """
    keys = list(names)
    buckets = 16
    while len(keys) > buckets * 3 // 4:
        buckets *= 2
    return sorted(keys, key=lambda name: _spread(_string_hash(name)) % buckets)


def _string_hash(text: str) -> int:
    """Return ``String.hashCode()`` over the UTF-16 units, as an unsigned number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for start in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[start : start + 2], "big")) & 0xFFFFFFFF
    return value


def _spread(value: int) -> int:
    return value ^ (value >> 16)


PB_MAGIC = b"PBUF"
LAST_KEY = "hfile.LASTKEY"
CREATION_TIME = "hfile.CREATE_TIME_TS"
AVERAGE_KEY_LENGTH = "hfile.AVG_KEY_LEN"
AVERAGE_VALUE_LENGTH = "hfile.AVG_VALUE_LEN"
KEY_VALUE_VERSION = "KEY_VALUE_VERSION"
MAX_MEMSTORE_TIMESTAMP = "MAX_MEMSTORE_TS_KEY"
MAX_TAGS_LENGTH = "MAX_TAGS_LEN"

RESERVED = frozenset(
    (
        LAST_KEY,
        CREATION_TIME,
        AVERAGE_KEY_LENGTH,
        AVERAGE_VALUE_LENGTH,
        KEY_VALUE_VERSION,
        MAX_MEMSTORE_TIMESTAMP,
        MAX_TAGS_LENGTH,
    )
)
_WITH_MEMSTORE_TIMESTAMP = 1
_ENTRY, _FIRST, _SECOND = 1, 1, 2


def encode_file_info(
    extra: Mapping[str, bytes], *, last_key: bytes | None, lengths: tuple[int, int], creation_time: int
) -> bytes:
    """Return the content of a file info block: *extra*, and the values that every file has.

    *last_key* is None if there is no key, *lengths* are the average lengths of keys and values, *creation_time* is in
    milliseconds since 1970.

    Raises:
        EncodeError: *extra* has a name that is reserved for the writer.

    Source: HFileWriterImpl.finishFileInfo, HFileFileInfoBlock.getUncompressedBlockDataToWrite.
    """
    if taken := sorted(RESERVED.intersection(extra)):
        raise EncodeError(f"the file info {taken[0]} is the writer's own: use another name")
    entries = {
        MAX_MEMSTORE_TIMESTAMP: int64(0),
        **extra,
        LAST_KEY: b"" if last_key is None else len(last_key).to_bytes(2, "big") + last_key,
        AVERAGE_KEY_LENGTH: int32(lengths[0]),
        CREATION_TIME: int64(creation_time),
        AVERAGE_VALUE_LENGTH: int32(lengths[1]),
        KEY_VALUE_VERSION: int32(_WITH_MEMSTORE_TIMESTAMP),
    }
    pairs = (
        encode_field(_FIRST, text_bytes(name)) + encode_field(_SECOND, entries[name]) for name in hash_order(entries)
    )
    return PB_MAGIC + encode_delimited(b"".join(encode_field(_ENTRY, pair) for pair in pairs))


def decode_file_info(block: Block) -> dict[str, bytes]:
    """Return the map in a file info block, in its order; bytes of names that are no UTF-8 become surrogates.

    Raises:
        DecodeError: the block is damaged.

    Source: HFileFileInfoBlock.readFileInfo.
    """
    cursor = Cursor(block.content, base=block.base)
    if (magic := bytes(cursor.take(len(PB_MAGIC), "file info"))) != PB_MAGIC:
        raise CorruptBlockError(f"file info: expected the magic {PB_MAGIC!r}, found {magic!r}", offset=block.offset)
    info = {}
    for number, value in decode_fields(decode_delimited(cursor, "file info")):
        if number == _ENTRY and isinstance(value, bytes):
            pair = dict(decode_fields(Cursor(memoryview(value))))
            name, content = pair.get(_FIRST), pair.get(_SECOND)
            if not isinstance(name, bytes) or not isinstance(content, bytes):
                raise CorruptBlockError("file info: an entry without name or value", offset=block.offset)
            info[name_of(name)] = content
    return info


def suffix_size(info: Mapping[str, bytes]) -> int | None:
    """Return the number of bytes of the memstore timestamp behind each value; None if it is a vlong.

    It is 0 if the file info does not announce one; each entry may still have one of one byte: see
    :func:`~hudiformat.codec.hfile.chain.has_unannounced_byte`.

    Raises:
        CorruptBlockError: a value of the file info has the wrong size.
        UnsupportedFeatureError: the entries have HBase's tags.

    Source: HFileInfo.parseMaxMvccTs; Hudi assumes that there is a timestamp, and refuses one above 0.
    """
    if MAX_TAGS_LENGTH in info:
        raise UnsupportedFeatureError(
            "HFile: expected entries without tags, found tags of HBase; write the file without them", feature="tags"
        )
    if _number(info, KEY_VALUE_VERSION, 4) != _WITH_MEMSTORE_TIMESTAMP:
        return 0
    return None if _number(info, MAX_MEMSTORE_TIMESTAMP, 8) > 0 else 1


def _number(info: Mapping[str, bytes], name: str, size: int) -> int:
    value = info.get(name, bytes(size))
    if len(value) != size:
        raise CorruptBlockError(f"file info: {name} has {len(value)} bytes, not {size}")
    return int.from_bytes(value, "big", signed=True)
