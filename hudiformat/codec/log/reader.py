"""Read a log file block by block, forward and in reverse.  Rules: spec/log-file.md.

Every byte of a file belongs to a block that is yielded, except a tail shorter than a magic, which Hudi ignores.  A span
that cannot be read is one CORRUPT block up to the next magic, with the reason.

:func:`sound_frame` and :func:`next_magic` decide what makes a block sound and where a corrupt span ends: in this module
for a whole file, and in :mod:`~hudiformat.codec.log.decoder` for the part of a file that has arrived.

A writer puts the same header into all of its blocks, so most blocks begin like the one before.  Such blocks are found
many at a time (:func:`scan_similar_blocks`): a loop follows their sizes, and all other bytes that make a block sound
are compared in all of them at once.  A block that differs in any of these bytes is read by itself.
"""

from __future__ import annotations

import os
import re
import struct
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, takewhile
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.codec.avro.arrays import Longs
from hudiformat.codec.log.batches import record_batches
from hudiformat.codec.log.block import BlockRun, LogBlock, block_in_frame, decode_block
from hudiformat.codec.log.frame import (
    LENGTH_SIZE,
    MAGIC,
    TAIL_SIZE,
    BlockHeader,
    BlockType,
    Buffer,
    Frame,
    HeaderKey,
    parse_frame,
    parse_header,
)
from hudiformat.conditions.filters import Filter
from hudiformat.errors import (
    ArgumentError,
    CorruptBlockError,
    DecodeError,
    SchemaError,
    StorageError,
    TruncatedBlockError,
    format_value,
)
from hudiformat.naming.file_names import base_name
from hudiformat.notebook import Rows, Size, show, show_error
from hudiformat.storage.mapping import PageReleaser
from hudiformat.storage.opening import open_parent
from hudiformat.storage.protocol import Storage
from hudiformat.storage.streams import open_ranges
from hudiformat.wire import INT32_MAX, Cursor

_NEXT_MAGIC = re.compile(re.escape(MAGIC))
_HEAD = 1 << 16
_SHOWN = 20  # blocks in a notebook
"""Bytes at the beginning of a log file that hold the header of its first block."""
_OVERLAP = len(MAGIC) - 1  # two magics can share a "#"

Source = str | os.PathLike[str] | bytes | bytearray | memoryview
"""A path, or the bytes themselves."""


