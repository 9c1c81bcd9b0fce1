"""Where the sink keeps what nobody is to see yet, and what its tasks tell the coordinator: plain values that pickle.

Readers pass over names that begin with a dot, so everything lies in one folder of the output with such a name: files
that wait to become visible, and the journal.  Staged files end in ``.inprogress`` besides, for readers that look for
``*.parquet`` everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from hudiformat.errors import OptionError

ROOT = ".hudiformat-sink"


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of the sink called *name*; each query that writes into one output has a name of its own."""

    name: str = "default"

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name or self.name.startswith("."):
            raise OptionError(
                f"expected the name of a sink, without / and no dot at its start, found {self.name!r}", option="name"
            )

    @property
    def staging(self) -> str:
        """The folder of all files that are not visible yet."""
        return f"{ROOT}/{self.name}/staging"

    @property
    def journal(self) -> str:
        """The folder of what has been decided and what is finished."""
        return f"{ROOT}/{self.name}/journal"

    def staged(self, name: str) -> str:
        """A file that is not visible yet."""
        return f"{self.staging}/{name}.inprogress"

    def plan(self, batch: int) -> str:
        """What has been decided about *batch*."""
        return f"{self.journal}/{plan_name(batch)}"

    def done(self, batch: int) -> str:
        """What is left to do when *batch* is finished."""
        return f"{self.journal}/{done_name(batch)}"


def plan_name(batch: int) -> str:
    """The file that is there while *batch* is decided and not finished."""
    return f"{batch:020d}.plan"


def done_name(batch: int) -> str:
    """The file that says that *batch* is finished."""
    return f"{batch:020d}.done"


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that a task has written, for the folder ``partition``: ``path`` is where it lies now.

    ``name`` is that of the task, its number in the task and the attempt; before it comes the batch's, once it is known.
    """

    partition: str
    name: str
    path: str
    size: int
    rows: int


@dataclass(frozen=True, slots=True)
class TaskCommit:
    """What a task reports when it has written its share of a batch.

    ``batch`` and ``tasks``, how many there are, are None where a task is not told: then whoever commits says them.
    ``watermark`` (milliseconds since 1970) is the time before which the task expects no more rows; None when it saw
    none.
    """

    batch: int | None
    task: int
    tasks: int | None
    files: tuple[StagedFile, ...]
    watermark: int | None = None
