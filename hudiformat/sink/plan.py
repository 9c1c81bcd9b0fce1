"""Make the plan of a batch: which files are merged, and the visible names of all files.

A plan is made once all tasks have reported, and is written to the journal.  Pure.  Rules: spec/sink.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any, TypeVar

from hudiformat.errors import CorruptTableError, DataError
from hudiformat.naming.checks import check_partition_path, check_path_in_table
from hudiformat.naming.file_names import join_path
from hudiformat.sink.hidden_files import arrange_files, with_batch
from hudiformat.sink.layout import Layout, StagedFile, TaskCommit
from hudiformat.sink.options import Format, SinkOptions
from hudiformat.sink.packing import pack

_T = TypeVar("_T")
_SKIPPED = 100
"""The number of ranges of skipped batches that are kept; engines may number their batches with gaps."""


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """Files that become the visible file *target*: a single file is renamed, several files are merged.

    The files of a *hidden* group are merged into a hidden file, which becomes visible later.
    """

    number: int
    partition: str
    sources: tuple[str, ...]
    target: str
    hidden: bool = False

    @property
    def format(self) -> Format:
        """The format in which the files were written; after a restart the options may have another one."""
        with _convert_errors("plan"):
            return Format(self.target.rpartition(".")[2])


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The groups of a batch, and the number of compactors: compactor n mod ``compactors`` merges group n.

    ``held`` are the hidden files that wait for their partitions afterwards, and ``due`` the partitions to commit; None
    if the trigger decides that later.  An ``ending`` plan has no batch of its own: it ends the input after ``batch``.
    """

    batch: int
    groups: tuple[MergeGroup, ...]
    compactors: int
    watermark: int | None = None
    held: tuple[StagedFile, ...] = ()
    due: tuple[str, ...] | None = None
    ending: bool = False

    @property
    def partitions(self) -> list[str]:
        """The partitions that get files, visible or not, sorted."""
        return sorted({group.partition for group in self.groups} | {file.partition for file in self.held})

    @property
    def label(self) -> str:
        """A text for names of files that no other plan has."""
        return f"{self.batch}{'-end' if self.ending else ''}"

    @property
    def targets(self) -> tuple[str, ...]:
        """The files that become visible."""
        return tuple(group.target for group in self.groups if not group.hidden)

    def share(self, compactor: int) -> list[MergeGroup]:
        """Return the groups that *compactor* has to merge."""
        own = [group for group in self.groups if group.number % self.compactors == compactor]
        return [group for group in own if len(group.sources) > 1]

    def to_json(self) -> bytes:
        """Return the text for the journal."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> BatchPlan:
        """Parse the text of :meth:`to_json`.

        Raises:
            CorruptTableError: the text is something else, or names files that are not in the output.

        Raises:
            CorruptTableError: it is something else, or names files that are not in the output.
        """
        with _convert_errors("plan"):
            fields = _parse_fields(text, batch=int, groups=list, compactors=int, watermark=int)
            more = _parse_optional_fields(text, held=list, due=list, ending=bool)
            groups = tuple(map(_parse_group, fields.pop("groups")))
            if fields["compactors"] < 1:
                raise ValueError("expected a compactor")
            held = tuple(map(_parse_file, more["held"] or ()))
            due = (
                None if more["due"] is None else tuple(check_partition_path(_expect(str, name)) for name in more["due"])
            )
            return cls(groups=groups, held=held, due=due, ending=more["ending"] or False, **fields)


@dataclass(frozen=True, slots=True)
class Progress:
    """The state after a batch: its number, the watermark, and the pending partitions, each with the time since when.

    Times are in milliseconds since 1970.  ``skipped`` are ranges, first and last, of numbers that no batch had: a batch
    with such a number would come too late.  ``held`` are hidden files that wait for their partitions.
    """

    batch: int = -1
    watermark: int | None = None
    pending: dict[str, int] = field(default_factory=dict)
    skipped: list[list[int]] = field(default_factory=list)
    held: tuple[StagedFile, ...] = ()

    def skipped_before(self, batch: int) -> list[list[int]]:
        """Return the ranges that are skipped once *batch* is finished; before the first batch nothing is skipped."""
        left_out = [[self.batch + 1, batch - 1]] if 0 <= self.batch < batch - 1 else []
        return [*self.skipped, *left_out][-_SKIPPED:]

    def has_skipped(self, batch: int) -> bool:
        """Return whether *batch* was never finished although a later one was."""
        return any(first <= batch <= last for first, last in self.skipped)

    def to_json(self) -> bytes:
        """Return the text for the journal."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Progress:
        """Parse the text of :meth:`to_json`.

        Raises:
            CorruptTableError: the text is something else.

        Raises:
            CorruptTableError: it is something else.
        """
        with _convert_errors("progress"):
            fields = _parse_fields(text, batch=int, watermark=int, pending=dict, skipped=list)
            for first, last in fields["skipped"]:
                _expect(int, first)
                _expect(int, last)
            for partition, since in fields["pending"].items():
                check_partition_path(partition)
                _expect(int, since)
            held = _parse_optional_fields(text, held=list)["held"] or ()
            return cls(held=tuple(map(_parse_file, held)), **fields)


