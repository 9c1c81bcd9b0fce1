"""Read buffers and Java's big-endian integers, and check paths and row counts that a table declares.

A :class:`Cursor` never reads past its end, and compares every length with the bytes that are left before it uses it, so
that a damaged length costs an error and no memory.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterator, Sequence

from hudiformat.errors import CorruptBlockError, DecodeError, EncodeError, TruncatedBlockError

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")

INT32_MAX = 2**31 - 1

# An empty segment, "." and "..", each between slashes or at an end; NUL; surrogates, which no file system can encode.
_NO_PATH = re.compile(r"(?:\A|/)\.{0,2}(?=/|\Z)|[\0\ud800-\udfff]")


def is_below_root(path: str) -> bool:
    """Return whether *path* is the root (the empty path) or below it, and can be a path of a file system.

    A path is not below the root if a segment is empty, ``.`` or ``..``; the first segment of an absolute path is empty.
    """
    return not path or _NO_PATH.search(path) is None


def check_row_count(rows: int, groups: Sequence[int], size: int, *, per_byte: int = 2, few: int = 10_000) -> int:
    """Return *rows*, after checking that a file of *size* bytes can have so many in the row groups *groups*.

    At most *few* rows, and *per_byte* rows per byte, are plausible.  A run of one value takes the same few bytes for
    any number of rows, but rows with different keys take more.

    Raises:
        ValueError: there are more rows, or the row groups have another number of rows than the file.
    """
    if min(groups, default=0) < 0 or sum(groups) != rows:
        raise ValueError(f"expected {rows} rows, as the footer declares, found {sum(groups)} in the row groups")
    if rows > few + per_byte * size:
        raise ValueError(f"{rows} rows in {size} bytes: rows with different record keys take more space")
    return rows


def int32(value: int) -> bytes:
    """Return the four bytes of a Java ``int``, big-endian.

    Raises:
        EncodeError: the value does not fit.
    """
    try:
        return _INT32.pack(value)
    except struct.error:
        raise EncodeError(f"{value} does not fit into a 32-bit signed integer") from None


def int64(value: int) -> bytes:
    """Return the eight bytes of a Java ``long``, big-endian.

    Raises:
        EncodeError: the value does not fit.
    """
    try:
        return _INT64.pack(value)
    except struct.error:
        raise EncodeError(f"{value} does not fit into a 64-bit signed integer") from None


@contextlib.contextmanager
def shift_error_offsets(base: int) -> Iterator[None]:
    """Add *base* to the offsets of errors raised in the body, which decodes a part of a file that begins at *base*."""
    try:
        yield
    except DecodeError as error:
        if error.offset is None or not base:
            raise
        raise error.shifted(base) from error


class Cursor:
    """Reads a buffer front to back.  ``base`` is the offset of the buffer's first byte, for error messages."""

    __slots__ = ("_base", "_view", "pos")

    def __init__(self, view: memoryview, *, base: int = 0) -> None:
        self._view = view
        self._base = base
        self.pos = 0

    @property
    def offset(self) -> int:
        """The offset of the next byte, as in error messages."""
        return self._base + self.pos

    @property
    def remaining(self) -> int:
        """The number of bytes left."""
        return len(self._view) - self.pos

    def take(self, count: int, what: str = "bytes") -> memoryview:
        """Return the next *count* bytes, without a copy; *what* names them in errors.

        Raises:
            CorruptBlockError: *count* is negative.
            TruncatedBlockError: fewer bytes are left.
        """
        if count < 0:
            raise CorruptBlockError(f"{what}: negative length {count}", offset=self.offset)
        if count > self.remaining:
            raise TruncatedBlockError(f"{what}: {count} bytes expected, {self.remaining} left", offset=self.offset)
        start = self.pos
        self.pos += count
        return self._view[start : self.pos]

    def int32(self, what: str = "int32") -> int:
        """Read the next four bytes as a Java ``int``."""
        value: int = _INT32.unpack(self.take(4, what))[0]
        return value

    def int64(self, what: str = "int64") -> int:
        """Read the next eight bytes as a Java ``long``."""
        value: int = _INT64.unpack(self.take(8, what))[0]
        return value
