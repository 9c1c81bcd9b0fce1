"""The lock of Hudi's StorageBasedLockProvider: an object beside the table that is only replaced on a condition.

The object is never deleted.  It names its owner and the time until which it is valid; an owner that releases the lock
writes that it has expired.  Another writer may take it then, or once the time has passed, by more than clocks differ.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from dataclasses import dataclass

from hudiformat.errors import StorageError, UnsupportedFeatureError
from hudiformat.storage.protocol import Storage
from hudiformat.storage.versions import Versions
from hudiformat.table.options.locks import StorageLockOptions
from hudiformat.timeline.config_files import META_FOLDER
from hudiformat.write.commit.lock_providers.lock import Lock

LOCK_FILE = f"{META_FOLDER}/.locks/table_lock.json"
_AUDIT_SWITCH = f"{META_FOLDER}/.locks/audit_enabled.json"
_AUDIT_FOLDER = f"{META_FOLDER}/.locks/audit"
_DRIFT_MS = 500
"""Milliseconds by which the clocks of two machines may differ."""


@dataclass(frozen=True, slots=True)
class LockState:
    """The content of the lock file; ``valid_until`` is in milliseconds since 1970."""

    expired: bool
    valid_until: int
    owner: str

    def to_json(self) -> bytes:
        """Return the bytes that Hudi writes.  Source: StorageLockData, Hudi 1.2.0."""
        values = {"expired": self.expired, "validUntil": self.valid_until, "owner": self.owner}
        return json.dumps(values, separators=(",", ":")).encode()

    @classmethod
    def parse(cls, data: bytes) -> LockState:
        """Parse the content of a lock file; other fields are ignored.

        Raises:
            ValueError: it is not the content of a lock file.
        """
        values = json.loads(data)
        if not isinstance(values, dict):
            raise ValueError("no JSON object")  # noqa: TRY004 - of what a file holds, as other errors here
        expired, until, owner = (values.get(name) for name in ("expired", "validUntil", "owner"))
        if not (isinstance(expired, bool) and isinstance(until, int) and isinstance(owner, str)):
            raise ValueError("expected expired, validUntil and owner")  # noqa: TRY004 - of a value in a file
        return cls(expired, until, owner)

    def is_free(self, now: float) -> bool:
        """Return whether another writer may take the lock at *now*, in milliseconds since 1970."""
        return self.expired or now > self.valid_until + _DRIFT_MS


class StorageBasedLock(Lock):
    """A lock file on an object store.

    A request whose answer is lost may have succeeded: then the file names this owner, and counts as this owner's.
    Source: StorageBasedLockProvider, Hudi 1.2.0.
    """

    def __init__(self, storage: Storage, versions: Versions, options: StorageLockOptions) -> None:
        self._storage = storage
        self._versions = versions
        self._validity = options.validity
        self._renew_every = options.renew_every
        self._guard = threading.RLock()
        self._held: tuple[LockState, str] | None = None
        self._problem = ""
        self._audit: _Audit | None = None
        self.token = str(uuid.uuid4())

    @property
    def renew_every(self) -> float:
        """See :attr:`hudiformat.write.commit.lock_providers.lock.Lock.renew_every`."""
        return float(self._renew_every)

    def try_acquire(self) -> bool:
        """Take the lock if it is free; a store that does not answer is asked again by the next call."""
        with self._guard:
            try:
                found = self._read()
            except StorageError as error:
                self._problem = str(error)
                return False
            self._problem = ""
            now = _now()
            if found is not None and found[0].owner == self.token and not found[0].is_free(now):
                self._hold(found, now)  # an earlier request has succeeded whose answer was lost
                return True
            if found is not None and not found[0].is_free(now):
                return False
            state = LockState(expired=False, valid_until=now + self._validity * 1000, owner=self.token)
            held = self._replace(state, None if found is None else found[1])
            if held is None:
                return False
            self._hold(held, now)
            return True

    def is_own(self) -> bool:
        """Return whether the file names this owner; a lease that has run out is renewed first, if nobody has taken it.

        Raises:
            StorageError: the store does not answer.
        """
        with self._guard:
            if self._held is None:
                return False
            found = self._read()
            if found is None or found[0].owner != self.token or found[0].expired:
                return False
            self._held = found
            if _now() < found[0].valid_until - _DRIFT_MS - 1000:
                return True
            return self._renew()

    def renew(self) -> None:
        """Extend the time until which the lock is valid, unless another writer has taken it."""
        with self._guard:
            self._renew()

    def release(self, *, is_sure: bool = False) -> None:  # noqa: ARG002 - each write is conditional
        """Write that the lock has expired, unless another writer has taken it.

        Raises:
            StorageError: the store does not answer.
        """
        with self._guard:
            if self._held is None:
                return
            state, version = self._held
            now = _now()
            new = self._put(LockState(expired=True, valid_until=state.valid_until, owner=self.token), version)
            if new is None:
                found = self._read()
                if found is not None and found[0].owner == self.token and not found[0].expired:
                    expired = LockState(expired=True, valid_until=found[0].valid_until, owner=self.token)
                    new = self._put(expired, found[1])
            self._held = None
            if self._audit is not None and new is not None:
                self._audit.record("END", now, held=True)

    def describe(self) -> str:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.describe`."""
        try:
            data = self._get()
        except StorageError as error:
            return str(error)
        content = "" if data is None else f" {data[0].decode(errors='replace')}"
        return f"{self._storage.root}/{LOCK_FILE}{content} {self._problem}".rstrip()

    def _hold(self, held: tuple[LockState, str], now: int) -> None:
        self._held = held
        if self._audit is None:
            self._audit = _Audit.of(self._storage, self.token, now, self._validity)
        if self._audit is not None:
            self._audit.record("START", now, held=True)

    def _renew(self) -> bool:
        if self._held is None:
            return False
        now = _now()
        state = LockState(expired=False, valid_until=now + self._validity * 1000, owner=self.token)
        held = self._replace(state, self._held[1])
        if held is None:
            return False
        self._held = held
        if self._audit is not None:
            self._audit.record("RENEW", now, held=True)
        return True

    def _replace(self, state: LockState, version: str | None) -> tuple[LockState, str] | None:
        """Write *state* over the file of *version*; return None if another writer was first, or the store is away."""
        try:
            new = self._put(state, version)
        except StorageError as error:
            self._problem, new = str(error), None
        if new is not None:
            return state, new
        with contextlib.suppress(StorageError):  # the answer to a request that succeeded may have been lost
            found = self._read()
            if found is not None and found[0] == state:
                return found
        return None

    def _read(self) -> tuple[LockState, str] | None:
        found = self._get()
        if found is None:
            return None
        try:
            return LockState.parse(found[0]), found[1]
        except ValueError as error:
            name = f"{self._storage.root}/{LOCK_FILE}"
            raise StorageError(
                f"{name}: expected the lock file of StorageBasedLockProvider, found {found[0][:100]!r}: {error}; "
                "delete it once no writer is at work",
                path=name,
            ) from error

    def _get(self) -> tuple[bytes, str] | None:
        try:
            return self._versions.get(LOCK_FILE)
        except OSError as error:
            raise _error("read", self._storage, error) from error

    def _put(self, state: LockState, version: str | None) -> str | None:
        try:
            return self._versions.put(LOCK_FILE, state.to_json(), version)
        except OSError as error:
            raise _error("write", self._storage, error) from error


