"""What happens to log files: bits that flip, lost and repeated spans, torn tails, zeros, lengths that lie.

The functions take a file's bytes and give others; none of them needs the file to be sound.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from hudiformat.blocks import MAGIC
from hudiformat.testing.blocks import log_files

_FIELDS = {"size": (6, 8), "version": (14, 4), "type": (18, 4), "header count": (22, 4), "key": (26, 4),
           "value length": (30, 4)}  # fmt: skip
_SHORTEST = 46
"""Bytes of a block without header and content."""


@st.composite
def damaged(draw: st.DrawFn, data: bytes, *, most: int = 4) -> bytes:
    """*data* after one to *most* things happened to it; it may come out unchanged.

    Flips of a bit or byte, cuts, insertions (junk, zeros, a magic), deletions, duplications, splices with another
    file, zero-filled tails, and lies: numbers of a block's envelope that are negative, huge, off by one or by 2**32,
    past the end, or lead to another block.

    Source: spec/log-file.md, "When it is broken".
    """
    for _ in range(draw(st.integers(1, most))):
        data = draw(st.sampled_from(_DAMAGE))(draw, data)
    return data


def damaged_log_files(*, most: int = 4) -> st.SearchStrategy[bytes]:
    """The bytes of log files that one to *most* things happened to.

    Source: spec/log-file.md, "When it is broken".
    """
    return log_files().flatmap(lambda file: damaged(file.data, most=most))


def _place(draw: st.DrawFn, data: bytes) -> int:
    """Any place, and often where a block begins or the file ends."""
    place: int = draw(st.integers(0, len(data)) | st.sampled_from([*_starts(data), len(data)]))
    return place


def _span(draw: st.DrawFn, data: bytes) -> tuple[int, int]:
    start = _place(draw, data)
    if draw(st.booleans()):
        return start, min(len(data), start + draw(st.integers(1, 8)))
    start, end = sorted((start, _place(draw, data)))
    return start, end


def _flip(draw: st.DrawFn, data: bytes) -> bytes:
    if not data:
        return data
    at = draw(st.integers(0, len(data) - 1))
    return data[:at] + bytes([data[at] ^ draw(st.sampled_from([1, 2, 8, 128, 255]))]) + data[at + 1 :]


def _cut(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: _place(draw, data)]


def _insert(draw: st.DrawFn, data: bytes) -> bytes:
    at = _place(draw, data)
    return data[:at] + draw(st.binary(max_size=8) | st.just(MAGIC) | st.just(bytes(12))) + data[at:]


def _delete(draw: st.DrawFn, data: bytes) -> bytes:
    start, end = _span(draw, data)
    return data[:start] + data[end:]


def _duplicate(draw: st.DrawFn, data: bytes) -> bytes:
    start, end = _span(draw, data)
    return data[:end] + data[start:]


def _splice(draw: st.DrawFn, data: bytes) -> bytes:
    other: bytes = draw(log_files(max_blocks=3)).data
    return data[: _place(draw, data)] + other[_place(draw, other) :]


def _zero_tail(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: _place(draw, data)] + bytes(draw(st.sampled_from([1, 5, 6, 7, 64])))


def _lie(draw: st.DrawFn, data: bytes) -> bytes:
    starts = [start for start in _starts(data) if len(data) - start >= _SHORTEST]
    if not starts:
        return data
    start = draw(st.sampled_from(starts))
    at, width = draw(st.sampled_from(_places(data[start:])))
    at += start
    value = int.from_bytes(data[at : at + width], "big", signed=True)
    lie: int = draw(_lies(value, width, len(data) - at, [other - at - width for other in _starts(data)]))
    return data[:at] + (lie % (1 << 8 * width)).to_bytes(width, "big") + data[at + width :]


def _starts(data: bytes) -> list[int]:
    """Where magics stand."""
    return [at for at in range(len(data)) if data.startswith(MAGIC, at)]


def _places(block: bytes) -> list[tuple[int, int]]:
    """Offset and width of the numbers of the block at the start of *block*, as far as it makes sense."""
    places = list(_FIELDS.values())
    at = 26
    for _ in range(min(int.from_bytes(block[22:26], "big"), 9)):
        at += 8 + int.from_bytes(block[at + 4 : at + 8], "big")
    if at + 20 > len(block):
        return places
    end = at + 8 + int.from_bytes(block[at : at + 8], "big")
    behind = [(end, 4), (end + 4, 8)] if end + 12 <= len(block) else []
    return [*places, (at, 8), *behind]


def _lies(value: int, width: int, room: int, others: list[int]) -> st.SearchStrategy[int]:
    near = [value + 1, value - 1, value + 6, value - 6, value * 2, 0, -1, 2, 9]
    far = [2**31 - 1, -(2**31), room, room - 12, room - 20, *(other - 12 for other in others), *others]
    wraps = [value + 2**32, value - 2**32, 2**40, 2**63 - 1] if width == 8 else []  # noqa: PLR2004
    return st.sampled_from([*near, *far, *wraps])


_DAMAGE: list[Callable[[st.DrawFn, bytes], bytes]] = [
    _flip,
    _cut,
    _insert,
    _delete,
    _duplicate,
    _splice,
    _zero_tail,
    _lie,
    _lie,
]
