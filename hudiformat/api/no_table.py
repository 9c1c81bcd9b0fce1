"""Explain why there is no table at a path, and suggest the path that may have been meant."""

from __future__ import annotations

from hudiformat.storage.opening import open_parent, open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.config_files import PROPERTIES_FILE

_MOST_LEVELS = 8
_MOST_FOLDERS = 100
_MOST_NAMED = 3


def why_no_table(storage: Storage) -> str:
    """Return a message that says what is at the path, and which table above it or inside it may have been meant."""
    if (above := _table_above(storage.root)) is not None:
        return f"{storage.root} is not a Hudi table, but inside of one; did you mean {above}?"
    entries = storage.list("")
    if not entries:
        if not storage.exists(""):
            return f"{storage.root} is not a Hudi table: there is no such folder"
        if _is_file(storage):
            return f"{storage.root} is not a Hudi table: it is a file; give the folder of the table"
    inside = [one.name for one in entries if one.is_dir][:_MOST_FOLDERS]
    tables = [name for name in inside if storage.exists(f"{name}/{PROPERTIES_FILE}")]
    if tables:
        meant = " or ".join(f"{storage.root}/{name}" for name in tables[:_MOST_NAMED])
        return f"{storage.root} is not a Hudi table, but {_count_tables(len(tables))} inside it; did you mean {meant}?"
    return f"{storage.root} is not a Hudi table: it has no folder .hoodie"


def _count_tables(tables: int) -> str:
    return "there is one" if tables == 1 else f"there are {tables}"


def _is_file(storage: Storage) -> bool:
    folder, name = open_parent(storage.root)
    return any(one.name == name and not one.is_dir for one in folder.list(""))


def _table_above(path: str) -> str | None:
    """Return the path of the table that the local *path* is inside of; None if there is none."""
    if "://" in path:
        return None
    parents = [path.rsplit("/", count)[0] for count in range(1, path.count("/"))]
    return next((one for one in parents[:_MOST_LEVELS] if open_storage(one).exists(PROPERTIES_FILE)), None)
