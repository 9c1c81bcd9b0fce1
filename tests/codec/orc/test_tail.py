"""The tail of ORC files: stripes, time zones, ranges of timestamps, and texts that are added."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import orc

from hudiformat.codec.orc.tail import OrcTail, add_texts
from hudiformat.codec.protobuf import encode_field
from hudiformat.errors import CorruptBlockError, DecodeError, UnsupportedFeatureError

MAGIC = encode_field(8000, b"ORC")
WRITTEN = ("uncompressed", "zlib", "snappy", "zstd")
"""The compressions of footers that are read."""


def orc_file(table: pa.Table, *, compression: str = "zlib", stripes: int = 1) -> bytes:
    sink = pa.BufferOutputStream()
    writer = orc.ORCWriter(sink, compression=compression, stripe_size=1, batch_size=max(len(table), 1024))
    for _ in range(stripes):
        writer.write(table)
    writer.close()
    return sink.getvalue().to_pybytes()


def times(*moments: str) -> pa.Table:
    return pa.table({"t": pa.array(map(dt.datetime.fromisoformat, moments), pa.timestamp("us"))})


def read(data: bytes) -> OrcTail:
    return OrcTail.read(pa.BufferReader(data), len(data))


def tail_of(footer: bytes, *, compression: int = 0, **fields: int) -> bytes:
    """A file that has a footer and nothing else."""
    post = {1: len(footer), 2: compression, 3: 256 * 1024, **{int(name[1:]): value for name, value in fields.items()}}
    message = b"".join(encode_field(number, value) for number, value in post.items()) + MAGIC
    return footer + message + bytes([len(message)])


@pytest.mark.parametrize("compression", WRITTEN)
def test_stripes_have_their_rows_and_their_time_zone(compression: str) -> None:
    seconds = np.random.default_rng(0).integers(0, 2**31, 20_000)  # less, and the writer joins the stripes
    table = pa.table({"t": pa.array(seconds * 1_000_000, pa.timestamp("us"))})
    data = orc_file(table, compression=compression, stripes=3)
    found = read(data)
    assert found.stripe_rows == (20_000, 20_000, 20_000)
    assert found.has_timestamps
    assert [found.time_zone(pa.BufferReader(data), stripe) for stripe in range(3)] == ["GMT"] * 3


def test_a_footer_by_hand() -> None:
    """Two stripes of 3 and 2 rows; the second begins at byte 0 and has a footer of five bytes, with the zone CET."""
    zone = encode_field(3, b"CET")
    stripes = [b"".join((encode_field(4, len(zone)), encode_field(5, rows))) for rows in (3, 2)]
    types = [encode_field(1, 12), encode_field(1, 9)]
    footer = b"".join([*(encode_field(3, one) for one in stripes), *(encode_field(4, one) for one in types)])
    data = zone + tail_of(footer)
    found = read(data)
    assert (found.stripe_rows, found.has_timestamps, found.timestamp_seconds) == ((3, 2), True, ())
    assert found.time_zone(pa.BufferReader(data), 1) == "CET"


def test_a_stripe_without_a_time_zone_is_of_utc() -> None:
    data = tail_of(encode_field(3, encode_field(5, 1)))
    assert read(data).time_zone(pa.BufferReader(data), 0) == "UTC"


def test_timestamps_in_footers_have_their_range() -> None:
    found = read(orc_file(times("1969-12-31T23:59:58", "2024-07-01T12:00:00.500")))
    assert {-2, 1_719_835_200} <= set(found.timestamp_seconds)


def test_a_file_without_timestamps_says_so() -> None:
    found = read(orc_file(pa.table({"n": [1, 2]})))
    assert (found.has_timestamps, found.timestamp_seconds) == (False, ())


@pytest.mark.parametrize(
    ("days", "old"),
    [
        ([dt.date(1582, 10, 15), None, dt.date(9999, 12, 31)], False),
        ([dt.date(1582, 10, 14), dt.date(2024, 1, 1)], True),
        ([None, None], False),
        ([], False),
    ],
)
def test_dates_before_the_gregorian_calendar_are_known_by_the_footer(days: list[dt.date | None], old: bool) -> None:
    column = pa.array(days, pa.date32())
    nested = pa.StructArray.from_arrays([column], names=["day"])
    for values in (column, nested):
        assert read(orc_file(pa.table({"n": pa.array(range(len(days)), pa.int64()), "d": values}))).has_old_dates is old


def test_dates_of_which_the_footer_says_nothing_may_be_old() -> None:
    assert read(tail_of(encode_field(4, encode_field(1, 15)))).has_old_dates
    nothing = encode_field(4, encode_field(1, 15)) + encode_field(7, encode_field(1, 2))  # two values, without bounds
    assert read(tail_of(nothing)).has_old_dates


@pytest.mark.parametrize("compression", WRITTEN)
@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=3), st.integers(0, 300_000))
def test_texts_are_added_to_a_footer_of_any_length(compression: str, texts: dict[str, str], long: int) -> None:
    data = orc_file(times("2024-07-01T12:00:00"), compression=compression)
    texts["long"] = "x" * long
    added = add_texts(data, texts)
    file = orc.ORCFile(pa.BufferReader(added))
    assert {name.decode(): text.decode() for name, text in (file.metadata or {}).items()} == texts
    assert file.read() == orc.ORCFile(pa.BufferReader(data)).read()
    assert read(added).stripe_rows == (1,)


def test_texts_are_added_to_the_end_of_a_file_alone() -> None:
    data = orc_file(pa.table({"n": list(range(1000))}))
    assert data[:100] + add_texts(data[100:], {"a": "b"}) == add_texts(data, {"a": "b"})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda _: b"ORC", "expected an ORC file, found 3 bytes"),
        (lambda data: data[:-1] + b"\xff", "expected the magic ORC|expected a postscript of 255 bytes"),
        (lambda data: data[-40:-1] + b"\xf0", "expected a postscript of 240 bytes"),
        (lambda data: data[:-4] + b"ORX" + data[-1:], "expected the magic ORC"),
        (lambda _: tail_of(b"", _1=1 << 20), "expected a footer within"),
        (lambda _: tail_of(encode_field(3, encode_field(4, 1 << 20))), "expected a stripe that ends before"),
        (lambda _: tail_of(b"\x04\x00\x00ab", compression=1), "found one that does not end there"),
        (lambda _: tail_of(b"\x04\x00\x00\xff\xff", compression=1), "cannot be decompressed"),
        (lambda _: tail_of(b"\x04\x00\x00\x05a", compression=2), "cannot be decompressed"),
        (lambda _: tail_of(b"\x0a\x00\x00\xff\xff\xff\xff\x0f", compression=2), "expected a chunk of at most"),
        (lambda _: tail_of(b"\x04\x00\x00ab", compression=5), "cannot be decompressed"),
    ],
)
def test_a_damaged_tail_is_an_error(damage: Callable[[bytes], bytes], message: str) -> None:
    data = damage(orc_file(times("2024-07-01T12:00:00")))
    with pytest.raises(CorruptBlockError, match=message):
        read(data)


@pytest.mark.parametrize(("kind", "name"), [(3, "LZO"), (4, "LZ4"), (17, "number 17")])
def test_footers_of_other_compressions_are_refused_by_name(kind: int, name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"found one of {name}"):
        read(tail_of(b"\x04\x00\x00ab", compression=kind))


def test_a_footer_that_does_not_end_is_an_error() -> None:
    chunk = (1 << 23) - 1
    data = tail_of(((chunk << 1 | 1).to_bytes(3, "little") + b"\0" * chunk) * 2, compression=1)
    with pytest.raises(CorruptBlockError):
        read(data)


@given(st.data())
def test_whatever_the_bytes_a_tail_is_read_or_an_error_of_ours(data: st.DataObject) -> None:
    whole = orc_file(times("2024-07-01T12:00:00"), compression="uncompressed")
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:place] + data.draw(st.binary(min_size=1, max_size=4)) + whole[place + 1 :]
    try:
        found = read(damaged)
        for stripe in range(len(found.stripe_rows)):
            found.time_zone(pa.BufferReader(damaged), stripe)
    except (DecodeError, UnsupportedFeatureError):
        pass
