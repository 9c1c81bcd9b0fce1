"""Random commits, compactions, rollbacks, restores and cleans against a dict and a naive view of the folder."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hudiformat import CommitError, FileSlice, Table, open_table
from hudiformat.naming import BaseFileName, LogFileName, WriteToken
from hudiformat.options.values import CleanPolicy, Operation, ServiceOptions
from hudiformat.timeline import VERSION_WITH_COMPLETION_TIMES, Action, load_table_config
from hudiformat.transaction.transaction import begin_write
from hudiformat.write.write import WriteTask
from tests.effort import examples
from tests.metadata.tables import add_metadata_table
from tests.tables import Clock, content, new_table, rows

KEYS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True)
State = dict[str, int]
OPTIONS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.log.compaction.blocks.threshold": "2",
}


def partition_of(key: str) -> str:
    return "x" if key in "abc" else "y"


class Lifecycle(RuleBasedStateMachine):
    """``history`` has the instants whose effect is in the table, each with the rows after it."""

    version = 9

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.table = new_table(self.folder / "t", clock=Clock(), options=OPTIONS, version=self.version)
        self.history: list[tuple[str, State]] = []
        self.readable_from = ""
        self.step = 0

    @property
    def state(self) -> State:
        return self.history[-1][1] if self.history else {}

    def remember(self, instant: str, state: State) -> None:
        self.history.append((instant, state))

    @rule(keys=KEYS)
    def upsert(self, keys: list[str]) -> None:
        self.step += 1
        commit = self.table.upsert(rows(*((key, self.step, partition_of(key), self.step) for key in keys)))
        self.remember(commit.instant, {**self.state, **dict.fromkeys(keys, self.step)})

    @rule(keys=KEYS)
    def delete(self, keys: list[str]) -> None:
        commit = self.table.delete(rows(*((key, None, partition_of(key)) for key in keys)).select(["k", "p"]))
        self.remember(commit.instant, {key: value for key, value in self.state.items() if key not in keys})

    @rule(keys=KEYS)
    def die(self, keys: list[str]) -> None:
        """A writer that never commits; the next one rolls it back."""
        write = begin_write(self.table.context, Operation.UPSERT)
        with WriteTask(write.plan, WriteToken(0, 0, 0)) as task:
            task.write_batch(rows(*((key, 99, partition_of(key), 99) for key in keys)).to_batches()[0])
            task.finish()

    @rule()
    def schedule(self) -> None:
        self.table.schedule_compaction()

    @rule()
    def compact(self) -> None:
        for commit in self.table.compact():
            # The rows are those of the moment at which it was planned, and as of its instant those of that moment.
            before = [state for instant, state in self.history if instant < commit.instant]
            self.history.append((commit.instant, before[-1] if before else {}))
            self.history.sort(key=lambda entry: entry[0])

    @rule()
    def log_compact(self) -> None:
        for commit in self.table.log_compact():
            self.remember(commit.instant, self.state)

    @rule(policy=st.sampled_from([CleanPolicy.BY_COMMITS, CleanPolicy.BY_VERSIONS]), kept=st.integers(1, 3))
    def clean(self, policy: CleanPolicy, kept: int) -> None:
        services = ServiceOptions(clean_policy=policy, clean_commits=kept, clean_versions=kept)
        context = replace(self.table.context, options=replace(self.table.context.options, services=services))
        if Table(context).clean() is not None:
            # By versions nothing but the newest rows are promised.
            writes = [write.time for write in self.table.timeline.completed_writes]
            self.readable_from = max(self.readable_from, writes[-kept if policy is CleanPolicy.BY_COMMITS else -1])

    @precondition(lambda self: self.history)
    @rule()
    def roll_back(self) -> None:
        newest = self.table.timeline.completed_writes[-1].time
        if newest > self.readable_from:
            try:
                self.table.rollback(newest)
            except CommitError as error:
                refused = ("is going to read its files", "before the writes after it")
                assert any(reason in str(error) for reason in refused)  # noqa: PT017 - everything stays as it was
                return
            self.history = [entry for entry in self.history if entry[0] != newest]

    @precondition(lambda self: len(self.history) > 2)
    @rule(back=st.integers(0, 2))
    def restore(self, back: int) -> None:
        done = self.table.timeline.by_completion_time
        writes = [one for one in done if one.action in (Action.DELTA_COMMIT, Action.COMMIT)]
        if len(writes) > back and writes[-1 - back].time > self.readable_from:
            self.table.restore(writes[-1 - back].time)
            left = {write.time for write in self.table.timeline.completed_writes}
            self.history = [entry for entry in self.history if entry[0] in left]

    @invariant()
    def rows_are_the_models(self) -> None:
        if hasattr(self, "history"):
            assert dict(content(self.table, ["k", "v"])) == self.newest_state()

    def newest_state(self) -> State:
        """The rows after the newest write that is no compaction: one may have been planned long before it was run."""
        compactions = {done.time for done in self.table.timeline.completed if done.action is Action.COMMIT}
        states = [state for instant, state in self.history if instant not in compactions]
        return states[-1] if states else {}

    @invariant()
    def slices_are_what_the_folder_says(self) -> None:
        if hasattr(self, "history"):
            found = {(one.partition_path, one.file_id): names(one) for one in self.table.file_slices()}
            assert found == naive_slices(Path(self.table.path), self.table)

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        for instant, expected in self.history:
            if instant >= self.readable_from and not self.table.timeline.pending:
                assert dict(content(self.table, ["k", "v"], as_of=instant)) == expected
        shutil.rmtree(self.folder)


def names(file_slice: FileSlice) -> list[str]:
    base = [] if file_slice.base_file is None else [str(file_slice.base_file.name)]
    return base + sorted(str(log.name) for log in file_slice.log_files)


def naive_slices(folder: Path, table: Table) -> dict[tuple[str, str], list[str]]:
    """The newest base file of each group, and the logs that were completed after it had been begun."""
    if table.config.version < VERSION_WITH_COMPLETION_TIMES:
        return naive_slices_of_version_6(folder, table)
    completed = {done.time: done.completion_time or "" for done in table.timeline.completed_writes}
    groups: dict[tuple[str, str], list[BaseFileName | LogFileName]] = defaultdict(list)
    for path in folder.glob("[xy]/*"):
        if ".log." not in path.name and path.suffix != ".parquet":
            continue
        name = LogFileName.parse(path.name) if ".log." in path.name else BaseFileName.parse(path.name)
        if name.instant in completed:
            groups[path.parent.name, name.file_id].append(name)
    found = {}
    for group, files in groups.items():
        bases = sorted((file for file in files if isinstance(file, BaseFileName)), key=lambda file: file.instant)
        begun = bases[-1].instant if bases else ""
        logs = [str(file) for file in files if isinstance(file, LogFileName) and completed[file.instant] >= begun]
        found[group] = [*map(str, bases[-1:]), *sorted(logs)]
    return found


def naive_slices_of_version_6(folder: Path, table: Table) -> dict[tuple[str, str], list[str]]:
    """The files of the newest two instants of each group while the newer is a pending compaction, else of one.

    What is older than the timeline counts as archived: also log files of a group whose first commit was rolled back,
    with nothing in them that counts.
    """
    first = table.timeline.first_active or ""
    completed = {done.time for done in table.timeline.completed_writes}
    planned = {pending.time for pending in table.timeline.pending if pending.action is Action.COMPACTION}
    groups: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in folder.glob("[xy]/*"):
        if ".log." not in path.name and path.suffix != ".parquet":
            continue
        name = LogFileName.parse(path.name) if ".log." in path.name else BaseFileName.parse(path.name)
        is_planned = name.instant in planned and isinstance(name, LogFileName)
        if name.instant in completed or is_planned or name.instant < first:
            groups[path.parent.name, name.file_id][name.instant].append(path.name)
    found = {}
    for group, slices in groups.items():
        newest, *older = sorted(slices, reverse=True)
        files = slices[newest] + (slices[older[0]] if newest in planned and older else [])
        found[group] = sorted(files, key=lambda name: (name.startswith("."), name))
    return found


class LifecycleWithMetadataTable(Lifecycle):
    """The same, listing the table by a metadata table that every action keeps up."""

    @initialize()
    def start(self) -> None:
        super().start()
        add_metadata_table(self.folder / "t")
        often = {"hoodie.metadata.compact.max.delta.commits": "2"}
        self.table = open_table(self.folder / "t", options={**OPTIONS, **often}, clock=self.table.context.clock)

    @invariant()
    def the_metadata_table_is_there(self) -> None:
        assert not hasattr(self, "table") or load_table_config(self.table.context.storage).metadata_partitions


class LifecycleOfVersion8(Lifecycle):
    """The same in a table of version 8."""

    version = 8


class LifecycleOfVersion6(Lifecycle):
    """The same in a table of version 6, where a log file is named by its slice, or by a compaction that is pending."""

    version = 6


TestLifecycle = Lifecycle.TestCase
TestLifecycle.settings = settings(max_examples=examples(25), stateful_step_count=12, deadline=None)
TestLifecycleOfVersion8 = LifecycleOfVersion8.TestCase
TestLifecycleOfVersion8.settings = settings(max_examples=examples(5), stateful_step_count=10, deadline=None)
TestLifecycleOfVersion6 = LifecycleOfVersion6.TestCase
TestLifecycleOfVersion6.settings = settings(max_examples=examples(25), stateful_step_count=12, deadline=None)
TestLifecycleWithMetadataTable = LifecycleWithMetadataTable.TestCase
TestLifecycleWithMetadataTable.settings = settings(max_examples=examples(10), stateful_step_count=10, deadline=None)
