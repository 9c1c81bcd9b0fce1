"""What maintenance did and why: frozen values, for programs and for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hudiformat.services.service_result import ServiceResult
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.transaction import Commit


@dataclass(frozen=True, slots=True)
class TableSize:
    """The files that a snapshot query reads, and all data files on storage, including older versions; sizes are bytes.

    Source: spec/services.md.
    """

    files: int
    bytes: int
    stored_files: int
    stored_bytes: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ServiceReport(ServiceResult[Commit | Instant]):
    """The result of one service in a run of ``maintain``: whether it was due and why, and what it did.

    ``before`` and ``after`` are the sizes of the table's files before and after it, if it ran.  ``error`` says why it
    failed.

    Source: spec/services.md.
    """

    is_due: bool = False
    why: str = ""
    seconds: float = 0.0
    before: TableSize | None = None
    after: TableSize | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaintenanceReport(ServiceResult[ServiceReport]):
    """What one run of ``maintain`` did, and why, service by service in the order in which they run.

    It is false if no service had anything to do.

    Source: spec/services.md.
    """

    path: str = ""
    is_dry_run: bool = False

    @classmethod
    def of(cls, path: str, services: Sequence[ServiceReport], *, is_dry_run: bool) -> MaintenanceReport:
        """Return the report about the *services* of the table at *path*.

        Source: spec/services.md.
        """
        done = "; ".join(f"{one.service}: {one.done}" for one in services if one.done)
        return cls("maintain", done, tuple(services), path=path, is_dry_run=is_dry_run)

    @property
    def services(self) -> tuple[ServiceReport, ...]:
        """The results of the services, which are ``items`` too."""
        return self.items

    @property
    def failed(self) -> tuple[ServiceReport, ...]:
        """The services that failed."""
        return tuple(one for one in self.items if one.error is not None)