def map_source(source: Source, storage: Storage | None = None) -> tuple[str | None, memoryview]:
    """Return the path, if there is one, and the bytes of *source*; a mapped file is read as its bytes are used.

    Raises:
        ArgumentError: *source* is neither.
        StorageError: the file does not exist, or cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return None, memoryview(source).cast("B")
    given: object = source
    if not isinstance(given, str | os.PathLike):
        message = f"source: expected a path, a URI, or the bytes of a log file, found {format_value(source)}"
        raise ArgumentError(message, argument="source")
    path = os.fspath(source)
    storage, name = storage_of_file(path, storage)
    return path, storage.map(name)


def storage_of_file(path: str, storage: Storage | None = None) -> tuple[Storage, str]:
    """Return the storage of a file and its path there; without *storage*, the storage of its folder, and its name."""
    return open_parent(path) if storage is None else (storage, path)


class LogReader:
    """The blocks of one log file, which may be larger than memory.

    *source* is a path, or the bytes themselves.  Iterating yields the blocks in file order, ``reversed()`` from the
    last to the first; both can be repeated.  Damage raises nothing: a span that cannot be read is a block of type
    CORRUPT.  The file is mapped when it is opened; the reader does not see what a writer appends later.

    Blocks stay usable after the reader is closed, because their contents are views that keep the map alive.

    Raises:
        StorageError: the file does not exist, or cannot be read.

    Source: HoodieLogFileReader; spec/log-file.md.
    """

    def __init__(self, source: Source, *, storage: Storage | None = None) -> None:
        self.path: str | None
        self._data: memoryview | None
        self.path, self._data = map_source(source, storage)
        self._storage = storage

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a reader of the same file, which another process opens again; a reader of bytes takes them along."""
        return partial(LogReader, storage=self._storage), (self.path or bytes(self._bytes()),)

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self._bytes())

    def __iter__(self) -> Iterator[LogBlock]:
        return scan_blocks(self._bytes())

    def __repr__(self) -> str:
        return f"<LogReader of {self.path or 'a buffer'}>"

    def _repr_html_(self) -> str:
        title = f"LogReader of {base_name(self.path or 'a buffer')}"
        try:
            first = list(islice(self, _SHOWN + 1))
        except StorageError as error:  # the reader is closed
            return show_error(title, error)
        rows = [
            (one.offset, one.type.name.lower(), one.header.get(HeaderKey.INSTANT_TIME), Size(one.size or 0))
            for one in first
        ]
        more = f"the first {_SHOWN} are shown" if len(first) > _SHOWN else None
        facts = {"path": self.path, "size": Size(self.size), "blocks": more}
        return show(title, facts, Rows(("offset", "type", "instant", "size"), rows[:_SHOWN]))

    def __reversed__(self) -> Iterator[LogBlock]:
        return scan_blocks_reversed(self._bytes())

    def to_arrow(
        self,
        schema: pa.Schema | None = None,
        *,
        columns: str | Sequence[str] | None = None,
        filter: Filter | None = None,
        views: bool = False,
    ) -> pa.Table:
        """Return the records of all data blocks, in file order, neither merged nor rolled back.

        *schema*, *columns*, *filter* and *views* are as in :meth:`LogBlock.to_arrow`; without *schema* all blocks must
        have the same schema.  Corrupt spans are skipped, as in queries; small blocks are decoded together.

        Raises:
            StorageError: the reader is closed.
            DecodeError: the content of a block is damaged.
            SchemaError: the blocks have different schemas, which do not fit *schema*, or a column is missing.
        """
        wanted: dict[str, Any] = {"schema": schema, "columns": columns, "filter": filter, "views": views}
        batches = list(record_batches(scan_runs(self._bytes()), **wanted))
        if (other := next((batch for batch in batches if batch.schema != batches[0].schema), None)) is not None:
            raise SchemaError(
                f"{self.path or 'the buffer'} has blocks with different schemas, of the columns "
                f"{batches[0].schema.names} and {other.schema.names}: pass schema= to convert all of them to one"
            )
        return pa.Table.from_batches(batches, None if batches else schema or pa.schema([]))

    def close(self) -> None:
        """Release the file; a second call does nothing."""
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


def first_schema(storage: Storage, path: str) -> str | None:
    """Return the Avro schema (JSON) in the header of a log file's first block; None if the header has none.

    Only the first 64 KiB of the file are read, unless the header is larger.

    Raises:
        CorruptBlockError: the file does not begin with a block.
        StorageError: there is no such file, or it cannot be read.
    """
    with open_ranges(storage, path) as file:
        head = memoryview(file.read_at(min(file.size(), _HEAD), 0))
    with suppress(TruncatedBlockError):
        return parse_header(head).get(HeaderKey.SCHEMA)
    return next((block.header.get(HeaderKey.SCHEMA) for block in LogReader(path, storage=storage)), None)


def scan_blocks(data: memoryview, start: int = 0) -> Iterator[LogBlock]:
    """Yield the blocks from *start* to the end of *data*, in file order; contents are views, whose bytes are not read.

    Source: HoodieLogFileReader.hasNext and next.
    """
    for item in scan_runs(data, start):
        if isinstance(item, BlockRun):
            yield from item.blocks()
        else:
            yield item


