"""The tail of an ORC file: read the time zones of its stripes, and add texts to its footer.

A file of one stripe, from its end::

    stripe:     indexes | data | stripe footer (streams, encodings, time zone of the writer)
    metadata:   statistics of the stripes
    footer:     stripes, types, texts of the writer, number of rows
    postscript: length of the footer, compression, length of the metadata; never compressed
    1 byte:     length of the postscript

Footers are Protocol Buffers.  If the file is compressed, each is a row of chunks: three bytes, lowest first, with twice
the length, plus one if the chunk is stored as it is; then the chunk.

Source: the ORC specification, version 1; OrcFile, OrcProto.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.codec.protobuf import decode_fields, encode_field
from hudiformat.errors import CorruptBlockError, UnsupportedFeatureError
from hudiformat.wire import Cursor

_MAGIC = b"ORC"
_FOOTER_LENGTH, _COMPRESSION, _BLOCK_SIZE, _METADATA_LENGTH = 1, 2, 3, 5
_STRIPES, _TYPES, _TEXTS = 3, 4, 5
_TIME_ZONE = 3
_STATISTICS, _OF_DATES, _OF_TIMESTAMPS, _HIGHEST_UTC = 7, 7, 9, 4
_TIMESTAMP, _DATE, _TIMESTAMP_INSTANT = 9, 15, 18
_NONE, _ZLIB, _SNAPPY, _LZO, _LZ4, _ZSTD = range(6)
_GREGORIAN = -141_427
"""1582-10-15, in days from 1970."""
_CHUNK_HEADER = 3
_LARGEST_TAIL = 1 << 24
"""Bytes of a footer, uncompressed, that are plausible: a stripe takes about 20, and a column 60."""


@dataclass(frozen=True)
class _Postscript:
    """The last message of the file: the length of the footer, and how footers are compressed."""

    fields: Mapping[int, int | bytes]
    size: int
    """Its bytes, with the one that has its length."""

    @classmethod
    def of(cls, data: memoryview) -> _Postscript:
        """Read the postscript at the end of *data*."""
        if len(data) < len(_MAGIC) + 1:
            raise CorruptBlockError(f"expected an ORC file, found {len(data)} bytes")
        size = data[-1]
        if size + 1 > len(data):
            raise CorruptBlockError(f"expected a postscript of {size} bytes, found {len(data) - 1}")
        fields = dict(decode_fields(Cursor(data[len(data) - 1 - size : len(data) - 1])))
        if fields.get(8000) != _MAGIC:
            raise CorruptBlockError("expected the magic ORC at the end of the postscript, found other bytes")
        return cls(fields, size + 1)

    def number(self, field: int) -> int:
        """Return the number of a field; 0 if it is not there."""
        found = self.fields.get(field, 0)
        return found if isinstance(found, int) else 0

    def decompress(self, data: memoryview) -> bytes:
        """Return the message that is stored as *data*."""
        kind = self.number(_COMPRESSION)
        return bytes(data) if kind == _NONE else b"".join(_chunks(Cursor(data), kind, self.number(_BLOCK_SIZE)))

    def compress(self, message: bytes) -> bytes:
        """Return *message* as it is stored; chunks of a compressed file may be stored as they are."""
        if self.number(_COMPRESSION) == _NONE:
            return message
        step = self.number(_BLOCK_SIZE)
        parts = [message[start : start + step] for start in range(0, len(message), step)]
        return b"".join((len(part) << 1 | 1).to_bytes(_CHUNK_HEADER, "little") + part for part in parts)


@dataclass(frozen=True)
class OrcTail:
    """What the tail of an ORC file says of its stripes."""

    stripe_rows: tuple[int, ...]
    """The number of rows of each stripe."""
    has_timestamps: bool
    timestamp_seconds: tuple[int, ...]
    """The lowest and the highest second, from 1970, of each column with timestamps, where the footer has them."""
    has_old_dates: bool
    """Whether a date may be before 1582-10-15, where calendars differ, as the statistics in the footer do not deny."""
    _postscript: _Postscript
    _stripe_footers: tuple[tuple[int, int], ...]

    @classmethod
    def read(cls, file: pa.NativeFile, size: int) -> OrcTail:
        """Read the tail of a file of *size* bytes.

        Raises:
            DecodeError: the tail is damaged.
            UnsupportedFeatureError: it is compressed by LZO or LZ4.
        """
        postscript, footer = _read_footer(file, size)
        kinds = [_numbers(value).get(1) for value in _messages(footer, _TYPES)]
        stripes = [_numbers(value) for value in _messages(footer, _STRIPES)]
        ends = [stripe.get(1, 0) + stripe.get(2, 0) + stripe.get(3, 0) for stripe in stripes]
        footers = tuple((end, stripe.get(4, 0)) for end, stripe in zip(ends, stripes, strict=True))
        for start, length in footers:
            if start + length > size:
                raise CorruptBlockError(f"expected a stripe that ends before {size}, found one to {start + length}")
        rows = tuple(stripe.get(5, 0) for stripe in stripes)
        has_timestamps = not {_TIMESTAMP, _TIMESTAMP_INSTANT}.isdisjoint(kinds)
        return cls(
            rows, has_timestamps, tuple(_timestamp_seconds(footer)), _has_old_dates(footer, kinds), postscript, footers
        )

    def time_zone(self, file: pa.NativeFile, stripe: int) -> str:
        """Return the time zone in which a stripe of *file* has its timestamps; without one it is UTC.

        Raises:
            DecodeError: the footer of the stripe is damaged.
        """
        start, length = self._stripe_footers[stripe]
        message = self._postscript.decompress(memoryview(file.read_at(length, start)))
        zone = dict(decode_fields(Cursor(memoryview(message)))).get(_TIME_ZONE, b"")
        return zone.decode("utf-8", "replace") if isinstance(zone, bytes) and zone else "UTC"


def add_texts(tail: bytes, texts: Mapping[str, str]) -> bytes:
    """Return *tail*, the end of an ORC file from anywhere before its footer, with *texts* in the footer."""
    data = memoryview(tail)
    postscript = _Postscript.of(data)
    end = len(data) - postscript.size
    start = end - postscript.number(_FOOTER_LENGTH)
    footer = postscript.decompress(data[start:end])
    for name, text in texts.items():
        item = encode_field(1, name.encode()) + encode_field(2, text.encode())
        footer += encode_field(_TEXTS, item)
    stored = postscript.compress(footer)
    rest = {**postscript.fields, _FOOTER_LENGTH: len(stored)}
    message = b"".join(encode_field(number, value) for number, value in sorted(rest.items()))
    return bytes(data[:start]) + stored + message + bytes([len(message)])


def orc_file(table: pa.Table, texts: Mapping[str, str]) -> bytes:
    """Return an ORC file of *table*, which is small, with *texts* in its footer."""
    from pyarrow import orc  # noqa: PLC0415 - not every build of pyarrow has it

    sink = pa.BufferOutputStream()
    orc.write_table(table, sink, compression="zlib")
    return add_texts(bytes(sink.getvalue()), texts)


def _read_footer(file: pa.NativeFile, size: int) -> tuple[_Postscript, bytes]:
    guess = min(size, 1 << 14)
    tail = memoryview(file.read_at(guess, size - guess))
    postscript = _Postscript.of(tail)
    length = postscript.number(_FOOTER_LENGTH) + postscript.size
    if length > min(size, _LARGEST_TAIL):
        raise CorruptBlockError(f"expected a footer within {size} bytes, found {length} bytes")
    if length > guess:
        tail = memoryview(file.read_at(length, size - length))
    return postscript, postscript.decompress(tail[len(tail) - length : len(tail) - postscript.size])


def _messages(message: bytes, field: int) -> list[bytes]:
    found = (value for number, value in decode_fields(Cursor(memoryview(message))) if number == field)
    return [value for value in found if isinstance(value, bytes)]


def _timestamp_seconds(footer: bytes) -> Iterator[int]:
    for column in _messages(footer, _STATISTICS):
        for found in _messages(column, _OF_TIMESTAMPS):
            for field, value in _numbers(found).items():
                if field <= _HIGHEST_UTC:
                    yield _from_zigzag(value) // 1000  # milliseconds


def _has_old_dates(footer: bytes, kinds: list[int | None]) -> bool:
    """Return whether the footer has a date before the Gregorian calendar, or does not tell of a column with dates."""
    columns = _messages(footer, _STATISTICS)
    return any(
        kind == _DATE and (number >= len(columns) or _is_old(columns[number])) for number, kind in enumerate(kinds)
    )


def _is_old(column: bytes) -> bool:
    if _numbers(column).get(1) == 0:  # values that are not null
        return False
    bounds = _messages(column, _OF_DATES)
    lowest = _numbers(bounds[0]).get(1) if bounds else None
    return lowest is None or _from_zigzag(lowest) < _GREGORIAN


def _from_zigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _numbers(message: bytes) -> dict[int, int]:
    fields = decode_fields(Cursor(memoryview(message)))
    return {number: value for number, value in fields if isinstance(value, int)}


def _chunks(stored: Cursor, kind: int, block_size: int) -> Iterator[bytes]:
    """Yield the chunks of a message, decompressed."""
    total = 0
    while stored.remaining:
        head = int.from_bytes(stored.take(_CHUNK_HEADER, "head of a chunk"), "little")
        chunk = bytes(stored.take(head >> 1, "chunk"))
        found = chunk if head & 1 else _decompress(chunk, kind, block_size)
        total += len(found)
        if total > _LARGEST_TAIL:
            raise CorruptBlockError(f"expected a footer of at most {_LARGEST_TAIL} bytes, found a longer one")
        yield found


def _decompress(chunk: bytes, kind: int, block_size: int) -> bytes:
    limit = min(block_size, _LARGEST_TAIL)
    try:
        if kind == _ZLIB:
            stream = zlib.decompressobj(-zlib.MAX_WBITS)
            found = stream.decompress(chunk, limit)
            if not stream.eof:
                raise CorruptBlockError(f"expected a chunk of at most {limit} bytes, found one that does not end there")
            return found
        if kind == _ZSTD:
            with pa.input_stream(pa.BufferReader(chunk), compression="zstd") as unpacked:
                return bytes(unpacked.read(limit))
        if kind == _SNAPPY:
            return bytes(pa.Codec("snappy").decompress(chunk, _snappy_size(chunk, limit), asbytes=True))
    except (zlib.error, pa.ArrowException, OSError) as error:
        raise CorruptBlockError(f"a chunk of a footer cannot be decompressed: {error}") from error
    name = {_LZO: "LZO", _LZ4: "LZ4"}.get(kind, f"number {kind}")
    raise UnsupportedFeatureError(
        f"expected an ORC file that is not compressed, or by ZLIB, SNAPPY or ZSTD, found one of {name}; read it with "
        "Hudi",
        feature=f"ORC files with the compression {name}",
    )


def _snappy_size(chunk: bytes, limit: int) -> int:
    """Return the length that a Snappy chunk declares for itself, as a varint."""
    size = 0
    for place, byte in enumerate(chunk[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a varint
            break
    if size > limit:
        raise CorruptBlockError(f"expected a chunk of at most {limit} bytes, found one of {size}")
    return size
