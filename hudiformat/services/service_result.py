"""What a service of a table did: one frozen value for all services, for programs and for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar, overload

from hudiformat.errors import TableError
from hudiformat.notebook import Rows, show
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.write.commit.transaction import Commit

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ServiceResult(Sequence[T_co]):
    """What a service of a table did; it is false if there was nothing to do.

    ``service`` is the name of the service, and ``done`` says in a line what it did.  As a sequence it has ``items``:
    the commits of a service that writes rows, the instants of one that does not, and none of one that leaves nothing on
    the timeline.  It can be passed wherever an instant is taken, such as to ``Table.restore``.

    It equals the list of its items, and its only item; one without items equals None.

    Source: spec/services.md.
    """

    service: str
    done: str = ""
    items: tuple[T_co, ...] = ()

    @property
    def instants(self) -> tuple[str, ...]:
        """The instants of what was done or planned, in this order."""
        return tuple(one.time for one in _instants_of(self.items))

    @property
    def commits(self) -> tuple[Commit, ...]:
        """The commits of what was done, with the statistics of the files that were written."""
        return tuple(_commits_of(self.items))

    @property
    def instant(self) -> str:
        """The last of ``instants``.

        Raises:
            TableError: there is none, because there was nothing to do or the service leaves no instant.
        """
        return self._last.time

    @property
    def time(self) -> str:
        """The same as ``instant``, under the name that an ``Instant`` has for it."""
        return self._last.time

    @property
    def action(self) -> Action:
        """The action of ``instant``; errors are those of ``instant``."""
        return self._last.action

    @property
    def state(self) -> State:
        """The state of ``instant``: requested if it was planned, else completed; errors are those of ``instant``."""
        return self._last.state

    @property
    def completion_time(self) -> str | None:
        """The time at which ``instant`` was completed, if it is known; errors are those of ``instant``."""
        return self._last.completion_time

    @property
    def is_completed(self) -> bool:
        """Whether ``instant`` is completed, and not only planned; errors are those of ``instant``."""
        return self._last.is_completed

    @property
    def _last(self) -> Instant:
        found = _instants_of(self.items)
        if not found:
            raise TableError(
                f"{self.service}: expected an instant, found none: {self.done or 'there was nothing to do'}; look "
                "first whether there is one, as by `if result.instants:`"
            )
        return found[-1]

    def __bool__(self) -> bool:
        return self.done != ""

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...

    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        return list(self.items[index]) if isinstance(index, slice) else self.items[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ServiceResult):
            same = (getattr(self, one.name) == getattr(other, one.name) for one in fields(self))
            return type(self) is type(other) and all(same)
        if other is None or isinstance(other, list):
            return list(self.items) == (other or [])
        return self.items == (other,) if isinstance(other, Instant | Commit) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.items[0]) if len(self.items) == 1 else hash(self.items or None)

    def _repr_html_(self) -> str:
        counts = {commit.instant: (commit.num_writes, commit.num_deletes, len(commit.stats)) for commit in self.commits}
        rows = [
            (one.time, one.action.value, one.state.name.lower(), *counts.get(one.time, (None, None, None)))
            for one in _instants_of(self.items)
        ]
        columns = ("instant", "action", "state", "records written", "deleted", "files")
        return show(f"Result of {self.service}", {"done": self.done or "nothing to do"}, Rows(columns, rows))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.service}: {self.done or 'nothing to do'}>"


def commits_result(service: str, commits: Sequence[Commit]) -> ServiceResult[Commit]:
    """Return the result of a *service* that has made these commits."""
    files = sum(len(commit.stats) for commit in commits)
    return ServiceResult(service, f"{files} files written" if commits else "", tuple(commits))


def plan_result(service: str, planned: Instant | None) -> ServiceResult[Instant]:
    """Return the result of planning a *service*, with the instant of the plan, which is None if nothing is due."""
    return ServiceResult(service) if planned is None else ServiceResult(service, "planned", (planned,))


def _instants_of(items: Sequence[object]) -> list[Instant]:
    found: list[Instant] = []
    for one in items:
        if isinstance(one, Instant):
            found.append(one)
        elif isinstance(one, Commit):
            found.append(Instant(one.instant, Action(one.action), State.COMPLETED, one.completion_time))
        elif isinstance(one, ServiceResult):
            found += _instants_of(one.items)
    return found


def _commits_of(items: Sequence[object]) -> list[Commit]:
    found: list[Commit] = []
    for one in items:
        if isinstance(one, Commit):
            found.append(one)
        elif isinstance(one, ServiceResult):
            found += one.commits
    return found


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

    def _repr_html_(self) -> str:
        rows = [(one.service, "yes" if one.is_due else "no", one.why, one.done, one.error) for one in self.items]
        title = "What maintain would do" if self.is_dry_run else "What maintain did"
        return show(title, {"table": self.path}, Rows(("service", "due", "why", "done", "error"), rows))

    @property
    def services(self) -> tuple[ServiceReport, ...]:
        """The results of the services, which are ``items`` too."""
        return self.items

    @property
    def failed(self) -> tuple[ServiceReport, ...]:
        """The services that failed."""
        return tuple(one for one in self.items if one.error is not None)
