"""Numbers at addresses, little-endian and of any alignment: what kernels read and write.

Whoever calls these has checked that the bytes are there.  Python runs the bodies below; in compiled code each is one
instruction (:mod:`hudiformat.codec.avro.compiled.native`).
"""

from __future__ import annotations

import ctypes


def load8(address: int) -> int:
    """The byte at *address*."""
    return ctypes.c_uint8.from_address(address).value


def load32(address: int) -> int:
    """The unsigned four bytes at *address*."""
    return ctypes.c_uint32.from_address(address).value


def load64(address: int) -> int:
    """The signed eight bytes at *address*."""
    return ctypes.c_int64.from_address(address).value


def store8(address: int, value: int) -> None:
    """Put the lowest byte of *value* at *address*."""
    ctypes.c_uint8.from_address(address).value = value & 0xFF


def store32(address: int, value: int) -> None:
    """Put the lowest four bytes of *value* at *address*."""
    ctypes.c_uint32.from_address(address).value = value & 0xFFFF_FFFF


def store64(address: int, value: int) -> None:
    """Put the lowest eight bytes of *value* at *address*."""
    ctypes.c_uint64.from_address(address).value = value & 0xFFFF_FFFF_FFFF_FFFF


def copy16(target: int, source: int) -> None:
    """Copy sixteen bytes."""
    ctypes.memmove(target, source, 16)


def wrap64(value: int) -> int:
    """The lowest 64 bits of *value* as a signed number, which is what compiled code has anyway."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def low_zeros(value: int) -> int:
    """The number of zero bits below the lowest set bit of *value*, which is not 0."""
    return (value & -value).bit_length() - 1
