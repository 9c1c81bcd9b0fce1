"""Where tests have their files: in memory if there is room, since there syncing a file takes no time."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_MEMORY = Path("/dev/shm")
_NAME = "hudiformat-tests-"


def use_memory(memory: Path = _MEMORY, *, least: int = 4 << 30) -> Path | None:
    """Have all temporary files of this process, and of those that it starts, in a new folder in memory.

    None, and nothing is done, where ``TMPDIR`` says another place, or *least* bytes are not free.  Folders that runs
    have left which were killed, or whose tests failed, are removed.
    """
    if "TMPDIR" in os.environ or not memory.is_dir():
        return None
    for left in memory.glob(f"{_NAME}*"):
        if not Path("/proc", left.name.removeprefix(_NAME)).exists():
            shutil.rmtree(left, ignore_errors=True)
    if shutil.disk_usage(memory).free < least:
        return None
    made = memory / f"{_NAME}{os.getpid()}"
    made.mkdir(mode=0o700, exist_ok=True)
    os.environ["TMPDIR"] = str(made)
    tempfile.tempdir = None  # Python looks again
    return made