@contextmanager
def _convert_errors(what: str) -> Iterator[None]:
    """Convert the errors of a damaged journal entry, which the body parses, to a CorruptTableError."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise CorruptTableError(f"expected the {what} of a batch in the sink's journal: {error}") from error


def _parse_fields(text: bytes, **kinds: type) -> dict[str, Any]:
    """Return the fields of a JSON object, each checked for its type; ``watermark`` may be null."""
    found = _expect(dict, json.loads(text))
    return {
        name: None if name == "watermark" and found[name] is None else _expect(kind, found[name])
        for name, kind in kinds.items()
    }


def _parse_optional_fields(text: bytes, **kinds: type) -> dict[str, Any]:
    """Return the fields of a JSON object that may be missing or null, each checked for its type."""
    found = _expect(dict, json.loads(text))
    given = {name: found.get(name) for name in kinds}
    return {name: None if value is None else _expect(kinds[name], value) for name, value in given.items()}


def _parse_file(value: Any) -> StagedFile:
    found = _expect(dict, value)
    partition, name, path, kind = (_expect(str, found[field]) for field in ("partition", "name", "path", "kind"))
    check_partition_path(partition)
    if not check_path_in_table(path) or not check_path_in_table(name) or "/" in name:
        raise ValueError(f"expected the name and path of a file, found {name!r} and {path!r}")
    size, rows, merged = _expect(int, found["size"]), _expect(int, found["rows"]), _expect(bool, found["merged"])
    return StagedFile(partition, name, path, size, rows, kind, merged)


def _parse_group(value: Any) -> MergeGroup:
    found = _expect(dict, value)
    group = MergeGroup(
        _expect(int, found["number"]),
        check_partition_path(_expect(str, found["partition"])),
        tuple(check_path_in_table(_expect(str, source)) for source in _expect(list, found["sources"])),
        check_path_in_table(_expect(str, found["target"])),
        _expect(bool, found.get("hidden", False)),
    )
    if group.target.rpartition("/")[0] != group.partition or not all(group.sources) or not group.sources:
        raise ValueError(f"expected files for the partition {group.partition!r}, found {group.target!r}")
    return group


def _expect(kind: type[_T], value: object) -> _T:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


def missing_tasks(messages: Sequence[TaskCommit]) -> list[int]:
    """Return the tasks of the batch that have not reported.

    Raises:
        DataError: there is no message, the messages have no batch or different ones, or a task has two messages.
    """
    batch, tasks = _batch_and_tasks(messages)
    numbers = [message.task for message in messages]
    if twice := sorted({number for number in numbers if numbers.count(number) > 1 or number not in range(tasks)}):
        raise DataError(
            f"batch {batch}: expected one message of each of {tasks} tasks, found tasks {numbers}; {twice} are too many"
        )
    return [number for number in range(tasks) if number not in numbers]


def plan_batch(
    messages: Sequence[TaskCommit],
    options: SinkOptions,
    *,
    held: Sequence[StagedFile] = (),
    due: Sequence[str] | None = None,
    layout: Layout | None = None,
) -> BatchPlan:
    """Return the plan of a batch whose tasks have all reported.

    *held* are the hidden files of earlier batches.  *due* are the partitions to commit; if it is given, files of other
    partitions wait, in the hidden folder of *layout*.

    Raises:
        DataError: a task has not reported, or the messages are not those of one batch.

    Source: CompactCoordinator, Flink 1.20.0.
    """
    batch, tasks = _batch_and_tasks(messages)
    if missing := missing_tasks(messages):
        raise DataError(f"batch {batch}: tasks {missing} have not reported; pass the messages of all tasks")
    files = sorted((f for message in messages for f in message.files), key=lambda file: (file.partition, file.name))
    new = [with_batch(file, batch) for file in files]
    watermarks = [message.watermark for message in messages if message.watermark is not None]
    plan = BatchPlan(
        batch,
        (),
        options.compaction_parallelism or tasks,
        min(watermarks, default=None),
        due=None if due is None else tuple(due),
    )
    if held or due is not None:
        return _add_files(plan, [*held, *new], options, None if due is None else layout or Layout())
    packed = [
        group
        for _, in_partition in groupby(new, lambda file: file.partition)
        for group in _pack_group(list(in_partition), options)
    ]
    return replace(plan, groups=tuple(_make_group(number, group) for number, group in enumerate(packed)))


def plan_end(progress: Progress, options: SinkOptions) -> BatchPlan:
    """Return the plan that publishes all hidden files at the end of the input, and commits all pending partitions."""
    due = tuple(progress.pending)
    plan = BatchPlan(progress.batch, (), options.compaction_parallelism or 1, None, (), due, ending=True)
    return _add_files(plan, progress.held, options, None)


def _add_files(plan: BatchPlan, files: Sequence[StagedFile], options: SinkOptions, layout: Layout | None) -> BatchPlan:
    """Return the plan with groups of hidden files; with a *layout*, files of partitions that are not due wait."""
    groups: list[MergeGroup] = []
    held: list[StagedFile] = []
    for partition in sorted({file.partition for file in files}):
        own = [file for file in files if file.partition == partition]
        found = arrange_files(own, options, is_due=layout is None or partition in (plan.due or ()))
        groups += [_make_group(len(groups) + number, group) for number, group in enumerate(found.published)]
        held += found.waiting
        for group in found.merged:
            assert layout is not None  # noqa: S101 - else all partitions are due, and all groups published
            held.append(_merged_file(group, layout.merged(plan.label, len(groups))))
            groups.append(replace(_make_group(len(groups), group), hidden=True))
    return replace(plan, groups=tuple(groups), held=tuple(held))


def _merged_file(files: Sequence[StagedFile], path: str) -> StagedFile:
    """Return the hidden file that *files* are merged into; its size is an estimate until it is written."""
    return replace(
        files[0], path=path, size=sum(file.size for file in files), rows=sum(file.rows for file in files), merged=True
    )


def _batch_and_tasks(messages: Sequence[TaskCommit]) -> tuple[int, int]:
    kinds = {(message.batch, message.tasks) for message in messages}
    if len(kinds) == 1:
        batch, tasks = kinds.pop()
        if batch is not None and tasks is not None:
            return batch, tasks
        raise DataError("the messages have no batch or no number of tasks: pass batch= to commit()")
    shown = ", ".join(sorted(f"batch {batch} of {tasks} tasks" for batch, tasks in kinds)) or "none"
    raise DataError(f"expected the messages of one batch, found {shown}")


def _pack_group(files: list[StagedFile], options: SinkOptions) -> list[list[StagedFile]]:
    if not options.auto_compaction:
        return [[file] for file in files]
    return pack(files, lambda file: file.size, options.compaction_target, options.packing)


def _make_group(number: int, files: Sequence[StagedFile]) -> MergeGroup:
    partition = files[0].partition
    is_merged = len(files) > 1 or files[0].merged
    name = f"{'compacted-part' if is_merged else 'part'}-{files[0].name}"
    sources = tuple(file.path for file in files)
    return MergeGroup(number, partition, sources, join_path(partition, name))
