"""What maintenance did and why: frozen values, for programs and for the command line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableSize:
    """The files that a snapshot query reads, and all data files on storage, including older versions; sizes are bytes.

    Source: spec/services.md.
    """

    files: int
    bytes: int
    stored_files: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class ServiceReport:
    """The result of one service: whether it was due and why, and what it did.

    ``instants`` are the instants of what it did.  ``before`` and ``after`` are the sizes of the table's files before
    and after it, if it ran.  ``error`` says why it failed.

    Source: spec/services.md.
    """

    service: str
    is_due: bool
    why: str
    done: str = ""
    instants: tuple[str, ...] = ()
    seconds: float = 0.0
    before: TableSize | None = None
    after: TableSize | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    """What one run of ``maintain`` did, and why, service by service in the order in which they run.

    Source: spec/services.md.
    """

    path: str
    is_dry_run: bool
    services: tuple[ServiceReport, ...] = ()

    @property
    def failed(self) -> tuple[ServiceReport, ...]:
        """The services that failed."""
        return tuple(one for one in self.services if one.error is not None)