class _Audit:
    """The file in which an owner records what it does with the lock, if the table has audits enabled.

    Source: StorageLockProviderAuditService, AuditServiceFactory, Hudi 1.2.0.
    """

    def __init__(self, storage: Storage, owner: str, started: int, validity: int) -> None:
        self._storage = storage
        self._owner = owner
        self._started = started
        self._validity = validity
        self._lines = ""

    @classmethod
    def of(cls, storage: Storage, owner: str, started: int, validity: int) -> _Audit | None:
        """Return the audit of an owner; None if the table has none, or if that cannot be found out."""
        try:
            if not storage.exists(_AUDIT_SWITCH):
                return None
            switch = json.loads(storage.read(_AUDIT_SWITCH))
            is_on = isinstance(switch, dict) and switch.get("STORAGE_LOCK_AUDIT_SERVICE_ENABLED") is True
        except (StorageError, ValueError):
            return None
        return cls(storage, owner, started, validity) if is_on else None

    def record(self, state: str, moment: int, *, held: bool) -> None:
        """Add a line; an error does not keep a writer from its work."""
        record = {  # in the order of Java's HashMap
            "transactionStartTime": self._started,
            "lockHeld": held,
            "state": state,
            "lockExpiration": moment + self._validity * 1000,
            "ownerId": self._owner,
            "timestamp": moment,
        }
        self._lines += json.dumps(record, separators=(",", ":")) + "\n"
        with contextlib.suppress(StorageError):
            path = f"{_AUDIT_FOLDER}/{self._started}_{self._owner}.jsonl"
            self._storage.create(path, self._lines.encode(), overwrite=True, sync=False)


def storage_based_lock(storage: Storage, options: StorageLockOptions) -> StorageBasedLock:
    """Return the lock of the table at the root of *storage*.

    Raises:
        UnsupportedFeatureError: the storage has no versions of objects, as Hudi's lock needs them.
    """
    versions: Versions | None = getattr(storage, "versions", None)
    if versions is None:
        raise UnsupportedFeatureError(
            f"{storage.root}: expected a table on S3, Google Cloud Storage or Azure for StorageBasedLockProvider, "
            "found a storage whose files have no versions; Hudi has this lock on object stores alone: use "
            "FileSystemBasedLockProvider here, or install hudiformat[s3], [gcs] or [azure]",
            feature="storage-based lock without versions of objects",
        )
    return StorageBasedLock(storage, versions, options)


def _error(action: str, storage: Storage, error: OSError) -> StorageError:
    name = f"{storage.root}/{LOCK_FILE}"
    return StorageError(f"cannot {action} {name}: {error}", path=name)


def _now() -> int:
    return int(time.time() * 1000)
