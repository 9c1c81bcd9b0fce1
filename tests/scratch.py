"""Where tests have their files: in memory if there is room, since there syncing a file takes no time."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - the file system, in which the folder is this process's own
_LEAST = 4 << 30
_NAME = "hudiformat-tests-"


def use_memory() -> Path | None:
    """Have all temporary files of this process, and of those that it starts, in a new folder in memory.

    None, and nothing is done, where ``TMPDIR`` says another place, or four gigabytes are not free.  Folders that runs
    have left which were killed, or whose tests failed, are removed.
    """
    if "TMPDIR" in os.environ or not _MEMORY.is_dir():
        return None
    for left in _MEMORY.glob(f"{_NAME}*"):
        if not Path("/proc", left.name.removeprefix(_NAME)).exists():
            shutil.rmtree(left, ignore_errors=True)
    if shutil.disk_usage(_MEMORY).free < _LEAST:
        return None
    made = _MEMORY / f"{_NAME}{os.getpid()}"
    made.mkdir(mode=0o700, exist_ok=True)
    os.environ["TMPDIR"] = str(made)
    tempfile.tempdir = None  # Python looks again
    return made
