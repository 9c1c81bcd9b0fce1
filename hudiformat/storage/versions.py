"""Objects that are replaced only if nobody else has replaced them since, by the versions that a store gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@runtime_checkable
class Versions(Protocol):
    """The objects of a store with their versions.  Errors of requests are OSErrors."""

    def get(self, path: str) -> tuple[bytes, str] | None:
        """Return the content and the version of an object; None if there is none."""
        ...

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        """Replace an object that has *version*, or create one if that is None, and return its new version.

        Return None if the object has another version, or exists.
        """
        ...


@dataclass(frozen=True, slots=True)
class VersionsBelow:
    """The objects of *store* below the folder *base*."""

    store: Versions
    base: str

    def get(self, path: str) -> tuple[bytes, str] | None:
        """See :meth:`Versions.get`."""
        return self.store.get(f"{self.base}/{path}")

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        """See :meth:`Versions.put`."""
        return self.store.put(f"{self.base}/{path}", data, version)
