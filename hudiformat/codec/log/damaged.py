"""Name the log file in the error about a block that cannot be decoded.

Blocks are decoded long after they were read, blocks of several files together.  A block knows its offset in its file,
but not the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.verify import content_error, positions_error
from hudiformat.errors import DecodeError
from hudiformat.storage.protocol import Storage


@contextmanager
def add_log_file_to_errors(storage: Storage, paths: Iterable[str]) -> Iterator[None]:
    """Add the path of the damaged log file, one of *paths*, to a DecodeError that is raised inside.

    Only then are the files searched, for the first block that cannot be decoded.

    Raises:
        DecodeError: the body raised it.
    """
    try:
        yield
    except DecodeError as error:
        if error.path is None:
            found = (path for path in paths if any(map(_is_damaged, LogReader(path, storage=storage))))
            if (path := next(found, None)) is not None:
                error.in_file(f"{storage.root}/{path}")
        raise


def _is_damaged(block: LogBlock) -> bool:
    return content_error(block) is not None or positions_error(block) is not None
