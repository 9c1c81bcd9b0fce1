"""Following a chain, in which only one link tells where the next begins, at many places at once.

Each place is a guess, from which a few plausible links follow.  The guesses hold if every chain ends where the next one
began, for then they are the one chain from the start.

Where the records of a data block lie: each says its length, so that only the one before tells where it begins.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hudiformat.avro.arrays import Bytes, Longs, Mask
from hudiformat.errors import CorruptBlockError, TruncatedBlockError
from hudiformat.wire import INT32_MAX

Step: TypeAlias = Callable[[Longs], Longs]
"""From the places of links to the places behind them; anywhere from the end on where there is no link."""

Begins: TypeAlias = Callable[[Bytes, Bytes], Mask]
"""Whether a link may begin with these two bytes."""

_FEWEST_STEPS = 64
_PROBES = 4
_MAX_WINDOW = 1 << 14


def follow(data: Bytes, count: int, step: Step, begins: Begins, *, most: int) -> Longs | None:
    """Where each of *count* links begins that fill *data*, and the end; None where it cannot be told this way.

    There are many links, some hundreds at least; at most *most* chains are followed at once.
    """
    total = len(data)
    starts = _guesses(data, count, step, begins, most)
    if starts is None:
        return None
    ends = np.append(starts[1:], total)
    steps = [starts]
    for _ in range(3 * count // len(starts) // _PROBES + 1):  # an even share of the links each, and then some
        for _ in range(_PROBES):
            steps.append(step(steps[-1]))
        if (steps[-1] >= ends).all():
            break
    table = np.stack(steps, axis=1)
    if not (table == ends[:, None]).any(axis=1).all():
        return None
    places = np.append(table[table < ends[:, None]], total)  # behind its end a chain repeats the next one
    return places if len(places) == count + 1 else None


def _guesses(data: Bytes, count: int, step: Step, begins: Begins, most: int) -> Longs | None:
    """The first byte, and for every other chain one at which a link seems to begin."""
    total = len(data)
    chains = min(count // _FEWEST_STEPS, most)
    window, stride = 2 * (total // count), total // chains
    if window > min(_MAX_WINDOW, stride // 4):
        return None
    shape = (chains - 1, window)
    chain, place = np.nonzero(begins(*(np.ndarray(shape, np.uint8, data, stride + at, (stride, 1)) for at in (0, 1))))
    pos = (chain + 1) * stride + place
    for _ in range(_PROBES):
        if not len(pos):
            return None
        after = step(pos)
        good = after - pos < 8 * window
        pos, chain = after[good], chain[good]
    found, first = np.unique(chain, return_index=True)
    if len(found) < chains - 1:
        return None
    # Where the probes ended, not where they began: a wrong beginning often leads to a right one.
    return np.append(0, pos[first])


LENGTH_SIZE = 4
_FEW = 2048  # below, a plain loop is as fast
_MOST_CHAINS = 512


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
    lengths = np.ndarray((len(data) - LENGTH_SIZE + 1,), ">u4", data, strides=(1,))  # a number at every byte

    def step(places: Longs) -> Longs:
        after: Longs = lengths[np.minimum(places, len(lengths) - 1)] + (places + LENGTH_SIZE)
        return after

    return follow(data, count, step, lambda first, second: (first | second) == 0, most=_MOST_CHAINS)


def walk_many(data: Bytes, firsts: Longs, lasts: Longs, counts: Longs) -> tuple[Longs, Longs]:
    """The first byte and the end of each record of several runs, in order.

    Run *i* is of ``counts[i]`` records, which fill the bytes from ``firsts[i]`` to ``lasts[i]``.  One step for each
    record of the longest run reads the next of all: this is for many short ones.

    Raises:
        DecodeError: the records of a run do not fill it exactly, or a length is negative.
    """
    lengths = np.ndarray((max(len(data) - LENGTH_SIZE + 1, 0),), ">i4", data, strides=(1,))
    order = np.argsort(-counts, kind="stable")  # the longest first: the runs at work are those up to some place
    begins = (np.cumsum(counts) - counts)[order]
    pos, end = firsts[order].copy(), lasts[order]
    starts, ends = np.empty((2, int(counts.sum())), np.int64)
    for step in range(int(counts.max(initial=0))):
        at_work = int(np.searchsorted(-counts[order], -step))
        here = pos[:at_work]
        if (here + LENGTH_SIZE > end[:at_work]).any():
            raise TruncatedBlockError("a record runs past the end of its block")
        length = lengths[here].astype(np.int64)
        here += LENGTH_SIZE
        starts[begins[:at_work] + step] = here
        here += length
        if (length < 0).any() or (here > end[:at_work]).any():
            raise CorruptBlockError("a record of impossible length")
        ends[begins[:at_work] + step] = here
    if (pos != end).any():
        raise CorruptBlockError("bytes follow the last record of a block")
    return starts, ends
