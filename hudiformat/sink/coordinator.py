"""The coordinator: a batch becomes visible once all of its tasks have reported.

The steps of a batch, each of which can be repeated:

1.  The plan is written to the journal.  From then on the batch is decided, and any other attempt at it is discarded.
2.  Groups of several files are merged into hidden files.
3.  All files are renamed to their visible names.
4.  The journal records that they are visible.  From then on users may merge or delete them: they are not looked for.
5.  The partitions that are due are committed.
6.  The journal records that the batch is finished, and leftover files are deleted.

With the policy ``merge``, files of partitions that are not committed yet stay hidden: the plan names them, the progress
after the batch keeps them, and later plans merge them.

A process that crashes before the end of step 1 has changed nothing visible.  After a later crash
:meth:`FileSink.recover` or the next commit finishes the batch.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from hudiformat.errors import DataError, StorageError
from hudiformat.sink.formats import merge_files
from hudiformat.sink.layout import (
    Layout,
    StagedFile,
    TaskCommit,
    done_name,
    ending_name,
    published_name,
    staged_batch,
)
from hudiformat.sink.options import SinkOptions
from hudiformat.sink.partition_commit import (
    CommitPolicy,
    Extractor,
    Metastore,
    PolicyContext,
    commit_policies,
    commit_trigger,
    due_partitions,
)
from hudiformat.sink.plan import BatchPlan, MergeGroup, Progress, missing_tasks, plan_batch, plan_end
from hudiformat.sink.rolling import Clock, now_milliseconds
from hudiformat.storage.protocol import Storage


@dataclass(frozen=True, slots=True)
class Compactor:
    """One of the compactors of a plan.

    It can be pickled and run on any machine, more than once, and several times at once.
    """

    storage: Storage
    layout: Layout
    plan: BatchPlan
    number: int

    def __call__(self) -> None:
        """Merge the groups of this compactor that have not been merged yet."""
        for group in self.plan.share(self.number):
            target = merged_path(self.layout, self.plan, group)
            if self.storage.exists(target) or self.storage.exists(group.target):
                continue
            unfinished = self.layout.staged(f"merging-{self.plan.label}-{group.number}-{uuid.uuid4().hex}")
            merge_files(self.storage, group.sources, unfinished, group.format)
            try:
                self.storage.rename(unfinished, target)
            except StorageError:
                if not self.storage.exists(target):  # else another attempt has merged the group meanwhile
                    raise


def merged_path(layout: Layout, plan: BatchPlan, group: MergeGroup) -> str:
    """Return the path of a group's file before it becomes visible: a merged file, or the only file of the group."""
    return layout.merged(plan.label, group.number) if len(group.sources) > 1 else group.sources[0]


def run_one_after_the_other(compactors: Sequence[Compactor]) -> None:
    """Run the compactors in this thread."""
    for compactor in compactors:
        compactor()


@dataclass(frozen=True, slots=True)
class BatchCommit:
    """The result of a commit: the files that became visible, and the partitions that were committed."""

    batch: int
    files: tuple[str, ...]
    partitions: tuple[str, ...]


