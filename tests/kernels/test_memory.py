"""Numbers at addresses, as Python handles them."""

from __future__ import annotations

import numpy as np

from hudiformat.kernels import memory

BYTES = np.arange(0xF0, 0x100).astype(np.uint8)


def test_numbers_are_loaded_from_odd_addresses() -> None:
    at = BYTES.ctypes.data + 1
    assert memory.load8(at) == 0xF1
    assert memory.load32(at) == 0xF4F3F2F1
    assert memory.load64(at) == int.from_bytes(BYTES[1:9].tobytes(), "little", signed=True)


def test_the_lowest_bytes_of_numbers_are_stored() -> None:
    target = np.zeros(16, np.uint8)
    memory.store64(target.ctypes.data + 1, -2)
    memory.store32(target.ctypes.data + 2, 0x1_0203_0405)
    memory.store8(target.ctypes.data, 0x107)
    assert target[:10].tolist() == [7, 0xFE, 5, 4, 3, 2, 0xFF, 0xFF, 0xFF, 0]


def test_sixteen_bytes_are_copied() -> None:
    target = np.zeros(17, np.uint8)
    memory.copy16(target.ctypes.data, BYTES.ctypes.data)
    assert target.tolist() == [*BYTES.tolist(), 0]


def test_the_highest_bit_of_each_byte_is_found() -> None:
    data = np.zeros(33, np.uint8)
    data[[0, 9, 31, 32]] = 0x80, 0xFF, 0x91, 0x80
    data[3] = 0x7F
    assert memory.high_bits32(data.ctypes.data) == 1 | 1 << 9 | 1 << 31


def test_the_lowest_bit_is_found() -> None:
    assert [memory.low_zeros(number) for number in (1, 6, 0x80, -(1 << 63))] == [0, 1, 7, 63]


def test_numbers_wrap_at_64_bits() -> None:
    assert [memory.wrap64(number) for number in (5, 1 << 63, 1 << 64, -1)] == [5, -(1 << 63), 0, -1]
