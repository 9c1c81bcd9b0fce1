"""The folders of the sink's hidden files, and the messages of its tasks to the coordinator, which can be pickled.

Readers skip names that begin with a dot.  So files that are not visible yet, and the journal, are in a folder of the
output with such a name.  Staged files also end in ``.inprogress``, for readers that search for ``*.parquet`` in all
folders.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hudiformat.errors import OptionError

ROOT = ".hudiformat-sink"
_OF_BATCH = re.compile(r"([0-9]{20})-")


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of the sink *name*; queries that write into the same output must have different names."""

    name: str = "default"

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name or self.name.startswith("."):
            raise OptionError(
                f"expected the name of a sink, without / and without a dot at its start, found {self.name!r}",
                option="name",
            )

    @property
    def staging(self) -> str:
        """The folder of all files that are not visible yet."""
        return f"{ROOT}/{self.name}/staging"

    @property
    def journal(self) -> str:
        """The folder of the journal: the plans of decided batches, and the progress after finished ones."""
        return f"{ROOT}/{self.name}/journal"

    def staged(self, name: str, batch: int | None = None) -> str:
        """Return the path of a file that is not visible yet, with its batch in front if that is known."""
        return f"{self.staging}/{'' if batch is None else f'{batch:020d}-'}{name}.inprogress"

    def merged(self, label: str, number: int) -> str:
        """Return the path of the merged file of group *number*, while it is hidden; *label* is that of the plan."""
        return self.staged(f"merged-{label}-{number}")

    def plan(self, batch: int) -> str:
        """Return the path of the plan of *batch*."""
        return f"{self.journal}/{plan_name(batch)}"

    def published(self, batch: int) -> str:
        """Return the path of the mark that all files of *batch* are visible."""
        return f"{self.journal}/{published_name(batch)}"

    def ending(self, batch: int) -> str:
        """Return the path of the plan that ends the input after *batch*."""
        return f"{self.journal}/{ending_name(batch)}"

    def ending_published(self, batch: int) -> str:
        """Return the path of the mark that all files of the plan :meth:`ending` are visible."""
        return f"{self.ending(batch)}-published"

    def done(self, batch: int) -> str:
        """Return the path of the progress after *batch*."""
        return f"{self.journal}/{done_name(batch)}"


def plan_name(batch: int) -> str:
    """Return the name of the file that exists while *batch* is decided and not finished."""
    return f"{batch:020d}.plan"


def ending_name(batch: int) -> str:
    """Return the name of the file that exists while the input ends after *batch*."""
    return f"{batch:020d}.end"


def published_name(batch: int) -> str:
    """Return the name of the file that exists once all files of *batch* are visible, until it is finished."""
    return f"{batch:020d}.published"


def staged_batch(name: str) -> int | None:
    """Return the batch that the name of a staged file begins with, None if it has none."""
    found = _OF_BATCH.match(name)
    return int(found[1]) if found else None


def done_name(batch: int) -> str:
    """Return the name of the file that exists once *batch* is finished."""
    return f"{batch:020d}.done"


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that a task has written for the folder ``partition``; ``path`` is where it is now, hidden.

    ``name`` consists of the numbers of the task and of the file, and the attempt; the visible name begins with the
    batch.  ``size`` is in bytes.  Files of one ``kind`` have the same schema and codec.  ``merged`` says that the file
    was merged from others while it was hidden.
    """

    partition: str
    name: str
    path: str
    size: int
    rows: int
    kind: str = ""
    merged: bool = False


@dataclass(frozen=True, slots=True)
class TaskCommit:
    """The message of a task that has written its part of a batch.

    ``batch`` and ``tasks``, the number of tasks, are None if the task does not know them; then the caller of the commit
    has to pass the batch.  ``watermark`` (milliseconds since 1970) is the time before which the task expects no more
    rows, None if it has no watermark.
    """

    batch: int | None
    task: int
    tasks: int | None
    files: tuple[StagedFile, ...]
    watermark: int | None = None