def scan_runs(data: memoryview, start: int = 0) -> Iterator[LogBlock | BlockRun]:
    """Yield the blocks of :func:`scan_blocks`, with sound blocks in runs: that saves making a value of each block."""
    trail = PageReleaser(data, start)
    while len(data) - start >= len(MAGIC):
        block = block_at(data, start)
        run = None
        for run in scan_similar_blocks(data, block):
            yield run
            start = int(run.offsets[-1])
            trail.advance_to(start)
        if run is None:
            yield block
            start += block.size or 0
            trail.advance_to(start)


def scan_blocks_reversed(data: memoryview) -> Iterator[LogBlock]:
    """Yield the blocks of *data* from the last to the first, by the reverse pointers.

    If a pointer does not lead to a sound block, as in a torn tail, the file is scanned forward up to that point, and
    the blocks found there are yielded in reverse.  So the blocks are those of :func:`scan_blocks`, except in a file
    that was forged so that sound blocks overlap.

    Source: HoodieLogFileReader.prev, which throws in that case.
    """
    end = len(data)
    trail = PageReleaser(data, end)
    while end:
        block = _block_before(data, end)
        if block is None or block.offset is None:
            # Only the offsets are kept: a forged file may have a block for every six bytes.
            starts = array("q", (block.offset or 0 for block in _blocks_before(data, end)))
            yield from (block_at(data, start) for start in reversed(starts))
            return
        yield block
        end = block.offset
        trail.advance_to(end)


def block_at(data: memoryview, start: int) -> LogBlock:
    """Return the block at *start*; if it is not sound, a CORRUPT block up to the next magic."""
    try:
        return block_in_frame(data, sound_frame(data, start))
    except DecodeError as error:
        return corrupt_block(data[start : next_magic(data, start)], start, error)


def _blocks_before(data: memoryview, end: int) -> Iterator[LogBlock]:
    """Yield the blocks that begin before *end*.

    The whole file is scanned, because what follows a block can make it unsound.
    """
    return takewhile(lambda block: (block.offset or 0) < end, scan_blocks(data))


def _block_before(data: memoryview, end: int) -> LogBlock | None:
    """Return the sound block that ends at *end*; None if the reverse pointer does not lead to one."""
    if end < len(MAGIC) + 2 * LENGTH_SIZE:
        return None
    start = end - LENGTH_SIZE - Cursor(data[end - LENGTH_SIZE : end]).int64()
    if not 0 <= start < end:
        return None
    # Two magics can share a "#": "#HUDI#HUDI#" holds one at byte 0 and one at byte 5.
    if start >= _OVERLAP and data[start - _OVERLAP : start + 1] == MAGIC:
        return None  # a forward scan may find the magic that overlaps this one, and not this block
    try:
        block, block_end = decode_block(data, start)
    except DecodeError:
        return None
    return block if block_end == end else None


