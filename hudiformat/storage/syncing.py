"""Syncing the names of files and folders: a file is on disk only if the names of all folders above it are.

A folder's name is synced once in a process; it is synced again after the folder was deleted and made anew.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class _Folder:
    """A folder in the tree of those that this process has synced, or that hold one of these."""

    is_synced: bool = False
    inner: dict[str, _Folder] = field(default_factory=dict)


_top = _Folder()


def sync_entry(path: Path, root: Path) -> None:
    """Sync the name of *path*, and those of the folders above it and below *root* that have not been synced yet."""
    sync_folder(path.parent)
    found = []
    for folder in path.parents:
        known = _at(folder)
        if known.is_synced or folder == root:
            break
        sync_folder(folder.parent)
        found.append(known)
    for known in found:  # only now: one that is known stands for all above it
        known.is_synced = True


def forget_synced(folder: Path) -> None:
    """Forget that *folder*, and what is in it, was synced."""
    *above, name = folder.parts
    at = _top
    for part in above:
        inner = at.inner.get(part)
        if inner is None:
            return
        at = inner
    at.inner.pop(name, None)


def sync_folder(folder: Path) -> None:
    """Sync the names of the files and folders in *folder*.

    Raises:
        OSError: the folder cannot be opened or synced.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _at(folder: Path) -> _Folder:
    at = _top
    for part in folder.parts:
        at = at.inner.setdefault(part, _Folder())
    return at
