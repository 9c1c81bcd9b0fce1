"""The plan of a repair and its result, as values to show and print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.errors import HudiFormatError, without_warnings
from hudiformat.notebook import Rows, show
from hudiformat.services.service_result import ServiceResult


class RepairKind(Enum):
    """The kind of damage that a step of a repair puts right.

    Source: docs/repair.md.
    """

    PROPERTIES = "properties"
    """``hoodie.properties`` is lost or half written, or its backup was left."""
    ARCHIVE = "archive"
    """A file of the archived timeline cannot be read."""
    COMMIT = "commit"
    """The file of a completed instant is empty or cannot be read."""
    PLAN = "plan"
    """The plan of a pending instant is missing or cannot be read, so that it cannot be carried out."""
    PENDING = "pending"
    """An instant was begun or planned, and its writer is dead."""
    METADATA = "metadata"
    """The metadata table cannot be read, or contradicts the files in the table's folders."""
    PARTITION = "partition"
    """A partition metadata file is missing or damaged."""
    ORPHAN = "orphan"
    """A data file or temporary file belongs to no commit."""
    LOG = "log"
    """A log file is damaged in a part."""
    FILES = "files"
    """A base file is damaged or missing, or a log file that a commit names is missing."""
    LEFTOVER = "leftover"
    """Markers of a write that has ended, or a metadata table that the table no longer uses."""
    KEYS = "keys"
    """Keys are in two file groups."""
    LABEL = "label"
    """Times count another unit than their label says."""


class StepState(Enum):
    """The state of a step.

    Source: docs/repair.md.
    """

    PLANNED = "planned"
    """It can be done, and has not been."""
    REFUSED = "refused"
    """It is not done, because a writer may be alive or needed facts are not known."""
    DONE = "done"
    FAILED = "failed"
    """It was begun and could not be finished; the table is as before it, or the next repair goes on."""


@dataclass(frozen=True, slots=True)
class RepairStep:
    """One step of a repair: ``what`` is done about ``path``, which is relative to the table, and ``why``.

    ``lost`` says which rows or facts are lost; it is empty if nothing is.  If the step is refused or has failed,
    ``reason`` says why.

    Source: docs/repair.md.
    """

    kind: RepairKind
    path: str
    what: str
    why: str
    lost: str = ""
    state: StepState = StepState.PLANNED
    reason: str = ""

    def __repr__(self) -> str:
        lost = f"; lost: {self.lost}" if self.lost else ""
        return f"<RepairStep {self.state.value} {self.kind.value} {self.path}: {self.what}{lost}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Repair(ServiceResult[RepairStep]):
    """The steps of a repair of the table at ``path``; ``applied`` says whether they were carried out.

    It is false if there are no steps.

    ``taken_away`` is the folder, relative to the table, with the files that were removed or replaced.  Its file
    ``taken.json`` says where each came from and why.  It is None if there are no such files.

    Source: docs/repair.md.
    """

    path: str = ""
    applied: bool = False
    taken_away: str | None = None

    @classmethod
    def of(cls, path: str, steps: tuple[RepairStep, ...], *, applied: bool, taken_away: str | None = None) -> Repair:
        """Return the repair of the table at *path* by these *steps*.

        Source: docs/repair.md.
        """
        counts = Counter(step.state.value for step in steps)
        done = ", ".join(f"{count} {state}" for state, count in counts.items())
        return cls("repair", done, steps, path=path, applied=applied, taken_away=taken_away)

    def __repr__(self) -> str:
        where = f"; files in {self.taken_away}" if self.taken_away else ""
        return f"<Repair of {self.path}: steps: {self.done or 'none'}{where}>"

    def _repr_html_(self) -> str:
        rows = [(one.state.value, one.kind.value, one.path, one.what, one.lost, one.reason) for one in self.items]
        facts = {"table": self.path, "steps": self.done or "none", "files taken away to": self.taken_away}
        title = "Repair" if self.applied else "Plan of a repair"
        return show(title, facts, Rows(("state", "kind", "path", "what is done", "lost", "reason"), rows))

    @property
    def steps(self) -> tuple[RepairStep, ...]:
        """The steps in their order, which are ``items`` too."""
        return self.items

    @property
    def left(self) -> tuple[RepairStep, ...]:
        """The steps that have not been done: planned, refused or failed."""
        return tuple(step for step in self.steps if step.state is not StepState.DONE)


@dataclass(frozen=True, slots=True)
class Job:
    """A step with the function that carries it out, which is None if the step is refused.

    ``check`` tries, without changing anything, whether the step can be carried out, and raises the error that it would
    end in.
    """

    step: RepairStep
    run: Callable[[RepairFolder], object] | None
    check: Callable[[], object] | None = None

    @classmethod
    def refused(cls, step: RepairStep, reason: str) -> Job:
        """Return a job whose step is refused for this *reason*."""
        return cls(replace(step, state=StepState.REFUSED, reason=reason), None)

    def checked(self) -> Job:
        """Return this job, or a refused one if its step cannot be carried out."""
        if self.run is None or self.check is None:
            return self
        try:
            with without_warnings():  # the step says what is lost
                self.check()
        except HudiFormatError as error:
            return Job.refused(self.step, f"it cannot be done, and nothing of it is begun: {error}")
        return self

    def carry_out(self, taken: RepairFolder) -> RepairStep:
        """Carry out the step, and return it with its new state: done or failed."""
        if self.run is None:
            return self.step
        try:
            self.run(taken)
        except HudiFormatError as error:
            return replace(self.step, state=StepState.FAILED, reason=str(error))
        return replace(self.step, state=StepState.DONE)
