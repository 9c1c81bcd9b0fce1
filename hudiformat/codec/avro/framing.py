"""Finding the records of a data block from many positions at once.

A record is a length (int32, big-endian) and that number of bytes, so only the record in front locates the next one:
a chain, which a loop follows link by link.  The two functions here follow many chains at once instead: in a large block
from guessed beginnings, and in many short runs of records from their known ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hudiformat.codec.avro.arrays import Bytes, Longs, Mask
from hudiformat.errors import CorruptBlockError, TruncatedBlockError

LENGTH_SIZE = 4
"""Bytes of the length in front of each record."""

Step: TypeAlias = Callable[[Longs], Longs]
"""From the positions of links to the positions behind them; any position from the end on if there is no link."""

Begins: TypeAlias = Callable[[Bytes, Bytes], Mask]
"""Whether a link may begin with these two bytes."""

_FEWEST_STEPS = 64
_PROBES = 4
_MAX_WINDOW = 1 << 14
_MAX_CHAINS = 512


def guess_offsets(data: Bytes, count: int) -> Longs | None:
    """Return where each of *count* records that fill *data* begins, and the end; None if the guesses prove wrong."""
    lengths = np.ndarray((len(data) - LENGTH_SIZE + 1,), ">u4", data, strides=(1,))  # a number at every byte

    def step(positions: Longs) -> Longs:
        after: Longs = lengths[np.minimum(positions, len(lengths) - 1)] + (positions + LENGTH_SIZE)
        return after

    return follow_chains(data, count, step, lambda first, second: (first | second) == 0, max_chains=_MAX_CHAINS)


def follow_chains(data: Bytes, count: int, step: Step, begins: Begins, *, max_chains: int) -> Longs | None:
    """Return where each of *count* links that fill *data* begins, and the end; None if the guesses prove wrong.

    Links are followed from several guessed positions at once.  The guesses are right if each chain meets the beginning
    of the next one: then they are all parts of the one chain from position 0.  There have to be some hundred links.

    Six records of the lengths 2, 4, 0, 2, 4 and 0 begin at 0, 6, 14, 18, 24 and 32 and end at 36.  With two chains:

        starts       [0, 18]                                 18 was guessed
        ends         [18, 36]
        steps        [0, 18] [6, 24] [14, 32] [18, 36]       one array per step, all chains in each
        table        [[ 0,  6, 14, 18],                      one row per chain
                      [18, 24, 32, 36]]
        table < ends  0,  6, 14, 18, 24, 32                  what a chain reads from its end on is the next chain's
        result       [0, 6, 14, 18, 24, 32, 36]
    """
    total = len(data)
    starts = _guess_starts(data, count, step, begins, max_chains)
    if starts is None:
        return None
    ends = np.append(starts[1:], total)
    steps = [starts]
    for _ in range(3 * count // len(starts) // _PROBES + 1):  # up to three times the chain's share of the links
        for _ in range(_PROBES):
            steps.append(step(steps[-1]))
        if (steps[-1] >= ends).all():
            break
    table = np.stack(steps, axis=1)
    if not (table == ends[:, None]).any(axis=1).all():
        return None
    positions = np.append(table[table < ends[:, None]], total)
    return positions if len(positions) == count + 1 else None


def _guess_starts(data: Bytes, count: int, step: Step, begins: Begins, max_chains: int) -> Longs | None:
    """Return position 0, and for every other chain a position at which a link seems to begin; None without them.

    Each chain searches a window of two average links for positions whose bytes may begin a link, and follows each of
    them for a few steps; the first one that still makes plausible steps is the guess.
    """
    total = len(data)
    chains = min(count // _FEWEST_STEPS, max_chains)
    window, stride = 2 * (total // count), total // chains
    if window > min(_MAX_WINDOW, stride // 4):
        return None
    shape = (chains - 1, window)
    found = begins(*(np.ndarray(shape, np.uint8, data, stride + byte, (stride, 1)) for byte in (0, 1)))
    chain, at = np.divmod(np.flatnonzero(found), window)  # numpy looks through a flat array several times as fast
    pos = (chain + 1) * stride + at
    for _ in range(_PROBES):
        if not len(pos):
            return None
        after = step(pos)
        good = after - pos < 8 * window
        pos, chain = after[good], chain[good]
    remaining, first = np.unique(chain, return_index=True)
    if len(remaining) < chains - 1:
        return None
    # The positions after the probes, not before them: a wrong beginning often leads to a right one.
    return np.append(0, pos[first])


def walk_runs(data: Bytes, firsts: Longs, lasts: Longs, counts: Longs) -> tuple[Longs, Longs]:
    """Return the first byte and the end of each record of several runs, in order.

    Run *i* is of ``counts[i]`` records, which fill the bytes from ``firsts[i]`` to ``lasts[i]``.  Each step reads the
    next record of all runs, so there are as many steps as the longest run has records: this is for many short runs.

    Two runs, of one record of length 2 and of two records of the lengths 1 and 0, in the bytes 0 to 6 and 6 to 15:

        order     [1, 0]            the longest run first, so that the active runs are always the first ones
        begins    [1, 0]            the number of the first record of each run, in this order
        step 0    active 2          starts = [ 4, 10,  -]    ends = [ 6, 11,  -]
        step 1    active 1          starts = [ 4, 10, 15]    ends = [ 6, 11, 15]

    Raises:
        DecodeError: the records of a run do not fill it exactly, or a length is negative.
    """
    lengths = np.ndarray((max(len(data) - LENGTH_SIZE + 1, 0),), ">i4", data, strides=(1,))
    order = np.argsort(-counts, kind="stable")
    begins = (np.cumsum(counts) - counts)[order]
    pos, end = firsts[order].copy(), lasts[order]
    starts, ends = np.empty((2, int(counts.sum())), np.int64)
    for step in range(int(counts.max(initial=0))):
        active = int(np.searchsorted(-counts[order], -step))
        here = pos[:active]
        if (here + LENGTH_SIZE > end[:active]).any():
            raise TruncatedBlockError("a record runs past the end of its block")
        length = lengths[here].astype(np.int64)
        here += LENGTH_SIZE
        starts[begins[:active] + step] = here
        here += length
        if (length < 0).any() or (here > end[:active]).any():
            raise CorruptBlockError("a record of impossible length")
        ends[begins[:active] + step] = here
    if (pos != end).any():
        raise CorruptBlockError("bytes follow the last record of a block")
    return starts, ends
