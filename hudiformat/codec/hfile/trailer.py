"""Encode and decode the trailer: the last 4096 bytes of a file, which locate all other parts.

Layout: spec/hfile.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hudiformat.codec.hfile.block import Compression
from hudiformat.codec.protobuf import decode_delimited, decode_fields, encode_delimited, encode_field
from hudiformat.errors import CorruptBlockError, TruncatedBlockError, UnsupportedFeatureError, UnsupportedVersionError
from hudiformat.wire import Cursor

MAGIC = b'TRABLK"$'
TRAILER_SIZE = 4096
MAJOR_VERSION = 3
COMPARATOR = "org.apache.hudi.io.storage.HoodieHBaseKVComparator"

_VERSION_SIZE = 4
_OLDER_VERSIONS = (1, 2)
"""Their trailers have other sizes, so only the version in the last bytes can be read."""
_COMPARATOR, _COMPRESSION, _ENCRYPTION_KEY = 11, 12, 13
_LONGS: Mapping[int, str] = {
    1: "file_info_offset",
    2: "load_on_open_offset",
    3: "uncompressed_data_index_size",
    4: "total_uncompressed_bytes",
    5: "data_index_count",
    6: "meta_index_count",
    7: "entry_count",
    8: "data_index_levels",
    9: "first_data_block_offset",
    10: "last_data_block_offset",
}
_INTS = (5, 6, 8)


@dataclass(frozen=True, slots=True)
class HFileTrailer:
    """The fields of the trailer; offsets count from the start of the file and are -1 if there is no data block.

    Source: HFileTrailer; TrailerProto in HFile.proto.
    """

    file_info_offset: int = 0
    load_on_open_offset: int = 0
    uncompressed_data_index_size: int = 0
    total_uncompressed_bytes: int = 0
    data_index_count: int = 0
    meta_index_count: int = 0
    entry_count: int = 0
    data_index_levels: int = 0
    first_data_block_offset: int = 0
    last_data_block_offset: int = 0
    comparator: str = ""
    compression: Compression = Compression.NONE
    minor_version: int = 0


def encode_trailer(trailer: HFileTrailer) -> bytes:
    """Return the 4096 bytes of *trailer*.

    Source: HFileWriterImpl.writeTrailer, which omits the total of uncompressed bytes.
    """
    fields = [
        encode_field(number, getattr(trailer, name))
        for number, name in _LONGS.items()
        if name != "total_uncompressed_bytes" or trailer.total_uncompressed_bytes
    ]
    fields.append(encode_field(_COMPARATOR, trailer.comparator.encode()))
    fields.append(encode_field(_COMPRESSION, trailer.compression))
    head = MAGIC + encode_delimited(b"".join(fields))
    return head.ljust(TRAILER_SIZE - _VERSION_SIZE, b"\0") + _encode_version(trailer.minor_version)


def decode_trailer(data: memoryview, *, base: int) -> HFileTrailer:
    """Decode the trailer in the last bytes of a file, which begin at *base*.

    Raises:
        TruncatedBlockError: there are fewer bytes than a trailer has.
        CorruptBlockError: the bytes are no trailer, or a damaged one.
        UnsupportedVersionError: HFile version 1 or 2, or a later one than 3.
        UnsupportedFeatureError: a compression that Hudi does not support either, or encryption.

    Source: HFileReaderImpl.readTrailer, HFileTrailer.deserialize; neither checks the version.
    """
    if len(data) < TRAILER_SIZE:
        raise TruncatedBlockError(f"an HFile ends with {TRAILER_SIZE} bytes of trailer, here are {len(data)}", offset=0)
    cursor = Cursor(data, base=base)
    magic = bytes(cursor.take(len(MAGIC)))
    major = int.from_bytes(data[-3:], "big")
    if major in _OLDER_VERSIONS or (magic == MAGIC and major != MAJOR_VERSION):
        raise UnsupportedVersionError(f"HFile version {major}; Hudi's is {MAJOR_VERSION}", offset=base)
    if magic != MAGIC:
        raise CorruptBlockError(f"no HFile: expected the trailer's magic {MAGIC!r}, found {magic!r}", offset=base)
    return _decode_fields(decode_delimited(cursor, "trailer"), minor_version=data[-_VERSION_SIZE])


def _decode_fields(message: Cursor, *, minor_version: int) -> HFileTrailer:
    base = message.offset
    numbers: dict[str, int] = {}
    comparator, compression = "", int(Compression.NONE)
    for number, value in decode_fields(message):
        if isinstance(value, int) and number in _LONGS:
            numbers[_LONGS[number]] = _signed(value, 32 if number in _INTS else 64)
        elif isinstance(value, int) and number == _COMPRESSION:
            compression = value
        elif isinstance(value, bytes) and number == _COMPARATOR:
            comparator = value.decode(errors="replace")
        elif number == _ENCRYPTION_KEY and value != b"":  # HBase writes an empty key for a file without encryption
            raise UnsupportedFeatureError(
                "HFile: expected no encryption, found the key of one; write the file without it, as Hudi does",
                feature="encryption",
            )
    codec = _codec(compression, base)
    return HFileTrailer(**numbers, comparator=comparator, compression=codec, minor_version=minor_version)


def _codec(number: int, offset: int) -> Compression:
    try:
        codec = Compression(number)
    except ValueError:
        raise CorruptBlockError(f"unknown compression {number}; known are 0 to 6", offset=offset) from None
    return codec.require_supported()


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _encode_version(minor_version: int) -> bytes:
    return bytes([minor_version]) + MAJOR_VERSION.to_bytes(3, "big")
