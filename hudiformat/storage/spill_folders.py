"""Folders for what does not fit into memory, and those that killed processes have left."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import pyarrow as pa

from hudiformat.errors import StorageError

_PREFIX = "hudiformat-spill-"


@contextmanager
def spill_folder() -> Iterator[str]:
    """A new folder among the temporary files of this machine; it is deleted at the end of a block.

    Raises:
        StorageError: it cannot be made.
    """
    with spilling():
        made = TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
    with made as folder:
        yield folder


@contextmanager
def spilling() -> Iterator[None]:
    """Turn the errors of the file system, a full disk for instance, into a StorageError."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise StorageError(
            f"cannot keep rows that do not fit into memory among the temporary files: {error}; free space there, let "
            "TMPDIR name another folder, or allow more memory"
        ) from error


def old_spill_folders(*, seconds: float) -> Iterator[Path]:
    """The spill folders of this machine that nobody has written to for so many seconds."""
    newest = time.time() - seconds
    for folder in sorted(Path(gettempdir()).glob(f"{_PREFIX}*")):
        try:
            written = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
        except OSError:  # it has just been deleted, or is another user's
            continue
        if written < newest:
            yield folder


def delete_spill_folder(folder: Path) -> None:
    """Delete a spill folder; one that is another user's stays."""
    shutil.rmtree(folder, ignore_errors=True)
