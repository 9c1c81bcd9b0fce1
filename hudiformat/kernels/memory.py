"""Read and write numbers at addresses, little-endian and of any alignment, for kernels.

The caller has checked that the bytes are there.  Python runs the bodies below; in compiled code each is one instruction
(:mod:`hudiformat.kernels.native`).
"""

from __future__ import annotations

import ctypes


def load8(address: int) -> int:
    """Return the byte at *address*."""
    return ctypes.c_uint8.from_address(address).value


def load32(address: int) -> int:
    """Return the four bytes at *address* as an unsigned number."""
    return ctypes.c_uint32.from_address(address).value


def load64(address: int) -> int:
    """Return the eight bytes at *address* as a signed number."""
    return ctypes.c_int64.from_address(address).value


def store8(address: int, value: int) -> None:
    """Store the lowest byte of *value* at *address*."""
    ctypes.c_uint8.from_address(address).value = value & 0xFF


def store32(address: int, value: int) -> None:
    """Store the lowest four bytes of *value* at *address*."""
    ctypes.c_uint32.from_address(address).value = value & 0xFFFF_FFFF


def store64(address: int, value: int) -> None:
    """Store the lowest eight bytes of *value* at *address*."""
    ctypes.c_uint64.from_address(address).value = value & 0xFFFF_FFFF_FFFF_FFFF


def copy16(target: int, source: int) -> None:
    """Copy sixteen bytes."""
    ctypes.memmove(target, source, 16)


def prefetch(address: int) -> None:
    """Let the processor load the bytes around *address* into its cache; the address need not be one of ours."""


def high_bits32(address: int) -> int:
    """Return the highest bit of each of 32 bytes; that of the first byte is the lowest bit of the result."""
    return sum((byte >> 7) << at for at, byte in enumerate(ctypes.string_at(address, 32)))


def wrap64(value: int) -> int:
    """Return the lowest 64 bits of *value* as a signed number; in compiled code every number is one already."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def low_zeros(value: int) -> int:
    """Return the number of zero bits below the lowest set bit of *value*, which is not 0."""
    return (value & -value).bit_length() - 1
