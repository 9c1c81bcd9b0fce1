"""The file info of an HFile."""

from __future__ import annotations

import pytest

from hudiformat.codec.hfile.file_info import PB_MAGIC
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.protobuf import encode_delimited, encode_field
from hudiformat.errors import (
    CorruptBlockError,
    UnsupportedFeatureError,
)
from tests.codec.hfile.files import put_together


def test_tags_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match="tags"):
        HFileReader(put_together([], [], info=info((b"MAX_TAGS_LEN", b"\0\0\0\1"))))


@pytest.mark.parametrize("name", [b"KEY_VALUE_VERSION", b"MAX_MEMSTORE_TS_KEY"])
def test_a_number_of_another_size(name: bytes) -> None:
    with pytest.raises(CorruptBlockError, match=f"{name.decode()} has 3 bytes"):
        HFileReader(put_together([], [], info=info((b"KEY_VALUE_VERSION", b"\0\0\0\1"), (name, b"\0\0\1"))))


def test_a_name_without_utf8_is_kept() -> None:
    reader = HFileReader(put_together([], [], info=info((b"\xff", b"v"))))
    assert dict(reader.file_info) == {"\udcff": b"v"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PBUG\0", "expected the magic b'PBUF'"),
        (b"PB", "4 bytes expected, 2 left"),
        (PB_MAGIC + b"\x05\x0a", "5 bytes expected, 1 left"),
        (PB_MAGIC + encode_delimited(encode_field(1, encode_field(1, b"name"))), "without name or value"),
        (PB_MAGIC + encode_delimited(encode_field(1, encode_field(2, b"value"))), "without name or value"),
    ],
)
def test_a_damaged_file_info(content: bytes, message: str) -> None:
    with pytest.raises(CorruptBlockError, match=message):
        HFileReader(put_together([], [], info=content))


def test_fields_of_the_file_info_that_are_unknown_are_read_over() -> None:
    content = PB_MAGIC + encode_delimited(encode_field(2, b"x") + encode_field(1, 7))
    assert dict(HFileReader(put_together([], [], info=content)).file_info) == {}


def info(*entries: tuple[bytes, bytes]) -> bytes:
    pairs = (encode_field(1, encode_field(1, name) + encode_field(2, value)) for name, value in entries)
    return PB_MAGIC + encode_delimited(b"".join(pairs))
