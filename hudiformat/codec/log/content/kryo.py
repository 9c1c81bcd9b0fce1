"""Read the Java objects in delete blocks of content versions 1 and 2, which Kryo wrote.

Version 1 is an array of HoodieKey, version 2 an array of DeleteRecord.  A class is written by name at its first use and
by number afterwards; an object that was written before is a reference to it.  Records are read one by one in Python,
because only Hudi releases before 0.13 wrote such blocks.

Source: SerializationUtils, KryoInstantiator, HoodieDeleteBlock.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hudiformat.codec.log.content.java_values import Delete, Float, Long
from hudiformat.errors import CorruptBlockError, UnsupportedFeatureError
from hudiformat.wire import Cursor

_MODEL = "org.apache.hudi.common.model"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LONGEST_VARINT = 9  # bytes, of which the last has eight bits of the number and no continuation bit
_HALF_A_DAY = 43_200_000  # milliseconds
_MAX_DECIMAL_BYTES = 32
_MAX_SCALE = 76
_END_OF_ASCII = 0x80
_TWO_BYTES, _THREE_BYTES = 0xC0, 0xE0  # the lowest first bytes of longer characters

# Class numbers: 0 is null, 1 a class by name, and the classes that Kryo registers itself count from 2.
_BY_NAME = 1
_PRIMITIVES = {
    2: "int",
    3: "string",
    4: "float",
    5: "boolean",
    6: "byte",
    7: "char",
    8: "short",
    9: "long",
    10: "double",
}
_UNSHARED = frozenset(_PRIMITIVES.values()) - {"string"}

Key = tuple[str | None, str | None]


def decode_keys(data: memoryview) -> list[Delete]:
    """Decode the deletes of content version 1, which carry no ordering values.

    Raises:
        DecodeError: the bytes are no array of HoodieKey.
    """
    return [(key, path, None) for key, path in _Reader(Cursor(data)).array(f"[L{_MODEL}.HoodieKey;")]


def decode_deletes(data: memoryview) -> list[Delete]:
    """Decode the deletes of content version 2.

    Raises:
        DecodeError: the bytes are no array of DeleteRecord.
        UnsupportedFeatureError: an ordering value has an unknown Java class.
    """
    return list(_Reader(Cursor(data)).array(f"[L{_MODEL}.DeleteRecord;"))


@dataclass(slots=True)
class _Reader:
    """Reads one object graph; ``names`` are the classes and ``objects`` the objects read so far."""

    cursor: Cursor
    names: list[str] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)

    def array(self, expected: str) -> list[Any]:
        """Read the one array of the content, of the Java class *expected*.

        Raises:
            CorruptBlockError: the content holds another class, has bytes behind the array, or an entry of it is null.
        """
        if (name := self.class_name()) != expected:
            raise CorruptBlockError(f"expected {expected}, found {name}", offset=self.cursor.offset)
        items = self.shared(_items)
        if self.cursor.remaining:
            raise CorruptBlockError(f"{self.cursor.remaining} bytes after the deletes", offset=self.cursor.offset)
        if not isinstance(items, list) or any(item is None for item in items):
            raise CorruptBlockError("expected a list of deletes, found null or a null entry", offset=self.cursor.offset)
        return items

    def value(self) -> Any:
        """Read a class and the object of that class behind it; None for null."""
        name = self.class_name()
        if name is None:
            return None
        if (read := _VALUES.get(name)) is None:
            raise UnsupportedFeatureError(
                "a delete block: expected an ordering value of a class that Hudi writes, found "
                f"the Java class {name}; compact the file group with Hudi, and read it then",
                feature=name,
            )
        return read(self) if name in _UNSHARED else self.shared(read)

    def varint(self) -> int:
        """Read a number of seven bits per byte, lowest bits first; the high bit says that another byte follows.

        ``ac 02`` is 300 = 0x2c + (2 << 7).  A ninth byte holds eight bits, and is the last.
        """
        result = 0
        for position in range(_LONGEST_VARINT - 1):
            byte = self.cursor.take(1, "varint")[0]
            result |= (byte & 0x7F) << (7 * position)
            if not byte & 0x80:
                return result
        return result | self.cursor.take(1, "varint")[0] << (7 * (_LONGEST_VARINT - 1))

    def zigzag(self) -> int:
        """Read a signed number: the varints 0, 1, 2, 3 stand for 0, -1, 1, -2."""
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def string(self) -> str | None:
        """Read a string in one of Kryo's two forms; None for null.

        ASCII of two or more characters has the high bit set in its last byte: ``61 62 e3`` is "abc".  Otherwise the
        first byte has the high bit, and in its six low bits the number of characters plus one (0 is null), which
        continues in a varint if bit 0x40 is set; Java's UTF-8 follows: ``82 61`` is "a".
        """
        first = self.cursor.take(1, "string")[0]
        if not first & _END_OF_ASCII:
            text = bytearray([first])
            while not (byte := self.cursor.take(1, "string")[0]) & _END_OF_ASCII:
                text.append(byte)
            return (text + bytes([byte & 0x7F])).decode("ascii")
        count = first & 0x3F
        if first & 0x40:
            count |= self.varint() << 6
        return None if count == 0 else self._characters(count - 1)

    def shared_string(self) -> str | None:
        """Read a string, or a reference to one that was read before; None for null."""
        text = self.shared(lambda reader: reader.string())
        if text is not None and not isinstance(text, str):
            raise CorruptBlockError(f"expected a string, found {type(text).__name__}", offset=self.cursor.offset)
        return text

    def _characters(self, count: int) -> str:
        if count > self.cursor.remaining:
            raise CorruptBlockError(
                f"a string of {count} characters, with {self.cursor.remaining} bytes left", offset=self.cursor.offset
            )
        units = []
        for _ in range(count):
            byte = self.cursor.take(1, "string")[0]
            more = (byte >= _TWO_BYTES) + (byte >= _THREE_BYTES)
            unit = byte if not more else byte & (0x1F if more == 1 else 0x0F)
            for follow in self.cursor.take(more, "string"):
                unit = unit << 6 | follow & 0x3F
            units.append(unit)
        # Java's characters are UTF-16 units: two surrogates make one character in Python.
        return struct.pack(f"<{count}H", *units).decode("utf-16-le", "replace")

    def class_name(self) -> str | None:
        """Read a class: its name at its first use, afterwards its number; None for null.

        ``01 00 <name>`` is the first class by name, ``01 00`` at a later use; ``03`` is String, which Kryo registers
        itself.
        """
        number = self.varint()
        if number == 0:
            return None
        if number != _BY_NAME:
            return _PRIMITIVES.get(number, f"number {number}")
        index = self.varint()
        if index == len(self.names):
            self.names.append(self.string() or "")
        if index >= len(self.names):
            raise CorruptBlockError(f"a reference to class {index} of {len(self.names)}", offset=self.cursor.offset)
        return self.names[index]

    def shared(self, read: Callable[[_Reader], Any]) -> Any:
        """Read an object by *read*, or a reference to one that was read before; None for null.

        The varint in front is 0 for null, 1 for a new object, and 2 + i for the object number i.  A new object gets its
        number before its parts are read, so that a part may have the next number.
        """
        reference = self.varint()
        if reference == 0:
            return None
        if reference > 1:
            if reference - 2 >= len(self.objects):
                raise CorruptBlockError(
                    f"a reference to object {reference - 2} of {len(self.objects)}", offset=self.cursor.offset
                )
            return self.objects[reference - 2]
        index = len(self.objects)
        self.objects.append(None)
        self.objects[index] = result = read(self)
        return result


def _items(reader: _Reader) -> list[Any]:
    count, cursor = reader.varint() - 1, reader.cursor
    if not 0 <= count <= cursor.remaining:
        raise CorruptBlockError(f"an array of {count} entries in {cursor.remaining} bytes", offset=cursor.offset)
    return [reader.value() for _ in range(count)]


def _key(reader: _Reader) -> Key:
    path = reader.shared_string()  # Kryo writes fields in the order of their names
    return reader.shared_string(), path


def _delete(reader: _Reader) -> Delete:
    key = reader.value()
    if not isinstance(key, tuple):
        raise CorruptBlockError("a delete without a key", offset=reader.cursor.offset)
    return (*key, reader.value())


def _decimal(reader: _Reader) -> Decimal:
    offset, size = reader.cursor.offset, reader.varint() - 1
    unscaled = Decimal(int.from_bytes(reader.cursor.take(min(size, _MAX_DECIMAL_BYTES), "decimal"), "big", signed=True))
    if size > _MAX_DECIMAL_BYTES or abs(scale := reader.zigzag()) > _MAX_SCALE:
        raise CorruptBlockError(f"a decimal of more than {_MAX_SCALE} digits", offset=offset)
    sign, digits, _ = unscaled.as_tuple()
    return Decimal((sign, digits, -scale))  # scaleb would round to 28 digits


def _timestamp(reader: _Reader) -> datetime:
    return _to_datetime(reader, _signed(reader.varint()))


def _date(reader: _Reader) -> date:
    # Midnight in the writer's time zone, which is unknown: half a day later is the same date in UTC.
    return _to_datetime(reader, _signed(reader.varint()) + _HALF_A_DAY).date()


def _to_datetime(reader: _Reader, millis: int) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        raise CorruptBlockError(
            f"a timestamp of {millis} milliseconds is out of range", offset=reader.cursor.offset
        ) from None


def _local_date(reader: _Reader) -> date:
    year, month, day = _signed(reader.varint()), reader.varint(), reader.varint()
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        raise CorruptBlockError(f"{year}-{month}-{day} is not a date", offset=reader.cursor.offset) from None


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _binary(reader: _Reader) -> bytes:
    return bytes(reader.cursor.take(reader.varint() - 1, "bytes"))


def _buffer(reader: _Reader) -> bytes:
    """Read a ByteBuffer on the heap: its fields in the order of their names."""
    reader.zigzag()  # address
    reader.cursor.take(1, "bigEndian")
    reader.zigzag()  # capacity
    data = reader.shared(_binary)
    reader.cursor.take(1, "isReadOnly")
    limit = reader.zigzag()
    reader.zigzag()  # mark
    reader.cursor.take(1, "nativeByteOrder")
    offset, position = reader.zigzag(), reader.zigzag()
    # Java 14 and later write one more field, which is null: a zero byte, with which no other value begins.
    if reader.cursor.remaining and reader.cursor.take(1)[0]:
        reader.cursor.pos -= 1
    if not isinstance(data, bytes) or not 0 <= offset + position <= offset + limit <= len(data):
        raise CorruptBlockError(
            "the position and limit of a byte buffer lie outside its bytes", offset=reader.cursor.offset
        )
    return data[offset + position : offset + limit]


def _comparables(reader: _Reader) -> list[Any]:
    if (name := reader.class_name()) != "[Ljava.lang.Comparable;":
        raise CorruptBlockError(f"expected an array of ordering values, found {name}", offset=reader.cursor.offset)
    values = reader.shared(_items)
    if not isinstance(values, list) or not values:
        raise CorruptBlockError("expected an array of ordering values, found an empty one", offset=reader.cursor.offset)
    return values


_VALUES: Mapping[str, Callable[[_Reader], Any]] = {
    f"{_MODEL}.HoodieKey": _key,
    f"{_MODEL}.DeleteRecord": _delete,
    "int": _Reader.zigzag,
    "short": lambda reader: struct.unpack(">h", reader.cursor.take(2, "short"))[0],
    "byte": lambda reader: struct.unpack(">b", reader.cursor.take(1, "byte"))[0],
    "long": lambda reader: Long(reader.zigzag()),
    "float": lambda reader: Float(struct.unpack(">f", reader.cursor.take(4, "float"))[0]),
    "double": lambda reader: struct.unpack(">d", reader.cursor.take(8, "double"))[0],
    "boolean": lambda reader: reader.cursor.take(1, "boolean")[0] == 1,
    "string": _Reader.string,
    "[B": _binary,
    "java.math.BigDecimal": _decimal,
    "java.nio.HeapByteBuffer": _buffer,
    "java.sql.Date": _date,
    "java.sql.Timestamp": _timestamp,
    "java.time.LocalDate": _local_date,
    "org.apache.hudi.common.util.collection.ArrayComparable": _comparables,
}
