"""Find what is damaged in a log file.  Rules: spec/log-file.md, "Salvage".

A query skips more than is damaged: it treats an intact block as corrupt if junk follows it, as Hudi does.  In this
module a block is intact if its own bytes are, whatever the bytes around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from hudiformat.arguments import check_arguments
from hudiformat.codec.log.block import LogBlock, decode_block
from hudiformat.codec.log.frame import (
    FORMAT_VERSION,
    LENGTH_SIZE,
    MAGIC,
    MAX_HEADER_ENTRIES,
    BlockType,
    CommandType,
    HeaderKey,
)
from hudiformat.codec.log.reader import Source, map_source, scan_blocks
from hudiformat.errors import DecodeError, SchemaError, TruncatedBlockError, UnsupportedFeatureError
from hudiformat.progress import notebook_bar
from hudiformat.storage.mapping import PageReleaser
from hudiformat.storage.protocol import Storage
from hudiformat.wire import Cursor

_NEXT_MAGIC = re.compile(re.escape(MAGIC))
_INSTANT = re.compile(rb"[0-9]{1,32}")
_INSTANT_KEYS = (HeaderKey.INSTANT_TIME, HeaderKey.TARGET_INSTANT_TIME, HeaderKey.COMPACTED_BLOCK_TIMES)


class FindingKind(Enum):
    """What can be wrong with a part of a log file.

    Source: spec/log-file.md, "Salvage".
    """

    TORN_TAIL = "torn tail"
    """The file ends inside its last block: the writer died, or is still writing.  Normal; readers skip it."""
    CORRUPT = "corrupt block"
    """A block that cannot be read."""
    JUNK = "junk"
    """Bytes without a magic, which belong to no block."""
    HIDDEN = "hidden block"
    """An intact block that queries skip, because the bytes around it are damaged."""
    QUIRK = "quirk"
    """A block that can be read only because Java casts its lengths to 32 bits, or reads a negative count as 0."""
    CONTENT = "content"
    """A sound block whose content or headers cannot be read; a query that needs it fails."""


@dataclass(frozen=True, slots=True)
class LogFinding:
    """A damaged span of a log file: *length* bytes at *offset*, both in bytes, from the start of the file.

    ``type`` and ``instants`` describe the block.  For a lost block they are guessed from the part of its header that
    can still be read.  ``instants`` include the instants that a rollback reverts, or that a compacted block replaces.

    Source: spec/log-file.md, "Salvage".
    """

    kind: FindingKind
    offset: int
    length: int
    message: str
    type: BlockType | None = None
    instants: tuple[str, ...] = ()
    fault: str = field(default="", compare=False, repr=False)
    """The message without the offset of the bytes that are wrong."""


@check_arguments
def verify_log(source: Source, *, contents: bool = True, storage: Storage | None = None) -> list[LogFinding]:
    """Return the findings about a log file, in file order; empty if it is sound.

    With *contents* every block is decoded, one at a time; without it, only frames are checked.  A content that is not
    supported is no finding.

    Raises:
        StorageError: the file does not exist, or cannot be read.

    Source: spec/log-file.md, "Salvage".
    """
    _, data = map_source(source, storage)
    with notebook_bar("verifying", len(data)) as progress:
        return list(scan_findings(data, contents=contents, progress=progress))


def scan_findings(
    source: Source,
    *,
    contents: bool = True,
    storage: Storage | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[LogFinding]:
    """Yield the findings of :func:`verify_log` one by one.

    *progress* is called after each part of the file with the number of bytes that were checked so far.
    """
    _, data = map_source(source, storage)
    for part in scan_parts(data, progress=progress):
        if isinstance(part, LogFinding):
            yield part
        elif contents and (error := content_error(part) or positions_error(part)):
            yield _finding(FindingKind.CONTENT, part, str(error), fault=_fault(error))


def scan_parts(data: memoryview, *, progress: Callable[[int], None] | None = None) -> Iterator[LogBlock | LogFinding]:
    """Yield every byte of *data* once: intact blocks, and findings about the spans between them.

    A finding about a hidden block, or one with quirks, comes before the block.  *progress* is called after each part
    with the number of bytes that were read so far.
    """
    visible = (block.offset for block in scan_blocks(data) if block.type is not BlockType.CORRUPT)
    seen, position, trail = next(visible, None), 0, PageReleaser(data)
    while position < len(data):
        try:
            block, end = decode_block(data, position)
        except DecodeError as error:
            # From the second byte on, since two magics may overlap; readers skip such a block, as Hudi does.
            following = _NEXT_MAGIC.search(data, position + 1)
            end = following.start() if following else len(data)
            yield _lost(data, position, end, error)
        else:
            while seen is not None and seen < position:
                seen = next(visible, None)
            if seen != position:
                message = "intact, but queries skip it: the bytes around it are damaged"
                yield _finding(FindingKind.HIDDEN, block, message)
            if block.quirks is not None:
                yield _finding(FindingKind.QUIRK, block, f"read as Java reads it: {block.quirks}")
            yield block
        position = end
        trail.advance_to(position)
        if progress is not None:
            progress(position)


def _fault(error: Exception) -> str:
    return error.reason if isinstance(error, DecodeError) else str(error)


def _finding(kind: FindingKind, block: LogBlock, message: str, *, fault: str | None = None) -> LogFinding:
    instants = [value for key, value in block.header.entries if key in _INSTANT_KEYS]
    return LogFinding(
        kind, block.offset or 0, block.size or 0, message, block.type, _instants(instants), fault or message
    )


def _lost(data: memoryview, start: int, end: int, error: DecodeError) -> LogFinding:
    kind, instants = _guess(data, start, end)
    if data[start : start + len(MAGIC)] != MAGIC:
        finding = FindingKind.JUNK
    elif isinstance(error, TruncatedBlockError) and end == len(data):
        finding = FindingKind.TORN_TAIL
    else:
        finding = FindingKind.CORRUPT
    return LogFinding(finding, start, end - start, str(error), kind, instants, error.reason)


def _guess(data: memoryview, start: int, end: int) -> tuple[BlockType | None, tuple[str, ...]]:
    """Return the probable type and instants of a damaged block, from the part of its header that can be read."""
    cursor = Cursor(data[start:end])
    kind, values = None, []
    try:
        magic = cursor.take(len(MAGIC))
        cursor.take(LENGTH_SIZE)
        if cursor.int32() != FORMAT_VERSION and magic != MAGIC:
            return None, ()
        kind = BlockType(cursor.int32())
        for _ in range(min(cursor.int32(), MAX_HEADER_ENTRIES)):
            key = HeaderKey(cursor.int32())
            value = cursor.take(cursor.int32())
            if key in _INSTANT_KEYS:
                values.append(bytes(value))
    except ValueError:  # an unknown code or a wrong length: the fields behind it cannot be located
        pass
    return None if kind is BlockType.CORRUPT else kind, _instants(values)


def _instants(values: list[bytes]) -> tuple[str, ...]:
    """Return the instants in these header values, each once; a value may hold several."""
    instants = (instant for value in values for instant in value.split(b",") if _INSTANT.fullmatch(instant))
    return tuple(dict.fromkeys(instant.decode() for instant in instants))


def content_error(block: LogBlock) -> DecodeError | SchemaError | None:
    """Return why the content of *block* cannot be read; None if it can be read, or is not supported."""
    try:
        if block.type is BlockType.COMMAND:
            order = block.header.get(HeaderKey.COMMAND_BLOCK_TYPE)
            is_rollback = order == str(int(CommandType.ROLLBACK_BLOCK))
            return None if is_rollback else DecodeError(f"a command of type {order}")
        if block.type is BlockType.DELETE:
            block.deletes()
        else:
            block.to_arrow()
    except UnsupportedFeatureError:
        return None
    except (DecodeError, SchemaError) as error:
        return error
    return None


def positions_error(block: LogBlock) -> DecodeError | None:
    """Return why the record positions of *block* cannot be read; None if they can, or there are none.

    If they cannot be read, the records of the block are merged by their keys.
    """
    try:
        block.positions()
    except DecodeError as error:
        return error
    return None
