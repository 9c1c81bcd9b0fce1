"""The lock of Hudi's InProcessLockProvider, among the threads of one process."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field

from hudiformat.write.commit.lock_providers.lock import Lock


@dataclass(frozen=True, slots=True)
class InProcessLock(Lock):
    """A lock among the threads of this process, one per table.  Source: InProcessLockProvider, Hudi 1.2.0."""

    root: str
    token: str = field(default_factory=lambda: str(uuid.uuid4()))

    def try_acquire(self) -> bool:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.try_acquire`."""
        with _registry_lock:
            if self.root in _owners:
                return False
            _owners[self.root] = self.token
            return True

    def is_own(self) -> bool:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.is_own`."""
        with _registry_lock:
            return _owners.get(self.root) == self.token

    def release(self, *, is_sure: bool = False) -> None:  # noqa: ARG002 - of the protocol
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.release`."""
        with _registry_lock:
            if _owners.get(self.root) == self.token:
                del _owners[self.root]

    def describe(self) -> str:
        """See :meth:`hudiformat.write.commit.lock_providers.lock.Lock.describe`."""
        return f"the lock of {self.root} in this process"


_owners: dict[str, str] = {}
"""The tokens of the writers that hold the locks of tables in this process."""
_registry_lock = threading.Lock()
