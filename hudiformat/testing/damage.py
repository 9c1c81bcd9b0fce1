"""Damage to log files: flipped bits, lost and repeated spans, torn tails, zeros, wrong lengths.

The functions take the bytes of a file, which need not be intact, and return changed bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from hudiformat.codec.log.frame import MAGIC
from hudiformat.testing.blocks import log_files

_FIELDS = {"size": (6, 8), "version": (14, 4), "type": (18, 4), "header count": (22, 4), "key": (26, 4),
           "value length": (30, 4)}  # fmt: skip
_SHORTEST = 46
"""The size in bytes of a block without header entries and content."""


@st.composite
def damaged(draw: st.DrawFn, data: bytes, *, most: int = 4) -> bytes:
    """Damage *data* in one to *most* ways; the result may be equal to *data*.

    The kinds are flips of a bit or byte, cuts, insertions (junk, zeros, a magic), deletions, duplications, splices with
    another file, zero-filled tails, and wrong numbers in the envelope of a block: negative, huge, off by one or by
    2**32, beyond the end, or leading to another block.

    Source: spec/log-file.md, "When it is broken".
    """
    for _ in range(draw(st.integers(1, most))):
        data = draw(st.sampled_from(_DAMAGE))(draw, data)
    return data


def damaged_log_files(*, most: int = 4) -> st.SearchStrategy[bytes]:
    """Generate the bytes of log files with one to *most* kinds of damage.

    Source: spec/log-file.md, "When it is broken".
    """
    return log_files().flatmap(lambda file: damaged(file.data, most=most))


def _offset(draw: st.DrawFn, data: bytes) -> int:
    """Draw any offset, and often the start of a block or the end of the file."""
    offset: int = draw(st.integers(0, len(data)) | st.sampled_from([*_starts(data), len(data)]))
    return offset


def _span(draw: st.DrawFn, data: bytes) -> tuple[int, int]:
    start = _offset(draw, data)
    if draw(st.booleans()):
        return start, min(len(data), start + draw(st.integers(1, 8)))
    start, end = sorted((start, _offset(draw, data)))
    return start, end


def _flip(draw: st.DrawFn, data: bytes) -> bytes:
    if not data:
        return data
    at = draw(st.integers(0, len(data) - 1))
    return data[:at] + bytes([data[at] ^ draw(st.sampled_from([1, 2, 8, 128, 255]))]) + data[at + 1 :]


def _cut(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: _offset(draw, data)]


def _insert(draw: st.DrawFn, data: bytes) -> bytes:
    at = _offset(draw, data)
    return data[:at] + draw(st.binary(max_size=8) | st.just(MAGIC) | st.just(bytes(12))) + data[at:]


def _delete(draw: st.DrawFn, data: bytes) -> bytes:
    start, end = _span(draw, data)
    return data[:start] + data[end:]


def _duplicate(draw: st.DrawFn, data: bytes) -> bytes:
    start, end = _span(draw, data)
    return data[:end] + data[start:]


def _splice(draw: st.DrawFn, data: bytes) -> bytes:
    other: bytes = draw(log_files(max_blocks=3)).data
    return data[: _offset(draw, data)] + other[_offset(draw, other) :]


def _zero_tail(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: _offset(draw, data)] + bytes(draw(st.sampled_from([1, 5, 6, 7, 64])))


def _wrong_number(draw: st.DrawFn, data: bytes) -> bytes:
    starts = [start for start in _starts(data) if len(data) - start >= _SHORTEST]
    if not starts:
        return data
    start = draw(st.sampled_from(starts))
    at, width = draw(st.sampled_from(_numbers(data[start:])))
    at += start
    value = int.from_bytes(data[at : at + width], "big", signed=True)
    wrong: int = draw(_wrong_values(value, width, len(data) - at, [other - at - width for other in _starts(data)]))
    return data[:at] + (wrong % (1 << 8 * width)).to_bytes(width, "big") + data[at + width :]


def _starts(data: bytes) -> list[int]:
    """Return the offsets of all magics."""
    return [at for at in range(len(data)) if data.startswith(MAGIC, at)]


def _numbers(block: bytes) -> list[tuple[int, int]]:
    """Return the offsets and widths of the numbers of the block at the start of *block*, as far as it can be parsed."""
    numbers = list(_FIELDS.values())
    at = 26
    for _ in range(min(int.from_bytes(block[22:26], "big"), 9)):
        at += 8 + int.from_bytes(block[at + 4 : at + 8], "big")
    if at + 20 > len(block):
        return numbers
    end = at + 8 + int.from_bytes(block[at : at + 8], "big")
    behind = [(end, 4), (end + 4, 8)] if end + 12 <= len(block) else []
    return [*numbers, (at, 8), *behind]


def _wrong_values(value: int, width: int, room: int, others: list[int]) -> st.SearchStrategy[int]:
    near = [value + 1, value - 1, value + 6, value - 6, value * 2, 0, -1, 2, 9]
    far = [2**31 - 1, -(2**31), room, room - 12, room - 20, *(other - 12 for other in others), *others]
    wraps = [value + 2**32, value - 2**32, 2**40, 2**63 - 1] if width == 8 else []  # noqa: PLR2004 - bytes of a 64-bit number
    return st.sampled_from([*near, *far, *wraps])


_DAMAGE: list[Callable[[st.DrawFn, bytes], bytes]] = [
    _flip,
    _cut,
    _insert,
    _delete,
    _duplicate,
    _splice,
    _zero_tail,
    _wrong_number,
    _wrong_number,
]
