"""Object stores in memory."""

from __future__ import annotations

from fsspec.implementations.memory import MemoryFileSystem

from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage


def memory_files() -> Storage:
    """An object store of its own: files appear when they are closed, and cannot be renamed in one step.

    By itself fsspec has one for all, which looks through the files of all tests for those of a folder.
    """
    files = MemoryFileSystem(skip_instance_cache=True)
    files.store, files.pseudo_dirs = {}, [""]
    return open_storage("/table", filesystem=files)
