"""Make folders for data that does not fit into memory, and find those that killed processes have left."""

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
    """Create a folder among the temporary files of this machine for the body, and delete it at the end.

    Raises:
        StorageError: the folder cannot be created.
    """
    with convert_spill_errors():
        made = TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
    with made as folder:
        yield folder


@contextmanager
def convert_spill_errors() -> Iterator[None]:
    """Convert errors of the file system in the body, such as a full disk, to a StorageError.

    Raises:
        StorageError: the body could not read or write its temporary files.
    """
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise StorageError(
            f"cannot keep rows that do not fit into memory among the temporary files: {error}; free space there, let "
            "TMPDIR name another folder, or allow more memory"
        ) from error


def find_old_spill_folders(*, seconds: float) -> Iterator[Path]:
    """Yield the spill folders of this machine that no process has written to for *seconds*."""
    newest = time.time() - seconds
    for folder in sorted(Path(gettempdir()).glob(f"{_PREFIX}*")):
        try:
            written = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
        except OSError:  # it has just been deleted, or belongs to another user
            continue
        if written < newest:
            yield folder


def delete_spill_folder(folder: Path) -> None:
    """Delete a spill folder; a folder of another user stays."""
    shutil.rmtree(folder, ignore_errors=True)
