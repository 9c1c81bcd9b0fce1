from __future__ import annotations

import contextlib
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hudiformat import BlockHeader, BlockType, CorruptBlockError, HudiFormatError, LogBlock, UnsupportedFeatureError
from hudiformat.wire import int32

MODEL = b"org.apache.hudi.common.model."


DELETES = b"\x01\x00[L" + MODEL + b"DeleteRecord\xbb"  # a class by name, and a new name: the last byte has the high bit


DELETE = b"\x01\x01" + MODEL + b"DeleteRecor\xe4"


KEY = b"\x01\x02" + MODEL + b"HoodieKe\xf9"


AGAIN = b"\x01\x01\x01\x01\x02\x01"  # a second record: its class and its key's by their numbers


DECIMAL = b"\x01\x03java.math.BigDecima\xec\x01"


SEVERAL = b"\x01\x03org.apache.hudi.common.util.collection.ArrayComparabl\xe5"


COMPARABLES = b"\x01\x04[Ljava.lang.Comparable\xbb"


BUFFER = b"\x01\x03java.nio.HeapByteBuffe\xf2\x01 \x01\x04\x01\x03\x00\xff\x00\x04\x01\0\0\0\0"


P1, P2, K1, K2 = b"\x01p\xb1", b"\x01p\xb2", b"\x01k\xb1", b"\x01k\xb2"  # a new object, then ASCII


def block(version: int, payload: bytes) -> LogBlock:
    return LogBlock(BlockType.DELETE, BlockHeader(), int32(version) + int32(len(payload)) + payload)


def records(*fields: bytes) -> bytes:
    """An array of DeleteRecord; each of *fields* is partition path, key and ordering value."""
    first, *more = fields
    return (
        DELETES
        + bytes([1, len(fields) + 1])
        + DELETE
        + b"\x01"
        + KEY
        + b"\x01"
        + first
        + b"".join(AGAIN + f for f in more)
    )


