"""What a repair takes away: files are moved to a folder of the repair, with a list that says whence and why.

The list has a file before the file is moved, so whoever dies in between leaves a list that says too much, never too
little.  A file is moved in one step where the storage can; else it is copied, compared, and then deleted.
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
class TakenAway:
    """The folder of one repair, which is made with the first file."""

    storage: Storage
    instant: str
    files: list[dict[str, str]] = field(default_factory=list)
    build: dict[str, list[str]] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The path of the folder, below the table."""
        return f"{REPAIRS}/{self.instant}"

    @property
    def is_empty(self) -> bool:
        """Whether nothing was taken away."""
        return not self.files

    def take(self, path: str, why: str) -> None:
        """Move the file *path* here, if it is there.

        Raises:
            StorageError: it cannot be moved; it is where it was.
        """
        if self.storage.exists(path):
            self._move(path, self._entered([path], why, "taken")[0])

    def take_folder(self, path: str, why: str) -> None:
        """Move all files below the folder *path* here, and delete the folder.

        Raises:
            StorageError: a file cannot be moved.
        """
        paths = list(files_below(self.storage, path))
        for source, target in zip(paths, self._entered(paths, why, "taken"), strict=True):
            self._move(source, target)
        self.storage.delete_folder(path)

    def keep(self, path: str, why: str) -> None:
        """Copy the file *path* here, if it is there: it is going to be replaced or deleted.

        Raises:
            StorageError: it cannot be copied.
        """
        if self.storage.exists(path):
            self._copy(path, self._entered([path], why, "copied")[0])

    def owe(self, indexes: Indexes) -> None:
        """Note that these indexes of the metadata table are to be built again; none where it has been done."""
        self.build = {name: list(columns) for name, columns in indexes.items()}
        self._save()

    def _entered(self, paths: Sequence[str], why: str, how: str) -> list[str]:
        """Where *paths* go, once the list has them."""
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
    """The paths of all files in *folder* and the folders in it."""
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        for entry in storage.list(current):
            path = join_path(current, entry.name)
            if entry.is_dir:
                waiting.append(path)
            else:
                yield path


def owed_indexes(storage: Storage) -> dict[str, dict[str, list[str]]]:
    """The indexes that earlier repairs were going to build, by the instant of the repair."""
    found = {}
    for entry in storage.list(REPAIRS):
        try:
            content = json.loads(storage.read(f"{REPAIRS}/{entry.name}/{LIST}"))
            build = {str(name): [str(one) for one in columns] for name, columns in content["build"].items()}
        except (StorageError, ValueError, TypeError, LookupError, AttributeError):
            continue  # it died before it had taken anything away
        if build:
            found[entry.name] = build
    return found


def settle(storage: Storage, instant: str) -> None:
    """Note in the list of an earlier repair that its indexes have been built."""
    path = f"{REPAIRS}/{instant}/{LIST}"
    content = {**json.loads(storage.read(path)), "build": {}}
    storage.create(path, json.dumps(content, indent=2).encode(), overwrite=True)
