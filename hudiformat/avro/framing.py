"""Where the records of a data block lie: each says its length, so that only the one before tells where it begins.

The chain is followed at many places at once.  Each of them is a guess, a byte from which a few plausible lengths
follow; the guesses hold if every chain ends where the next one began, for then they are the one chain from the start.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hudiformat.avro.buffers import Bytes, Longs
from hudiformat.errors import CorruptBlockError, TruncatedBlockError
from hudiformat.wire import INT32_MAX

Lengths: TypeAlias = npt.NDArray[np.uint32]

LENGTH_SIZE = 4
_FEW = 2048  # below, a plain loop is as fast
_FEWEST_STEPS = 64
_MOST_CHAINS = 512
_PROBES = 4
_MAX_WINDOW = 1 << 14


def walk(data: memoryview, count: int) -> tuple[Longs, Longs]:
    """The first byte and the end of each of the *count* records that fill *data*.

    Raises:
        DecodeError: they do not fill it exactly, or a length is negative.
    """
    total = len(data)
    if total > INT32_MAX:
        raise CorruptBlockError(f"{total} bytes of records: a block has less than 2 GiB")
    if not 0 <= count <= total // LENGTH_SIZE:
        raise CorruptBlockError(f"{count} records are declared, in {total} bytes")
    places = _by_guessing(np.frombuffer(data, np.uint8), count) if count >= _FEW else None
    if places is None:
        places = _one_by_one(data, count)
    return places[:-1] + LENGTH_SIZE, places[1:]


def _one_by_one(data: memoryview, count: int) -> Longs:
    """Where each record's length stands, and the end."""
    total, pos = len(data), 0
    places = [0]
    unpack = struct.Struct(">i").unpack_from
    while len(places) <= count:
        if pos + LENGTH_SIZE > total:
            raise TruncatedBlockError(f"record {len(places)} of {count} runs past the end", offset=pos)
        (length,) = unpack(data, pos)
        if length < 0:
            raise CorruptBlockError(f"a record of length {length}", offset=pos)
        pos += LENGTH_SIZE + length
        places.append(pos)
    if pos > total:
        raise TruncatedBlockError(f"record {count} of {count} runs past the end at byte {total}", offset=places[-2])
    if pos < total:
        raise CorruptBlockError(f"{total - pos} bytes follow the last of {count} records", offset=pos)
    return np.array(places, np.int64)


def _by_guessing(data: Bytes, count: int) -> Longs | None:
    """The same, or None where it cannot be told this way."""
    total = len(data)
    lengths = np.ndarray((total - LENGTH_SIZE + 1,), ">u4", data, strides=(1,))  # a number at every byte
    starts = _guesses(data, lengths, count)
    if starts is None:
        return None
    ends = np.append(starts[1:], total)
    steps = [starts]
    for _ in range(3 * count // len(starts) // _PROBES + 1):  # an even share of the records each, and then some
        for _ in range(_PROBES):
            steps.append(_next(lengths, steps[-1]))
        if (steps[-1] >= ends).all():
            break
    table = np.stack(steps, axis=1)
    if not (table == ends[:, None]).any(axis=1).all():
        return None
    places = np.append(table[table < ends[:, None]], total)  # behind its end a chain repeats the next one
    return places if len(places) == count + 1 else None


def _next(lengths: Lengths, places: Longs) -> Longs:
    """One record on; anywhere from the end on."""
    result: Longs = lengths[np.minimum(places, len(lengths) - 1)] + (places + LENGTH_SIZE)
    return result


def _guesses(data: Bytes, lengths: Lengths, count: int) -> Longs | None:
    """The first byte, and for every other chain one at which a record seems to begin."""
    total = len(data)
    chains = min(count // _FEWEST_STEPS, _MOST_CHAINS)
    window, stride = 2 * (total // count), total // chains
    if window > min(_MAX_WINDOW, stride // 4):
        return None
    pos = _plausible(data, (chains - 1, window), stride)
    chain = pos // stride
    for _ in range(_PROBES):
        after = _next(lengths, pos)
        good = after - pos < 8 * window
        pos, chain = after[good], chain[good]
    found, first = np.unique(chain, return_index=True)
    if len(found) < chains - 1:
        return None
    # Where the probes ended, not where they began: a wrong beginning often leads to a right one.
    return np.append(0, pos[first])


def _plausible(data: Bytes, shape: tuple[int, int], stride: int) -> Longs:
    """Where, in windows that begin every *stride* bytes but at 0, the two high bytes of a length are zero."""
    high, low = (np.ndarray(shape, np.uint8, data, stride + at, (stride, 1)) for at in (0, 1))
    chain, place = np.nonzero((high | low) == 0)
    return (chain + 1) * stride + place
