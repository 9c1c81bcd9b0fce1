"""The trailer: its fields, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.hfile.block import Compression
from hudiformat.codec.hfile.trailer import HFileTrailer, decode_trailer, encode_trailer
from hudiformat.codec.protobuf import encode_field, encode_varint
from hudiformat.errors import CorruptBlockError, TruncatedBlockError

LONGS = st.integers(-(2**63), 2**63 - 1)


@given(
    trailer=st.builds(
        HFileTrailer,
        **dict.fromkeys(
            ("data_index_count", "meta_index_count", "data_index_levels"), st.integers(-(2**31), 2**31 - 1)
        ),
        **dict.fromkeys(("file_info_offset", "load_on_open_offset", "entry_count", "total_uncompressed_bytes"), LONGS),
        comparator=st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
        compression=st.sampled_from([Compression.NONE, Compression.GZIP]),
        minor_version=st.integers(0, 255),
    )
)
def test_a_trailer_comes_back(trailer: HFileTrailer) -> None:
    encoded = encode_trailer(trailer)
    assert len(encoded) == 4096
    assert decode_trailer(memoryview(encoded), base=0) == trailer


def message(fields: bytes) -> memoryview:
    head = b'TRABLK"$' + encode_varint(len(fields)) + fields
    return memoryview(head.ljust(4092, b"\0") + b"\0\0\0\3")


def test_fields_that_are_missing_or_unknown_or_of_another_type_are_read_over() -> None:
    assert decode_trailer(message(b""), base=0) == HFileTrailer()
    strange = encode_field(1, b"text") + encode_field(11, 5) + encode_field(12, b"text") + encode_field(99, 1)
    assert decode_trailer(message(strange), base=0) == HFileTrailer()


def test_an_unknown_compression() -> None:
    with pytest.raises(CorruptBlockError, match="unknown compression 7; known are 0 to 6"):
        decode_trailer(message(encode_field(12, 7)), base=0)


def test_a_message_longer_than_the_trailer() -> None:
    data = b'TRABLK"$' + encode_varint(5000)
    with pytest.raises(TruncatedBlockError, match="trailer: 5000 bytes expected"):
        decode_trailer(memoryview(data.ljust(4092, b"\0") + b"\0\0\0\3"), base=0)
