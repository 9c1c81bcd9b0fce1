"""Which log file a block is of that cannot be decoded.

Blocks are decoded long after they were read, those of several files together, and know nothing of their file but their
offset there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from hudiformat.blocks import LogBlock
from hudiformat.errors import DecodeError
from hudiformat.logfile.reader import LogReader
from hudiformat.logfile.verify import content_error, positions_error
from hudiformat.storage import Storage


@contextmanager
def naming_log_files(storage: Storage, paths: Iterable[str]) -> Iterator[None]:
    """Have an error of the body that a block cannot be decoded say which of the log files *paths* it is in.

    The files are searched only then, for the first block that cannot be decoded.

    Raises:
        DecodeError: that of the body.
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