class FileSink:
    """The sink of one query, which writes into the folder *storage*.  It must be the only coordinator of its name.

    *metastore*, *custom* and *extractor* are required by some options, and allowed only with these.  *run* runs the
    compactors, by default one after the other in this thread.

    Raises:
        OptionError: options and arguments contradict each other.
    """

    def __init__(
        self,
        storage: Storage,
        options: SinkOptions | None = None,
        *,
        layout: Layout | None = None,
        metastore: Metastore | None = None,
        custom: CommitPolicy | None = None,
        extractor: Extractor | None = None,
        run: Callable[[Sequence[Compactor]], None] = run_one_after_the_other,
        clock: Clock = now_milliseconds,
    ) -> None:
        self._storage = storage
        self._options = options or SinkOptions()
        self._layout = layout or Layout()
        self._policies = commit_policies(self._options, metastore=metastore, custom=custom)
        self._trigger = commit_trigger(self._options, extractor)
        self._run = run
        self._clock = clock
        self._reported: dict[int, dict[int, TaskCommit]] = {}

    def report(self, message: TaskCommit) -> BatchCommit | None:
        """Add the message of a task; if it was the last missing one, commit the batch and return the commit.

        Batches become visible in the order of their numbers.  A batch whose tasks have all reported waits for earlier
        batches of which some tasks have reported; the returned commit has the files of all batches that became
        visible.  A further message of a task replaces its earlier one.  A message with another number of tasks starts
        its batch anew, and :meth:`recover` drops all messages.

        Raises:
            DataError: as :meth:`commit`; the messages of the batch are dropped.
            StorageError: as :meth:`commit`; the messages are kept, and the next message tries again.
        """
        missing_tasks([message])  # raises if the message has no batch, or no number of tasks
        batch = cast("int", message.batch)
        same = {task: one for task, one in self._reported.get(batch, {}).items() if one.tasks == message.tasks}
        self._reported[batch] = {**same, message.task: message}
        commits = []
        while self._reported:
            first = min(self._reported)
            messages = list(self._reported[first].values())
            if missing_tasks(messages):
                break
            try:
                commits.append(self.commit(messages))
            except DataError:
                del self._reported[first]
                raise
            del self._reported[first]
        return _join_commits([commit for commit in commits if commit is not None])

    def commit(self, messages: Sequence[TaskCommit], *, batch: int | None = None) -> BatchCommit | None:
        """Make a batch visible; *messages* are those of all its tasks.  Return None if the batch was finished before.

        *batch* is for engines whose tasks do not know it; then there must be one message per task.

        Raises:
            DataError: a task has not reported, a partition's values give no time, or the batch was skipped, because a
                later one was committed without it.  Nothing was changed.
            StorageError: the storage failed; the same commit, or recover(), finishes the batch.
        """
        if batch is not None:
            messages = [replace(message, batch=batch, tasks=len(messages)) for message in messages]
        plan = plan_batch(messages, self._options)
        if self._options.policies:
            for partition in filter(None, plan.partitions):
                self._trigger.check(partition)
        progress = self._resume()
        if progress.has_skipped(plan.batch):
            raise DataError(
                f"batch {plan.batch}: the later batch {progress.batch} was committed without it, and batches become "
                "visible in their order; write its rows again in a new batch"
            )
        if plan.batch <= progress.batch:
            self._delete_leftovers(progress)
            return None
        if self._options.holds or progress.held:
            due = self._due_partitions(plan, progress) if self._options.holds else None
            plan = plan_batch(messages, self._options, held=progress.held, due=due, layout=self._layout)
        self._storage.create(self._layout.plan(plan.batch), plan.to_json())
        progress, commit = self._carry_out(plan, progress)
        self._delete_leftovers(progress)
        return commit

    def recover(self) -> int:
        """Finish the decided batch and delete all other leftovers; return the newest finished batch, -1 for none.

        It has to be called at the start of a query, while no task is writing.
        """
        self._reported = {}
        progress = self._resume()
        self._delete_leftovers(progress, all_batches=True)
        return progress.batch

    def end(self) -> list[str]:
        """Commit all pending partitions at the end of the input, and return them; hidden files become visible."""
        progress = self._resume()
        pending = list(progress.pending)
        if progress.held:
            self._delete_leftovers(progress)
            plan = plan_end(progress, self._options)
            self._storage.create(self._layout.ending(plan.batch), plan.to_json())
            progress, commit = self._carry_out(plan, progress)
            self._delete_leftovers(progress)
            return list(commit.partitions)
        if pending:
            self._commit_partitions(pending)
            without_pending = replace(progress, pending={})
            self._storage.create(self._layout.done(progress.batch), without_pending.to_json(), overwrite=True)
        return pending

    def _resume(self) -> Progress:
        """Finish the batch that is decided but not finished, if there is one; return the progress after it."""
        names = {entry.name for entry in self._storage.list(self._layout.journal)}
        done = max((name for name in names if name.endswith(".done")), default=None)
        progress = Progress() if done is None else self._progress(done)
        if progress.held and ending_name(progress.batch) in names:
            plan = BatchPlan.from_json(self._storage.read(self._layout.ending(progress.batch)))
            is_published = self._layout.ending_published(progress.batch).rpartition("/")[2] in names
            progress, _ = self._carry_out(plan, progress, is_published=is_published)
        for name in sorted(name for name in names if name.endswith(".plan")):
            plan = BatchPlan.from_json(self._storage.read(f"{self._layout.journal}/{name}"))
            if plan.batch > progress.batch:  # the plan of a finished batch is a leftover
                is_published = published_name(plan.batch) in names
                progress, _ = self._carry_out(plan, progress, is_published=is_published)
        return progress

    def _progress(self, name: str) -> Progress:
        return Progress.from_json(self._storage.read(f"{self._layout.journal}/{name}"))

    def _carry_out(
        self, plan: BatchPlan, before: Progress, *, is_published: bool = False
    ) -> tuple[Progress, BatchCommit]:
        if not is_published:
            self._make_visible(plan)

        now = self._clock()
        watermark = _latest(before.watermark, plan.watermark)
        pending = self._pending_partitions(plan, before, now)
        committed = plan.due
        if committed is None:
            committed = tuple(self._trigger.committable(pending, now=now, watermark=watermark))
        self._commit_partitions(committed)
        left = {name: since for name, since in pending.items() if name not in committed}
        after = Progress(plan.batch, watermark, left, before.skipped_before(plan.batch), self._hidden_files(plan))
        self._storage.create(self._layout.done(plan.batch), after.to_json(), overwrite=plan.ending)
        return after, BatchCommit(plan.batch, plan.targets, tuple(filter(None, committed)))

    def _pending_partitions(self, plan: BatchPlan, before: Progress, now: int) -> dict[str, int]:
        """Return the partitions that wait, each with the time since when.

        An output without partitions waits only if its files are hidden.
        """
        names = plan.partitions if self._options.policies else []
        new = {name: now for name in names if (name or self._options.holds) and name not in before.pending}
        return {**before.pending, **new}

    def _due_partitions(self, plan: BatchPlan, before: Progress) -> list[str]:
        """Return the partitions that are committed with the batch of *plan*, before any of its files is visible."""
        now = self._clock()
        watermark = _latest(before.watermark, plan.watermark)
        pending = self._pending_partitions(plan, before, now)
        return due_partitions(self._options, self._trigger, pending, now=now, watermark=watermark)

    def _hidden_files(self, plan: BatchPlan) -> tuple[StagedFile, ...]:
        """Return the files that wait after *plan*; files that it has merged get their actual sizes."""
        if not any(group.hidden for group in plan.groups):
            return plan.held
        sizes = {f"{self._layout.staging}/{file.name}": file.size for file in self._storage.list(self._layout.staging)}
        return tuple(replace(file, size=sizes.get(file.path, file.size)) for file in plan.held)

    def _make_visible(self, plan: BatchPlan) -> None:
        compactors = [
            Compactor(self._storage, self._layout, plan, number)
            for number in range(plan.compactors)
            if plan.share(number)
        ]
        if compactors:
            self._run(compactors)
        for group in plan.groups:
            if not group.hidden:
                self._publish(merged_path(self._layout, plan, group), group.target)
        if self._options.policies and plan.groups:
            mark = self._layout.ending_published if plan.ending else self._layout.published
            self._storage.create(mark(plan.batch), b"")

    def _publish(self, source: str, target: str) -> None:
        # If the target exists, the file was renamed before a crash; a storage that copies may then have both.
        if not self._storage.exists(target):
            self._storage.rename(source, target)

    def _commit_partitions(self, partitions: Sequence[str]) -> None:
        for partition in filter(None, partitions):
            for policy in self._policies:
                policy.commit(PolicyContext(partition, self._storage))

    def _delete_leftovers(self, progress: Progress, *, all_batches: bool = False) -> None:
        """Delete all files except the newest journal entry, hidden files that wait, and files of later batches."""
        staging = self._layout.staging
        waiting = {file.path for file in progress.held}
        for path in [f"{staging}/{file.name}" for file in self._storage.list(staging)]:
            batch = staged_batch(path.rpartition("/")[2])
            if path not in waiting and (all_batches or batch is None or batch <= progress.batch):
                self._storage.delete(path)
        self._storage.delete_empty_folder(staging)
        for entry in self._storage.list(self._layout.journal):
            if entry.name != done_name(progress.batch):
                self._storage.delete(f"{self._layout.journal}/{entry.name}")


def _latest(*marks: int | None) -> int | None:
    """Return the latest of the watermarks that are not None; None if there is none."""
    return max((mark for mark in marks if mark is not None), default=None)


def _join_commits(commits: Sequence[BatchCommit]) -> BatchCommit | None:
    """Return one commit for several that follow each other; None for none."""
    if not commits:
        return None
    files = tuple(path for commit in commits for path in commit.files)
    partitions = dict.fromkeys(name for commit in commits for name in commit.partitions)
    return BatchCommit(commits[-1].batch, files, tuple(partitions))
