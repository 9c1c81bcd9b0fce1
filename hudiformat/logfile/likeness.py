"""Blocks that begin like the one before: most of a log's, for a writer puts the same header into all of its blocks.

They are found many at a time: a loop follows their sizes, and what else makes a block sound is compared in all of them
at once.  What is not alike in every byte is left to :mod:`~hudiformat.logfile.rules`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hudiformat.avro.buffers import Longs
from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.frame import LENGTH_SIZE, MAGIC, TAIL_SIZE
from hudiformat.blocks.run import BlockRun
from hudiformat.blocks.types import BlockType
from hudiformat.wire import INT32_MAX

_SIZE_AT = struct.Struct(">q").unpack_from
_BEFORE_LEAD = len(MAGIC) + LENGTH_SIZE
"""The lead is what lies between the block's size and the length of its content: version, type and header."""
_MAGIC = f"V{len(MAGIC)}"
_TAIL = [("footers", ">i4"), ("pointer", ">i8")]
_FEWEST, _MOST = 16, 1024  # how many blocks are looked at before the first of them is given out
_RUN_BYTES = 1 << 24  # of the file, for their pages count as memory until the next run is looked at
_LEAD_BYTES = 1 << 22  # that are gathered for the comparison


def runs_like(data: memoryview, model: LogBlock) -> Iterator[BlockRun]:
    """The block *model* of *data*, and the sound ones that follow it without a gap and have its type and header.

    There is none where *model* is damaged or has quirks.
    """
    if model.type is BlockType.CORRUPT or model.quirks is not None or model.offset is None or model.size is None:
        return
    end = model.offset + model.size
    before = model.size - TAIL_SIZE - len(model.content)
    run = partial(BlockRun, data, model, before=before)
    yield run(np.array([model.offset, end]))
    lead = bytes(data[model.offset + _BEFORE_LEAD : model.offset + before - LENGTH_SIZE])
    most = max(1, min(_MOST, _RUN_BYTES // model.size, _LEAD_BYTES // len(lead)))
    count = min(_FEWEST, most)
    while True:
        places = _follow(data, end, count, before + TAIL_SIZE)
        alike = _count_alike(data, places, lead)
        if alike:
            yield run(places[: alike + 1])
        if alike < count:
            return
        end = int(places[-1])
        count = min(2 * count, most)


def _follow(data: memoryview, start: int, count: int, smallest: int) -> Longs:
    """Where up to *count* blocks begin if their sizes are right, and where the last of them ends."""
    places = [start]
    for _ in range(count):
        if start + smallest > len(data):
            break
        (size,) = _SIZE_AT(data, start + len(MAGIC))
        end = start + size + _BEFORE_LEAD
        if not start + smallest <= end <= len(data):
            break
        places.append(start := end)
    return np.array(places, np.int64)


def _count_alike(data: memoryview, places: Longs, lead: bytes) -> int:
    """How many of the blocks are sound, up to the first that is not, or that begins otherwise."""
    if len(places) == 1:
        return 0
    starts, ends = places[:-1], places[1:]
    head = _gather(data, starts, [("magic", _MAGIC), ("size", ">i8"), ("lead", f"V{len(lead)}"), ("content", ">i8")])
    tail = _gather(data, ends - TAIL_SIZE, _TAIL)
    last = data[ends[-1] : ends[-1] + len(MAGIC)]
    magic = head["magic"] == np.frombuffer(MAGIC, _MAGIC)
    followed = np.append(magic[1:], len(last) < len(MAGIC) or last == MAGIC)
    sound = magic & followed & (head["lead"] == np.frombuffer(lead, f"V{len(lead)}"))
    sound &= ends - starts <= INT32_MAX
    sound &= head["content"] == ends - starts - (head.itemsize + TAIL_SIZE)
    sound &= (tail["footers"] == 0) & (tail["pointer"] == ends - starts - LENGTH_SIZE)
    return len(sound) if sound.all() else int(sound.argmin())


def _gather(data: memoryview, places: Longs, fields: list[tuple[str, str]]) -> npt.NDArray[Any]:
    kind = np.dtype(fields)
    raw: npt.NDArray[Any] = np.ndarray(len(data) - kind.itemsize + 1, f"V{kind.itemsize}", data, strides=(1,))[places]
    return raw.view(kind)
