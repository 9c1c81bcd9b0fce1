"""The lock of Hudi's FileSystemBasedLockProvider, file for file: Java's writers and ours exclude each other.

A lock that expires can be lost: its owner was stopped for longer than that, and another writer has taken the lock.  So
the file names its owner; the owner renews it, and checks that it is still the owner before it changes what others see.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
import time
import uuid
from dataclasses import dataclass, field

from hudiformat.errors import StorageError, UnsupportedFeatureError
from hudiformat.naming.file_names import join_path
from hudiformat.storage.opening import open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.locks import FileLockOptions
from hudiformat.timeline.config_files import META_FOLDER
from hudiformat.write.commit.lock_providers.lock import Lock

_LOCK_FILE = "lock"


@dataclass(frozen=True, slots=True)
class FileSystemLock(Lock):
    """A file that only one writer can create, and that names that writer.

    A lock file older than *expire_minutes* is deleted, because its writer must have died; 0 means never.
    Source: FileSystemBasedLockProvider, Hudi 1.2.0.
    """

    storage: Storage
    folder: str
    expire_minutes: int = 0
    token: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def expires_after(self) -> float:
        """The seconds after which other writers may delete the lock file; 0 means never."""
        return self.expire_minutes * 60.0

    @property
    def renew_every(self) -> float:
        """See :attr:`hudiformat.write.commit.lock_providers.lock.Lock.renew_every`."""
        return self.expires_after / 3

    def try_acquire(self) -> bool:
        """Take the lock; an expired lock of another writer is deleted first."""
        if self.expire_minutes and not self._remove_expired():
            return False
        content = self._content()
        try:
            self.storage.create(self._path, content, sync=False)
        except StorageError as error:
            is_final = isinstance(error.__cause__, PermissionError | NotADirectoryError)  # waiting does not help
            if not is_final and (self.storage.exists(self._path) or self.storage.exists(self.folder)):
                # Another writer has the lock, or had it a moment ago; or this one has created it, and the storage's
                # answer was lost: then the file has this writer's content.
                return self._read() == content
            raise
        return True

    def is_own(self) -> bool:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.is_own`."""
        return self.token.encode() in self._read()

    def renew(self) -> None:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.renew`."""
        if self.is_own():
            self.storage.create(self._path, self._content(), overwrite=True, sync=False)

    def release(self, *, is_sure: bool = False) -> None:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.release`."""
        if is_sure or self.is_own():
            self.storage.delete(self._path)

    def describe(self) -> str:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.describe`."""
        return f"{self.storage.root}/{self._path} {self._read().decode(errors='replace')}".rstrip()

    def _content(self) -> bytes:
        created = time.strftime("%Y-%m-%d %H:%M:%S.000")
        written = {"lockCreateTime": created, "lockThreadName": _writer(), "owner": self.token, "id": str(uuid.uuid4())}
        return json.dumps(written).encode()

    def _read(self) -> bytes:
        attempts_left = 3
        while True:
            try:
                return self.storage.read(self._path)
            except StorageError:  # noqa: PERF203 - as rarely as a lock changes hands
                if not self.storage.exists(self._path):
                    return b""  # it has just been released
                # It cannot be read; or it was released, and another writer has taken the lock since: read that one.
                attempts_left -= 1
                if not attempts_left:
                    raise

    def _remove_expired(self) -> bool:
        """Delete the lock file if it has expired; return False if another writer is doing so.

        Two writers may find one expired lock.  Only one of them can create a file that is named after the content of
        that lock, and this one deletes it; the other would delete the new lock of the first.
        """
        if not self._is_old(_LOCK_FILE):
            return True
        expired = self._read()
        claim = f"{_LOCK_FILE}.expired-{hashlib.sha256(expired).hexdigest()[:16]}"
        try:
            self.storage.create(join_path(self.folder, claim), self.token.encode(), sync=False)
        except StorageError:
            if self._is_old(claim):  # the writer that wanted to delete the lock has died, too
                self.storage.delete(join_path(self.folder, claim))
            return False
        if self._read() == expired and self._is_old(_LOCK_FILE):
            self.storage.delete(self._path)
        self.storage.delete(join_path(self.folder, claim))
        return True

    def _is_old(self, name: str) -> bool:
        found = next((entry for entry in self.storage.list(self.folder) if entry.name == name), None)
        if found is None or found.modified is None:
            return False
        return time.time() * 1000 - found.modified > self.expires_after * 1000

    @property
    def _path(self) -> str:
        return join_path(self.folder, _LOCK_FILE)


def file_system_lock(storage: Storage, options: FileLockOptions) -> FileSystemLock:
    """Return the lock of the table at the root of *storage*.

    Raises:
        UnsupportedFeatureError: two writers could both create the lock file.
    """
    storage_of_lock = open_storage(options.path) if options.path else storage
    if not storage_of_lock.capabilities.atomic_create:
        raise UnsupportedFeatureError(
            f"{storage_of_lock.root}: expected a storage that creates files atomically, for the lock file, found one "
            "that does not; install hudiformat[s3], [gcs] or [azure] if it is one of these, or set "
            "hoodie.write.lock.filesystem.path to a folder on a storage that does",
            feature="file-system lock without atomic create",
        )
    return FileSystemLock(storage_of_lock, "" if options.path else META_FOLDER, options.expire_minutes)


def _writer() -> str:
    return f"hudiformat {socket.gethostname()} {os.getpid()} {threading.current_thread().name}"
