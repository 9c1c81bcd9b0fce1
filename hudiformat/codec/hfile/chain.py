"""Find where the entries of a data block begin.

An entry begins with its lengths, so only the entry in front says where the next one begins: a chain.  In a large block
the chain is followed from many positions at once.  These are guesses, made from bytes that every entry of Hudi has.
They are right if each chain reaches the position where the next one began: then all are parts of one chain from byte 0.
"""

from __future__ import annotations

import math
import re
import struct
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hudiformat.codec.hfile.vlong import decode_vlong
from hudiformat.errors import CorruptBlockError, DecodeError
from hudiformat.wire import INT32_MAX, Cursor

Longs: TypeAlias = npt.NDArray[np.int64]
Lengths: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint16]]

LENGTHS_SIZE = 8
ROW_LENGTH_SIZE = 2
# The bytes behind the row: no column family, no qualifier, the largest timestamp, and the type Put.
KEY_TAIL = bytes.fromhex("00 7fffffffffffffff 04")

_FIND_TAIL = re.compile(re.escape(KEY_TAIL)).search
_HEAD = struct.Struct(">iih")
_SAMPLE = 64
_FEW = 1024  # with fewer entries, a plain loop is as fast as guessing
_MAX_CHAINS = 512
_LONGEST_ROW = 1024
_IMBALANCE = 4
"""How many times the average number of entries one chain may have."""


def locate_entries(content: memoryview, *, suffix: int | None, base: int) -> Longs:
    """Return where each entry that fills *content* begins, and the end.

    Entries of 24, 23 and 26 bytes give [0, 24, 47, 73].  *suffix* is the number of bytes behind each value, None if a
    vlong follows each value.  *base* is the offset of the block, for errors.

    Raises:
        DecodeError: the entries do not fill the content exactly.
    """
    if len(content) > INT32_MAX:
        raise CorruptBlockError(f"a data block of {len(content)} bytes: expected less than 2 GiB", offset=base)
    offsets = None if suffix is None else _guess_offsets(content, suffix, base)
    return _read_offsets(content, suffix, base) if offsets is None else offsets


def has_unannounced_byte(content: memoryview, *, base: int) -> bool:
    """Return whether a byte follows each value in *content*, of a file that does not announce one.

    The entries fill a block only with the right one of both.
    """
    try:
        locate_entries(content, suffix=0, base=base)
    except DecodeError:
        return True
    return False


def _read_offsets(content: memoryview, suffix: int | None, base: int, *, most: int = INT32_MAX) -> Longs:
    """Return where each of the first *most* entries begins, and where the last of them ends, entry by entry."""
    total, pos = len(content), 0
    offsets = [pos]
    while pos < total and len(offsets) <= most:
        if pos + _HEAD.size > total:
            raise CorruptBlockError(f"an entry at {pos} of {total} bytes of data has no lengths", offset=base)
        key, value, row = _HEAD.unpack_from(content, pos)
        after = pos + LENGTHS_SIZE + key + value + (suffix or 0)
        if row < 0 or key < row + ROW_LENGTH_SIZE or value < 0 or after > total:
            lengths = f"a key of {key}, a row of {row} and a value of {value} bytes"
            raise CorruptBlockError(f"an entry at {pos} of {total} bytes of data with {lengths}", offset=base)
        pos = after if suffix is not None else _after_vlong(content, after, base)
        offsets.append(pos)
    return np.array(offsets, np.int64)


def _after_vlong(content: memoryview, pos: int, base: int) -> int:
    cursor = Cursor(content[pos:], base=base + pos)
    decode_vlong(cursor)
    return pos + cursor.pos


def _guess_offsets(content: memoryview, suffix: int, base: int) -> Longs | None:
    """Return where each entry begins, and the end; None if the block is small or the guesses prove wrong."""
    sample = _read_offsets(content, suffix, base, most=_SAMPLE)
    count = len(content) * (len(sample) - 1) // max(int(sample[-1]), 1)  # an estimate
    if sample[-1] == len(content) or count < _FEW:
        return None
    lengths = _lengths_at_every_byte(content)
    chains = min(math.isqrt(2 * count), _MAX_CHAINS)
    starts = _guess_starts(content, lengths, chains)
    if len(starts) < chains // 2:
        return None
    return _follow(starts, len(content), lengths, suffix, most=_IMBALANCE * count // len(starts))


def _lengths_at_every_byte(content: memoryview) -> Lengths:
    """Return the lengths of key, value and row, if an entry began at each byte; negative ones appear as very large."""
    data = np.frombuffer(content, np.uint8)
    size = len(data) - _HEAD.size + 1
    key, value, row = (
        np.ndarray((size,), kind, data, at, strides=(1,))
        for kind, at in ((">u4", 0), (">u4", 4), (">u2", LENGTHS_SIZE))
    )
    return key, value, row


def _guess_starts(content: memoryview, lengths: Lengths, chains: int) -> Longs:
    """Return position 0, and for other chains a position at which an entry seems to begin.

    The content is cut into as many stretches as there are chains.  In each stretch the bytes are searched for
    ``KEY_TAIL``, which follows the row of every entry.  An entry probably begins where its lengths fit this tail: for a
    tail at the position 100 and rows of 3 bytes, the row begins at 97 and the entry at 97 - 10 = 87, if the row length
    there is 3 and the key length 3 + 2 + 10.
    """
    key, _, row = lengths
    bounds = [number * len(content) // chains for number in range(1, chains + 1)]
    matches = (_FIND_TAIL(content, start, end) for start, end in pairwise(bounds))
    tails = np.array([match.start() for match in matches if match], np.int64)
    sizes = np.arange(min(_LONGEST_ROW, 2 * int(row[0]) + 1))  # of rows
    offsets = tails[:, None] - sizes - (LENGTHS_SIZE + ROW_LENGTH_SIZE)
    fits = (offsets > 0) & (row[offsets] == sizes) & (key[offsets] == sizes + (ROW_LENGTH_SIZE + len(KEY_TAIL)))
    good = fits.any(axis=1)
    return np.unique(np.append(0, offsets[good, fits.argmax(axis=1)[good]]))


def _follow(starts: Longs, total: int, lengths: Lengths, suffix: int, *, most: int) -> Longs | None:
    """Return where each entry begins, and the end, if every chain reaches the next one within *most* steps; else None.

    Five entries of 30, 20, 20, 40 and 10 bytes, of which the third was guessed:

        starts, ends    [0, 50], [50, 120]
        steps           [0, 50] [30, 70] [50, 110] [50, 120]     a chain stays at its end
        table < ends    0, 30, 50, 70, 110
        result          [0, 30, 50, 70, 110, 120]
    """
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