VALUES = {
    "ints": ((P1 + K1 + b"\x02\x0e", P1 + K2 + b"\x02\x05"), [7, -3], "int32"),
    "none, which is the int 0": ((P1 + K1 + b"\x02\x00", P2 + b"\x01\x83k\xc3\xbc" + b"\x02\x00"), [0, 0], "int32"),
    "an int and a long": ((P1 + K1 + b"\x02\x0e", P2 + K2 + bytes.fromhex("09808080808040")), [7, 2**40], "int64"),
    "none and a long": ((P1 + K1 + b"\x02\x00", P2 + K2 + bytes.fromhex("09808080808040")), [None, 2**40], "int64"),
    "strings": (
        (P1 + K1 + b"\x03\x01seve\xee", P1 + b"\x01k1\xe2" + b"\x03\x01seve\xee"),
        ["seven", "seven"],
        "string",
    ),
    "a string that came before": ((P1 + K1 + b"\x03\x01seve\xee", b"\x05" + K2 + b"\x03\x07"), ["seven"] * 2, "string"),
    "a double": ((P1 + K1 + bytes.fromhex("0a3ff8000000000000"),), [1.5], "double"),
    "a float": ((P1 + K1 + bytes.fromhex("043fc00000"),), [1.5], "float"),
    "a short": ((P1 + K1 + b"\x08\xff\xfe",), [-2], "int32"),
    "a byte": ((P1 + K1 + b"\x06\xff",), [-1], "int32"),
    "a boolean": ((P1 + K1 + b"\x05\x01",), [True], "bool"),
    "bytes": ((P1 + K1 + b"\x01\x03[\xc2" + b"\x01\x03ab",), [b"ab"], "binary"),
    "a decimal": (
        (P1 + K1 + b"\x01\x03java.math.BigDecima\xec" + b"\x01\x03\x30\x39\x06",),
        [Decimal("12.345")],
        "decimal128(5, 3)",
    ),
    "a decimal of 38 digits": (
        (P1 + K1 + DECIMAL + b"\x11" + (10**38 - 1).to_bytes(16, "big") + b"\x04",),
        [Decimal("9" * 36 + ".99")],
        "decimal128(38, 2)",
    ),
    "the least long": ((P1 + K1 + b"\x09" + b"\xff" * 9,), [-(2**63)], "int64"),
    "a date before 1970": (
        (P1 + K1 + b"\x01\x03java.sql.Dat\xe5" + bytes.fromhex("0180c8e6d6ffffffffff"),),
        [date(1969, 12, 31)],
        "date32[day]",
    ),
    "a date of SQL": (
        (P1 + K1 + b"\x01\x03java.sql.Dat\xe5" + bytes.fromhex("0180d0a491df31"),),
        [date(2024, 2, 29)],
        "date32[day]",
    ),
    "a local date": (
        (P1 + K1 + b"\x01\x03java.time.LocalDat\xe5\x01\xe8\x0f\x02\x1d",),
        [date(2024, 2, 29)],
        "date32[day]",
    ),
    "a timestamp": (
        (P1 + K1 + b"\x01\x03java.sql.Timestam\xf0" + bytes.fromhex("01c0f18793df31"),),
        [datetime(2024, 2, 29, 1, 2, 3, 456000, tzinfo=timezone.utc)],
        "timestamp[us, tz=UTC]",
    ),
    "nothing": ((P1 + K1 + b"\x00",), [None], "int32"),
    "the lowest long": ((P1 + K1 + b"\x09" + b"\xff" * 9,), [-(2**63)], "int64"),
    "a decimal of 30 digits": (
        (P1 + K1 + b"\x01\x03java.math.BigDecima\xec\x01\x0e" + (10**30 - 1).to_bytes(13, "big") + b"\x1e",),
        [Decimal("999999999999999.999999999999999")],
        "decimal128(30, 15)",
    ),
    "a date of SQL from the zone of Shanghai": (
        (P1 + K1 + b"\x01\x03java.sql.Dat\xe5" + bytes.fromhex("01809cd982df31"),),
        [date(2024, 2, 29)],
        "date32[day]",
    ),
    "a moment before 1970": (
        (P1 + K1 + b"\x01\x03java.sql.Timestam\xf0\x01" + b"\xff" * 9,),
        [datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=timezone.utc)],
        "timestamp[us, tz=UTC]",
    ),
    "a byte buffer": ((P1 + K1 + BUFFER,), [b"\0\xff"], "binary"),
    "byte buffers of Java 13": (
        (P1 + K1 + BUFFER[:-1], P1 + K2 + b"\x01\x03\x01 \x01\x02\x01\x02\x61\x00\x02\x01\0\0\0"),
        [b"\0\xff", b"a"],
        "binary",
    ),
    "several ordering values": (
        (
            P1 + K1 + SEVERAL + b"\x01" + COMPARABLES + b"\x01\x03\x09\x0e\x03\x01\x82a",
            P1 + K2 + b"\x01\x03\x01\x01\x04\x01\x03\x09\x00\x03\x01\x82b",
        ),
        [{"field0": 7, "field1": "a"}, {"field0": 0, "field1": "b"}],
        "struct<field0: int64, field1: string>",
    ),
    "several ordering values and none": (
        (P1 + K1 + SEVERAL + b"\x01" + COMPARABLES + b"\x01\x03\x02\x00\x02\x04", P1 + K2 + b"\x02\x00"),
        [{"field0": 0, "field1": 2}, None],
        "struct<field0: int32, field1: int32>",
    ),
}


@pytest.mark.parametrize("what", VALUES)
def test_version_2_holds_keys_and_ordering_values(what: str) -> None:
    fields, expected, kind = VALUES[what]
    deletes = block(2, records(*fields)).deletes()
    assert deletes["ordering"].to_pylist() == expected
    assert str(deletes["ordering"].type) == kind
    assert deletes["record_key"][0].as_py() == "k1"
    assert deletes["partition_path"][0].as_py() == "p1"
    assert block(2, records(*fields)).num_records() == len(fields)


def test_version_1_holds_keys_alone() -> None:
    payload = b"\x01\x00[L" + MODEL + b"HoodieKey\xbb" + b"\x01\x03" + b"\x01\x01" + MODEL + b"HoodieKe\xf9"
    deletes = block(1, payload + b"\x01" + P1 + K1 + b"\x01\x01\x01" + P2 + K2).deletes()
    assert deletes.to_pylist() == [
        {"record_key": "k1", "partition_path": "p1", "ordering": None},
        {"record_key": "k2", "partition_path": "p2", "ordering": None},
    ]


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("", b"\x81"),
        ("a", b"\x82a"),
        (None, b"\x80"),
        ("ü", b"\x82\xc3\xbc"),
        ("✓", b"\x82\xe2\x9c\x93"),
        ("😀", b"\x83\xed\xa0\xbd\xed\xb8\x80"),  # two UTF-16 units, each on its own
        ("x" * 100, b"\xe5\x01" + b"x" * 100),
    ],
)
def test_strings_of_all_kinds(text: str | None, encoded: bytes) -> None:
    (key,) = block(2, records(P1 + b"\x01" + encoded + b"\x00")).deletes()["record_key"].to_pylist()
    assert key == text


