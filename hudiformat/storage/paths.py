"""Check every path that a storage is given, so that no path leads out of its root.

A table is not trusted: its timeline, plans, markers and properties name files, and a name may be ``../../etc`` or
contain a NUL.  Paths are made of such names in many places, but each storage checks whole paths in one place.
"""

from __future__ import annotations

from hudiformat.errors import StorageError
from hudiformat.wire import is_below_root

_SHOWN = 200


def check_path(path: str, root: str) -> str:
    """Return *path* if it names the root (the empty path) or something below it, and can be a path.

    Raises:
        StorageError: the path leads out of *root*, or cannot be a path.
    """
    if not is_below_root(path):
        raise StorageError(
            f"refused the path {path[:_SHOWN]!r} below {root}: expected names separated by single slashes, found an "
            "empty name, '.', '..', NUL or a surrogate; nothing outside the table is read or written, so look for "
            "the file of the table that contains this path",
            path=f"{root}/{path}".encode(errors="backslashreplace").decode(),
        )
    return path
