"""What makes a block of a log file sound, and how much of the file a corrupt one takes.  Rules: spec/log-file.md.

The one place where that is decided: :mod:`~hudiformat.logfile.reader` asks about a whole file,
:mod:`~hudiformat.logfile.decoder` about as much as there is of one.

Blocks that begin like the one before: most of a log's, for a writer puts the same header into all of its blocks.

They are found many at a time: a loop follows their sizes, and what else makes a block sound is compared in all of them
at once.  What is not alike in every byte is left to :mod:`~hudiformat.logfile.reader`.

Blocks out of the bytes of a log file, whatever those bytes are.  Rules: spec/log-file.md.

Every byte of a file belongs to a block that is yielded, but for a tail shorter than a magic, which Hudi ignores.  A
span that cannot be read is one CORRUPT block up to the next magic, with the reason.

A log file that is read block by block.
"""

from __future__ import annotations

import os
import re
import struct
from array import array
from collections.abc import Iterator
from functools import partial
from itertools import takewhile
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.avro.arrays import Longs
from hudiformat.blocks.batches import record_batches
from hudiformat.blocks.block import BlockRun, LogBlock, block_in_frame, decode_block
from hudiformat.blocks.frame import LENGTH_SIZE, MAGIC, TAIL_SIZE, BlockHeader, BlockType, Buffer, Frame, parse_frame
from hudiformat.errors import CorruptBlockError, DecodeError, SchemaError, StorageError, TruncatedBlockError
from hudiformat.storage import Storage, Trail, open_parent
from hudiformat.wire import INT32_MAX, Cursor

_NEXT_MAGIC = re.compile(re.escape(MAGIC))


def sound_frame(data: Buffer, start: int, *, base: int = 0, ended: bool = True) -> Frame:
    """The frame of the sound block at *start*.  *ended* says that no bytes will follow *data*.

    Raises:
        TruncatedBlockError: the block is not there whole; where *data* has not *ended* it may yet turn out to be sound.
        DecodeError: there is no sound block.

    Source: HoodieLogFileReader.isBlockCorrupted.
    """
    frame = parse_frame(data, start, base=base)
    following = data[frame.end : frame.end + len(MAGIC)]
    if len(following) == len(MAGIC):
        if following != MAGIC:
            raise CorruptBlockError(
                f"the block is followed by {bytes(following)!r}, neither a magic nor the end of the file",
                offset=base + frame.end,
            )
    elif not ended:  # fewer bytes than a magic at the end are ignored, as Hudi ignores them
        raise TruncatedBlockError("what follows the block is not there", needed=frame.end - start + len(MAGIC))
    return frame


def next_magic(data: Buffer, start: int, *, searched: int = 0) -> int:
    """Where the corrupt span at *start* ends: at the next magic, its own left out, or at the end of *data*.

    The first *searched* bytes of the span are known to hold none.

    Source: HoodieLogFileReader.scanForNextAvailableBlockOffset.
    """
    own = len(MAGIC) if data[start : start + len(MAGIC)] == MAGIC else 0
    found = _NEXT_MAGIC.search(data, start + max(own, searched))
    return found.start() if found else len(data)


def corrupt_block(span: memoryview, offset: int, reason: str) -> LogBlock:
    """The block that stands for *span*, the bytes at *offset* of the file that cannot be read for *reason*.

    Source: HoodieLogFileReader.createCorruptBlock.
    """
    content = span[len(MAGIC) :] if span[: len(MAGIC)] == MAGIC else span
    return LogBlock(BlockType.CORRUPT, BlockHeader(), content, offset=offset, size=len(span), reason=reason)


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


_OVERLAP = len(MAGIC) - 1  # two magics can share a "#"


def scan_blocks(data: memoryview, start: int = 0) -> Iterator[LogBlock]:
    """The blocks from *start* to the end of *data*, in file order.  Contents are views, and not touched.

    Source: HoodieLogFileReader.hasNext and next.
    """
    for found in scan_runs(data, start):
        if isinstance(found, BlockRun):
            yield from found.blocks()
        else:
            yield found


def scan_runs(data: memoryview, start: int = 0) -> Iterator[LogBlock | BlockRun]:
    """The same, sound blocks as runs of them, which costs less for those that nobody has to look at one by one."""
    trail = Trail(data, start)
    while len(data) - start >= len(MAGIC):
        block = _block_at(data, start)
        run = None
        for run in runs_like(data, block):
            yield run
            start = int(run.places[-1])
            trail.reach(start)
        if run is None:
            yield block
            start += block.size or 0
            trail.reach(start)


