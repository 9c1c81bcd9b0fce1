"""Use a folder of a storage as a storage of its own."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from hudiformat.storage.protocol import Capabilities, FileInfo, OutputFile, Storage, check_path, reopen


@dataclass(frozen=True, slots=True)
class FolderStorage:
    """The files below *folder* of *storage*, such as a table inside another one.  The methods are those of Storage."""

    storage: Storage
    folder: str

    @property
    def root(self) -> str:
        """The folder, as a user would write it."""
        return f"{self.storage.root}/{self.folder}"

    @property
    def capabilities(self) -> Capabilities:
        """What the storage can do."""
        return self.storage.capabilities

    def list(self, path: str) -> list[FileInfo]:
        """Return the entries of a folder."""
        return self.storage.list(self._below(path))

    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder at *path*."""
        return self.storage.exists(self._below(path))

    def read(self, path: str) -> bytes:
        """Return the whole content of a small file."""
        return self.storage.read(self._below(path))

    def map(self, path: str) -> memoryview:
        """Return the content of a file as it is now."""
        return self.storage.map(self._below(path))

    def open_input(self, path: str) -> pa.NativeFile:
        """Open a file whose ranges can be read."""
        return self.storage.open_input(self._below(path))

    def create(self, path: str, data: bytes, *, overwrite: bool = False, sync: bool = True) -> None:
        """Create a file, so that readers see it complete or not at all."""
        self.storage.create(self._below(path), data, overwrite=overwrite, sync=sync)

    def open_new(self, path: str) -> OutputFile:
        """Open a new file, which is written piece by piece."""
        return self.storage.open_new(self._below(path))

    def reopen(self, path: str) -> OutputFile:
        """Open a file that is there, to write on at its end."""
        return reopen(self.storage, self._below(path))

    def rename(self, source: str, target: str) -> None:
        """Rename a file."""
        self.storage.rename(self._below(source), self._below(target))

    def make_folder(self, path: str) -> None:
        """Create a folder if it is missing."""
        self.storage.make_folder(self._below(path))

    def set_modified(self, path: str, milliseconds: int) -> bool:
        """Set when a file was last written; return whether that has happened."""
        return self.storage.set_modified(self._below(path), milliseconds)

    def sync_deletions(self, path: str) -> None:
        """Return once no power cut can bring back files that were deleted from a folder."""
        self.storage.sync_deletions(self._below(path))

    def delete_empty_folder(self, path: str) -> bool:
        """Delete a folder without content; return whether that has happened."""
        return self.storage.delete_empty_folder(self._below(path))

    def delete_folder(self, path: str) -> bool:
        """Delete a folder with all its content; return whether it existed."""
        return self.storage.delete_folder(self._below(path))

    def delete(self, path: str) -> bool:
        """Delete a file; return whether it existed."""
        return self.storage.delete(self._below(path))

    def _below(self, path: str) -> str:
        return f"{self.folder}/{check_path(path, self.root)}" if path else self.folder
