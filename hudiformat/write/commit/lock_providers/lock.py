"""What a lock can be asked; each provider has a class of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Lock(ABC):
    """A lock that one writer at a time can hold; each object stands for one writer.

    As it is here, it never expires, and nobody waits for it in a queue.
    """

    __slots__ = ()

    @property
    def renew_every(self) -> float:
        """The seconds between two renewals; 0 means that none are needed."""
        return 0.0

    @abstractmethod
    def try_acquire(self) -> bool:
        """Take the lock and return True; return False, at once, if another writer has it."""

    def give_up(self) -> None:  # noqa: B027 - most locks have no queue
        """Wait for the lock no longer, if the lock has a queue of those that do."""

    @abstractmethod
    def is_own(self) -> bool:
        """Return whether this writer has the lock, and no other has taken it since.

        Raises:
            StorageError: that cannot be found out.
        """

    def renew(self) -> None:  # noqa: B027 - some locks do not expire
        """Restart the time after which the lock expires, unless another writer has taken it."""

    @abstractmethod
    def release(self, *, is_sure: bool = False) -> None:
        """Release the lock, unless another writer has taken it; if *is_sure*, without checking that."""

    @abstractmethod
    def describe(self) -> str:
        """Describe where the lock is and who has it."""