def scan_blocks_reversed(data: memoryview) -> Iterator[LogBlock]:
    """The blocks of *data* from the last to the first, by the reverse pointers.

    Where a pointer does not lead to a sound block, as in a torn tail, the file is scanned forward up to there and that
    is reversed, so that the blocks are those of :func:`scan_blocks`.  (Only a file that was forged so that sound blocks
    overlap has two readings.)

    Source: HoodieLogFileReader.prev, which throws in that case.
    """
    end = len(data)
    trail = Trail(data, end)
    while end:
        block = _block_before(data, end)
        if block is None or block.offset is None:
            # Where the blocks begin, and not the blocks: of a forged file there may be one for every six bytes.
            starts = array("q", (block.offset or 0 for block in _blocks_before(data, end)))
            yield from (_block_at(data, start) for start in reversed(starts))
            return
        yield block
        end = block.offset
        trail.reach(end)


def _block_at(data: memoryview, start: int) -> LogBlock:
    try:
        return block_in_frame(data, sound_frame(data, start))
    except DecodeError as error:
        return corrupt_block(data[start : next_magic(data, start)], start, str(error))


def _blocks_before(data: memoryview, end: int) -> Iterator[LogBlock]:
    """The blocks that begin before *end*, scanned in the whole file: what follows a block says whether it is sound."""
    return takewhile(lambda block: (block.offset or 0) < end, scan_blocks(data))


def _block_before(data: memoryview, end: int) -> LogBlock | None:
    """The sound block that ends at *end*; None when the reverse pointer does not lead to one."""
    if end < len(MAGIC) + 2 * LENGTH_SIZE:
        return None
    start = end - LENGTH_SIZE - Cursor(data[end - LENGTH_SIZE : end]).int64()
    if not 0 <= start < end:
        return None
    if start >= _OVERLAP and data[start - _OVERLAP : start + 1] == MAGIC:
        return None  # read forward, the block may be lost to the magic that ends in its own
    try:
        block, block_end = decode_block(data, start)
    except DecodeError:
        return None
    return block if block_end == end else None


Source = str | os.PathLike[str] | bytes | bytearray | memoryview
"""A path, or the bytes themselves."""


def map_source(source: Source, storage: Storage | None = None) -> tuple[str | None, memoryview]:
    """The path, if there is one, and the bytes of *source*, which are read when they are touched.

    Raises:
        StorageError: there is no such file, or it cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return None, memoryview(source).cast("B")
    path = os.fspath(source)
    storage, name = place(path, storage)
    return path, storage.map(name)


def place(path: str, storage: Storage | None = None) -> tuple[Storage, str]:
    """The storage of a file and its path there: those given, or the folder and the name."""
    return open_parent(path) if storage is None else (storage, path)


class LogReader:
    """The blocks of one log file, which may be larger than memory.

    *source* is a path, or the bytes themselves.  Iterating yields the blocks in file order, ``reversed()`` from the
    last to the first, both as often as one likes.  Damage raises nothing: a span that cannot be read is a block of
    type CORRUPT.  The file is mapped as it is at opening; what a writer appends later is not seen.

    Blocks stay usable after the reader is closed, for their contents are views that keep the map alive.

    Raises:
        StorageError: there is no such file, or it cannot be read.

    Source: HoodieLogFileReader; spec/log-file.md.
    """

    def __init__(self, source: Source, *, storage: Storage | None = None) -> None:
        self.path: str | None
        self._data: memoryview | None
        self.path, self._data = map_source(source, storage)

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self._bytes())

    def __iter__(self) -> Iterator[LogBlock]:
        return scan_blocks(self._bytes())

    def __reversed__(self) -> Iterator[LogBlock]:
        return scan_blocks_reversed(self._bytes())

    def to_arrow(
        self,
        schema: pa.Schema | None = None,
        *,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> pa.Table:
        """The records of all data blocks, in file order, as they stand in the log: nothing is merged or rolled back.

        *schema*, *columns* and *filter* are those of :meth:`LogBlock.to_arrow`; without *schema* all blocks must have
        been written with one.  Corrupt spans are passed over, as queries do; small blocks are decoded together.

        Raises:
            StorageError: the reader is closed.
            DecodeError: the content of a block is damaged.
            SchemaError: the blocks have different schemas, which do not fit *schema*, or a column is not there.
        """
        batches = list(record_batches(scan_runs(self._bytes()), schema=schema, columns=columns, filter=filter))
        if (other := next((batch for batch in batches if batch.schema != batches[0].schema), None)) is not None:
            raise SchemaError(
                f"{self.path or 'the buffer'} has blocks of unlike schemas, {batches[0].schema.names} and "
                f"{other.schema.names}: say which one to bring them to"
            )
        return pa.Table.from_batches(batches, None if batches else schema or pa.schema([]))

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self._data = None

    def __enter__(self) -> LogReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _bytes(self) -> memoryview:
        if self._data is None:
            raise StorageError(f"the reader of {self.path or 'a buffer'} is closed", path=self.path)
        return self._data
