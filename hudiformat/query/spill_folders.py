"""Folders for what does not fit into memory, and those that killed processes have left."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

_PREFIX = "hudiformat-spill-"


def spill_folder() -> TemporaryDirectory[str]:
    """A new folder among the temporary files of this machine; it is deleted at the end of a block."""
    return TemporaryDirectory(prefix=_PREFIX)


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
