from __future__ import annotations

import pytest

from hudiformat.codec.hfile.vlong import decode_vlong, encode_vlong
from hudiformat.wire import Cursor


def cursor(data: bytes) -> Cursor:
    return Cursor(memoryview(data), base=50)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (-112, "90"),
        (128, "8f80"),
        (255, "8fff"),
        (256, "8e0100"),
        (-113, "8770"),
        (-256, "87ff"),
        (2**63 - 1, "887fffffffffffffff"),
        (-(2**63), "807fffffffffffffff"),
    ],
)
def test_a_vlong_is_read_and_written(value: int, encoded: str) -> None:
    assert encode_vlong(value).hex() == encoded
    assert decode_vlong(cursor(bytes.fromhex(encoded))) == value
