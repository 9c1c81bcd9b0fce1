"""Where the entries of a data block begin: each says its lengths, so that only the one before tells where it does.

The chain is followed at many places at once.  Each of them is a guess, made from bytes that stand in every entry of
Hudi's; the guesses hold if every chain passes through the place where the next one began, for then they are the one
chain from the first byte on.
"""

from __future__ import annotations

import math
import re
import struct
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hudiformat.errors import CorruptBlockError
from hudiformat.hfile.vlong import decode_vlong
from hudiformat.wire import INT32_MAX, Cursor

Longs: TypeAlias = npt.NDArray[np.int64]
Lengths: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint16]]

LENGTHS_SIZE = 8
ROW_LENGTH_SIZE = 2
# What stands behind the row: no column family, no qualifier, the latest timestamp there is, and the type Put.
KEY_TAIL = bytes.fromhex("00 7fffffffffffffff 04")

_FIND_TAIL = re.compile(re.escape(KEY_TAIL)).search
_HEAD = struct.Struct(">iih")
_SAMPLE = 64
_FEW = 2048  # below, a plain loop is as fast
_MOST_CHAINS = 512
_LONGEST_ROW = 1024
_IMBALANCE = 4
"""How many times its even share of the entries a chain may have."""


def walk(content: memoryview, *, suffix: int | None, base: int) -> Longs:
    """Where each entry that fills *content* begins, and the end.

    *suffix* is the number of bytes behind each value, None where a vlong stands there.  *base* is the offset of the
    block, for errors.

    Raises:
        DecodeError: the entries do not fill the content exactly.
    """
    if len(content) > INT32_MAX:
        raise CorruptBlockError(f"a data block of {len(content)} bytes; there are none of 2 GiB", offset=base)
    places = None if suffix is None else _by_guessing(content, suffix, base)
    return _one_by_one(content, suffix, base) if places is None else places


def _one_by_one(content: memoryview, suffix: int | None, base: int, *, most: int = INT32_MAX) -> Longs:
    """The same, of the first *most* entries."""
    total, pos = len(content), 0
    places = [pos]
    while pos < total and len(places) <= most:
        if pos + _HEAD.size > total:
            raise CorruptBlockError(f"an entry at {pos} of {total} bytes of data has no lengths", offset=base)
        key, value, row = _HEAD.unpack_from(content, pos)
        after = pos + LENGTHS_SIZE + key + value + (suffix or 0)
        if row < 0 or key < row + ROW_LENGTH_SIZE or value < 0 or after > total:
            lengths = f"a key of {key}, a row of {row} and a value of {value} bytes"
            raise CorruptBlockError(f"an entry at {pos} of {total} bytes of data with {lengths}", offset=base)
        pos = after if suffix is not None else _after_vlong(content, after, base)
        places.append(pos)
    return np.array(places, np.int64)


def _after_vlong(content: memoryview, pos: int, base: int) -> int:
    cursor = Cursor(content[pos:], base=base + pos)
    decode_vlong(cursor)
    return pos + cursor.pos


def _by_guessing(content: memoryview, suffix: int, base: int) -> Longs | None:
    """The same, or None where it cannot be told this way."""
    sample = _one_by_one(content, suffix, base, most=_SAMPLE)
    count = len(content) * (len(sample) - 1) // max(int(sample[-1]), 1)  # about
    if sample[-1] == len(content) or count < _FEW:
        return None
    lengths = _lengths_at_every_byte(content)
    chains = min(math.isqrt(2 * count), _MOST_CHAINS)
    starts = _guesses(content, lengths, chains)
    if len(starts) < chains // 2:
        return None
    return _follow(starts, len(content), lengths, suffix, most=_IMBALANCE * count // len(starts))


def _lengths_at_every_byte(content: memoryview) -> Lengths:
    """Those of key, value and row if an entry began there; negative ones as very large."""
    data = np.frombuffer(content, np.uint8)
    size = len(data) - _HEAD.size + 1
    key, value, row = (
        np.ndarray((size,), kind, data, at, strides=(1,))
        for kind, at in ((">u4", 0), (">u4", 4), (">u2", LENGTHS_SIZE))
    )
    return key, value, row


def _guesses(content: memoryview, lengths: Lengths, chains: int) -> Longs:
    """The first byte, and others at which an entry seems to begin."""
    key, _, row = lengths
    bounds = [number * len(content) // chains for number in range(1, chains + 1)]
    found = (_FIND_TAIL(content, start, end) for start, end in pairwise(bounds))
    tails = np.array([match.start() for match in found if match], np.int64)
    # The row stands right before the tail.  Where its length says so, and the key's too, an entry is likely to begin.
    sizes = np.arange(min(_LONGEST_ROW, 2 * int(row[0]) + 1))
    places = tails[:, None] - sizes - (LENGTHS_SIZE + ROW_LENGTH_SIZE)
    seems = (places > 0) & (row[places] == sizes) & (key[places] == sizes + (ROW_LENGTH_SIZE + len(KEY_TAIL)))
    good = seems.any(axis=1)
    return np.unique(np.append(0, places[good, seems.argmax(axis=1)[good]]))


def _follow(starts: Longs, total: int, lengths: Lengths, suffix: int, *, most: int) -> Longs | None:
    """Where each entry begins, and the end, if every chain leads to the next one within *most* steps; else None."""
    key, value, _ = lengths
    ends = np.append(starts[1:], total)
    steps = [starts]
    for _ in range(most):
        at = np.minimum(steps[-1], len(key) - 1)
        after = steps[-1] + key[at] + value[at] + (LENGTHS_SIZE + suffix)
        steps.append(np.where(steps[-1] < ends, after, steps[-1]))
        if (steps[-1] >= ends).all():
            break
    if (steps[-1] != ends).any():
        return None
    table = np.stack(steps, axis=1)
    return np.append(table[table < ends[:, None]], total)
