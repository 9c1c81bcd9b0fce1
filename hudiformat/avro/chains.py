"""Following a chain, in which only one link tells where the next begins, at many places at once.

Each place is a guess, from which a few plausible links follow.  The guesses hold if every chain ends where the next one
began, for then they are the one chain from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hudiformat.avro.buffers import Bytes, Longs, Mask

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
