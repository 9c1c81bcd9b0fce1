"""The check of every path that a storage is given, so that none leads out of its root.

A table is not trusted: its timeline, plans, markers and properties name files, and a name may be ``../../etc`` or
contain a NUL.  Paths are made of such names in many places; each storage checks the whole path in one.
"""

from __future__ import annotations

import re

from hudiformat.errors import StorageError

# An empty segment, "." and "..", each between slashes or at an end; NUL; surrogates, which no file system can encode.
_REFUSED = re.compile(r"(?:\A|/)\.{0,2}(?=/|\Z)|[\0\ud800-\udfff]")
_SHOWN = 200


def checked_path(path: str, root: str) -> str:
    """*path* itself, if it names the root (the empty path) or something below it.

    Raises:
        StorageError: a segment is empty, ``.`` or ``..``, which an absolute path's first one is too, or a character
            cannot be part of a file's name.
    """
    if path and _REFUSED.search(path):
        raise StorageError(
            f"refused the path {path[:_SHOWN]!r} below {root}: expected names separated by single slashes, found an "
            "empty name, '.', '..', NUL or a surrogate; nothing outside the table is read or written, so look for "
            "the file of the table that contains this path",
            path=f"{root}/{path}".encode(errors="backslashreplace").decode(),
        )
    return path