BROKEN = {
    "another array": (
        DELETES.replace(b"DeleteRecord", b"HoodieKeyyyy") + b"\x01\x01",
        "expected .*DeleteRecord;, found",
    ),
    "no array": (b"\x00", "expected .*, found None"),
    "null in place of the array": (DELETES + b"\x00", "found null or a null entry"),
    "null in place of a record": (DELETES + b"\x01\x02\x00", "found null or a null entry"),
    "a record without a key": (DELETES + b"\x01\x02" + DELETE + b"\x01\x00", "a delete without a key"),
    "more records than there can be": (DELETES + b"\x01\xff\x7f", "an array of 16382 entries in 0 bytes"),
    "a class that was not named": (DELETES + b"\x01\x02\x01\x05", "class 5 of 1"),
    "an object that did not come before": (records(b"\x63" + K1 + b"\x00"), "object 97 of 3"),
    "a partition path that is no text": (
        records(P1 + K1 + b"\x00", b"\x04" + K2 + b"\x00"),
        "expected a string, found tuple",
    ),
    "a string longer than the bytes": (records(P1 + b"\x01\xbfx"), "a string of 62 characters"),
    "a decimal of many bytes": (records(P1 + K1 + DECIMAL + b"\x22" + b"\x01" * 33 + b"\x00"), "more than 76 digits"),
    "a decimal of many places": (records(P1 + K1 + DECIMAL + b"\x02\x01\xff\xff\xff\xff\x0f"), "more than 76 digits"),
    "a varint of nine bytes": (DELETES + b"\x01" + b"\xff" * 11, "an array of 18446744073709551614 entries in 2 bytes"),
    "several ordering values that are something else": (
        records(P1 + K1 + SEVERAL + b"\x01" + b"\x03"),
        "expected an array of ordering values, found string",
    ),
    "no values among several": (records(P1 + K1 + SEVERAL + b"\x01" + COMPARABLES + b"\x01\x01"), "found an empty one"),
    "several ordering values and one": (
        records(P1 + K1 + SEVERAL + b"\x01" + COMPARABLES + b"\x01\x02\x02\x0e", P1 + K2 + b"\x02\x0e"),
        "different numbers of ordering fields",
    ),
    "a buffer beyond its bytes": (
        records(P1 + K1 + BUFFER.replace(b"\x04\x01\0\0\0\0", b"\x06\x01\0\0\0\0")),
        "lie outside its bytes",
    ),
    "bytes left over": (records(P1 + K1 + b"\x00") + b"!", "1 bytes after the deletes"),
    "values that do not go together": (
        records(P1 + K1 + b"\x02\x0e", P1 + K2 + b"\x03\x01seve\xee"),
        "do not fit into one column",
    ),
    "a date that is none": (records(P1 + K1 + b"\x01\x03java.time.LocalDat\xe5\x01\xe8\x0f\x0d\x1d"), "is not a date"),
    "a moment out of reach": (
        records(P1 + K1 + b"\x01\x03java.sql.Timestam\xf0\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
        "milliseconds is out of range",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_named(what: str) -> None:
    payload, message = BROKEN[what]
    with pytest.raises(CorruptBlockError, match=message):
        block(2, payload).deletes()


def test_a_java_class_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"java\.util\.UUID") as error:
        block(2, records(P1 + K1 + b"\x01\x03java.util.UUI\xc4\x01")).deletes()
    assert error.value.feature == "java.util.UUID"


@given(payload=st.binary(max_size=80), data=st.data())
@example(payload=b"", data=None)
def test_damage_raises_only_our_errors(payload: bytes, data: Any) -> None:
    for version in (1, 2):
        with contextlib.suppress(HudiFormatError):
            block(version, payload).deletes()
    if data is None:
        return
    fields = data.draw(st.sampled_from([VALUES[what][0] for what in VALUES]))
    sound = bytearray(records(*fields))
    for _ in range(data.draw(st.integers(1, 3))):
        sound[data.draw(st.integers(0, len(sound) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(HudiFormatError):
        block(2, bytes(sound)).deletes()