def sound_frame(data: Buffer, start: int, *, base: int = 0, ended: bool = True) -> Frame:
    """Return the frame of the sound block at *start*.

    With *ended*, *data* reaches to the end of the file.

    Raises:
        TruncatedBlockError: the block or the bytes behind it are incomplete; without *ended*, more bytes may follow.
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
        raise TruncatedBlockError("the bytes behind the block are missing", needed=frame.end - start + len(MAGIC))
    return frame


def next_magic(data: Buffer, start: int, *, searched: int = 0) -> int:
    """Return where the corrupt span at *start* ends: at the next magic behind its own, or at the end of *data*.

    The first *searched* bytes of the span are known to hold no other magic.

    Source: HoodieLogFileReader.scanForNextAvailableBlockOffset.
    """
    own = len(MAGIC) if data[start : start + len(MAGIC)] == MAGIC else 0
    match = _NEXT_MAGIC.search(data, start + max(own, searched))
    return match.start() if match else len(data)


def corrupt_block(span: memoryview, offset: int, error: DecodeError) -> LogBlock:
    """Return the CORRUPT block for *span*, the bytes at *offset* of the file, which cannot be read because of *error*.

    Source: HoodieLogFileReader.createCorruptBlock.
    """
    content = span[len(MAGIC) :] if span[: len(MAGIC)] == MAGIC else span
    return LogBlock(
        BlockType.CORRUPT,
        BlockHeader(),
        content,
        offset=offset,
        size=len(span),
        reason=str(error),
        fault=error.reason,
    )


_SIZE_AT = struct.Struct(">q").unpack_from
_BEFORE_LEAD = len(MAGIC) + LENGTH_SIZE
"""The lead is what lies between the block size and the content length: version, type and header."""
_MAGIC = f"V{len(MAGIC)}"
_TAIL = [("footers", ">i4"), ("pointer", ">i8")]
_FEWEST, _MOST = 16, 1024  # how many blocks are compared before the first of them is yielded
_RUN_BYTES = 1 << 24  # of the file: the pages of a run stay in memory until the next run
_LEAD_BYTES = 1 << 22  # of the leads that are gathered for one comparison


def scan_similar_blocks(data: memoryview, model: LogBlock) -> Iterator[BlockRun]:
    """Yield the block *model* of *data*, then the sound blocks behind it that have the same type and header.

    The blocks follow each other without a gap.  The first run is *model* alone; each later run is up to twice as long
    as the one before, within a limit of blocks and bytes.  Nothing is yielded if *model* is corrupt or has quirks.
    """
    if model.type is BlockType.CORRUPT or model.quirks is not None or model.offset is None or model.size is None:
        return
    end = model.offset + model.size
    head_size = model.size - TAIL_SIZE - len(model.content)
    run = partial(BlockRun, data, model, head_size=head_size)
    yield run(np.array([model.offset, end]))
    lead = bytes(data[model.offset + _BEFORE_LEAD : model.offset + head_size - LENGTH_SIZE])
    most = max(1, min(_MOST, _RUN_BYTES // model.size, _LEAD_BYTES // len(lead)))
    count = min(_FEWEST, most)
    while True:
        offsets = _follow_sizes(data, end, count, head_size + TAIL_SIZE)
        alike = _count_alike(data, offsets, lead)
        if alike:
            yield run(offsets[: alike + 1])
        if alike < count:
            return
        end = int(offsets[-1])
        count = min(2 * count, most)


def _follow_sizes(data: memoryview, start: int, count: int, smallest: int) -> Longs:
    """Return where up to *count* blocks begin if their sizes are right, and where the last of them ends.

    Three blocks of 100, 120 and 100 bytes, from *start* = 0 on, give ``[0, 100, 220, 320]``.
    """
    offsets = [start]
    for _ in range(count):
        if start + smallest > len(data):
            break
        (size,) = _SIZE_AT(data, start + len(MAGIC))
        end = start + size + _BEFORE_LEAD
        if not start + smallest <= end <= len(data):
            break
        offsets.append(start := end)
    return np.array(offsets, np.int64)


def _count_alike(data: memoryview, offsets: Longs, lead: bytes) -> int:
    """Return the number of blocks before the first one that is not sound or has another lead.

    Three blocks with a lead of 147 bytes, of which the second has a wrong reverse pointer:

        ends - starts      [189, 207, 189]
        head["content"]    [  8,  26,   8]     sound: size - 169 in front of the content - 12 behind it
        tail["pointer"]    [181, 198, 181]     sound: size - 8, here [181, 199, 181]
        sound              [True, False, True], so one block is sound before the first that is not
    """
    if len(offsets) == 1:
        return 0
    starts, ends = offsets[:-1], offsets[1:]
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


def _gather(data: memoryview, starts: Longs, fields: list[tuple[str, str]]) -> npt.NDArray[Any]:
    """Return the *fields* that begin at each of the offsets *starts*, one record of the result for each.

    Fields are not aligned: Numpy sees an item of their total width at every byte of *data*, and picks those at
    *starts*.
    """
    kind = np.dtype(fields)
    raw: npt.NDArray[Any] = np.ndarray(len(data) - kind.itemsize + 1, f"V{kind.itemsize}", data, strides=(1,))[starts]
    return raw.view(kind)
