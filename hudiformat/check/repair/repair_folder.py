"""Move files to the folder of a repair, with a list that says where each came from and why.

A file is added to the list before it is moved.  So if the process dies in between, the list names too many files, never
too few.  If the storage supports rename, a file is moved in one step; else it is copied, compared, and then deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hudiformat.errors import StorageError
from hudiformat.naming.file_names import join_path
from hudiformat.services.leftovers import REPAIR_FOLDER
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.config_files import META_FOLDER

REPAIRS = f"{META_FOLDER}/{REPAIR_FOLDER}"
"""The folder of all repairs."""
LIST = "taken.json"
_CHUNK = 1 << 24  # bytes

Indexes = Mapping[str, Sequence[str]]
"""Indexes of the metadata table, each with its columns."""


@dataclass(slots=True)
class RepairFolder:
    """The folder of one repair, which is created with the first file."""

    storage: Storage
    instant: str
    files: list[dict[str, str]] = field(default_factory=list)
    build: dict[str, list[str]] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The path of the folder, relative to the table."""
        return f"{REPAIRS}/{self.instant}"

    @property
    def is_empty(self) -> bool:
        """Whether no file was moved or copied."""
        return not self.files

    def move_file(self, path: str, why: str) -> None:
        """Move the file *path* to this folder, if it exists.

        Raises:
            StorageError: the file cannot be moved, and stays where it was.
        """
        if self.storage.exists(path):
            self._move(path, self._add_to_list([path], why, "taken")[0])

    def take_folder(self, path: str, why: str) -> None:
        """Move all files below the folder *path* to this folder, and delete *path*.

        Raises:
            StorageError: a file cannot be moved.
        """
        paths = list(files_below(self.storage, path))
        for source, target in zip(paths, self._add_to_list(paths, why, "taken"), strict=True):
            self._move(source, target)
        self.storage.delete_folder(path)

    def copy_file(self, path: str, why: str) -> None:
        """Copy the file *path*, which is going to be replaced or deleted, to this folder, if it exists.

        Raises:
            StorageError: the file cannot be copied.
        """
        if self.storage.exists(path):
            self._copy(path, self._add_to_list([path], why, "copied")[0])

    def note_unbuilt_indexes(self, indexes: Indexes) -> None:
        """Note in the list that these indexes of the metadata table have to be built again; none if all are built."""
        self.build = {name: list(columns) for name, columns in indexes.items()}
        self._save()

    def _add_to_list(self, paths: Sequence[str], why: str, how: str) -> list[str]:
        """Add *paths* to the list, and return the paths to which they are moved."""
        targets = [self._free(path) for path in paths]
        for path, target in zip(paths, targets, strict=True):
            self.files.append({"from": path, "to": target, "why": why, "how": how})
        self._save()
        return targets

    def _free(self, path: str) -> str:
        used = {file["to"] for file in self.files}
        target = f"{self.folder}/{path}"
        number = 2
        while target in used:
            target, number = f"{self.folder}/{path}.{number}", number + 1
        return target

    def _save(self) -> None:
        content = {"table": self.storage.root, "files": self.files, "build": self.build}
        self.storage.create(f"{self.folder}/{LIST}", json.dumps(content, indent=2).encode(), overwrite=True)

    def _move(self, source: str, target: str) -> None:
        if self.storage.capabilities.rename:
            self.storage.rename(source, target)
            return
        self._copy(source, target)
        self.storage.delete(source)

    def _copy(self, source: str, target: str) -> None:
        data = self.storage.map(source)
        with self.storage.open_new(target) as file:
            for start in range(0, len(data), _CHUNK):
                file.write(data[start : start + _CHUNK])
            file.sync()
        if self.storage.map(target) != data:
            root = self.storage.root
            raise StorageError(
                f"{root}/{target}: expected a copy of {source}, found other bytes; {source} stays where it is: repair "
                "again when nobody writes to it",
                path=f"{root}/{target}",
            )


def files_below(storage: Storage, folder: str) -> Iterator[str]:
    """Yield the paths of all files in *folder* and its subfolders."""
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        for entry in storage.list(current):
            path = join_path(current, entry.name)
            if entry.is_dir:
                waiting.append(path)
            else:
                yield path


def unbuilt_indexes(storage: Storage) -> dict[str, dict[str, list[str]]]:
    """Return the indexes that earlier repairs have not built yet, by the instant of the repair."""
    found = {}
    for entry in storage.list(REPAIRS):
        try:
            content = json.loads(storage.read(f"{REPAIRS}/{entry.name}/{LIST}"))
            build = {str(name): [str(one) for one in columns] for name, columns in content["build"].items()}
        except (StorageError, ValueError, TypeError, LookupError, AttributeError):
            continue  # the repair died before it moved a file
        if build:
            found[entry.name] = build
    return found


def note_built_indexes(storage: Storage, instant: str) -> None:
    """Note in the list of an earlier repair that its indexes have been built."""
    path = f"{REPAIRS}/{instant}/{LIST}"
    content = {**json.loads(storage.read(path)), "build": {}}
    storage.create(path, json.dumps(content, indent=2).encode(), overwrite=True)
