"""Gather the facts of a report: read the timeline and list the files once, and read headers of a few log files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from hudiformat.advice.advice import Advice, AdviceList
from hudiformat.advice.advising import advise_on
from hudiformat.advice.facts import gather_facts
from hudiformat.check.verify.verification import verify_table
from hudiformat.errors import HudiFormatError
from hudiformat.file_group.slices import FileSlice, build_slices, latest_slices
from hudiformat.naming.file_names import parse_data_file
from hudiformat.progress import Bar, no_bar
from hudiformat.report.advice import advice_on
from hudiformat.report.events import COMPLETED, MOST_EVENTS, events_of
from hudiformat.report.facts import Event, Finding, Findings, Identity, Limits, TableFacts
from hudiformat.report.growth import GrowthCounter
from hudiformat.report.layout import layout_of
from hudiformat.report.log_blocks import MOST_SLICES, blocks_of, largest_log_slices
from hudiformat.report.outlook import prospects_of, services_of
from hudiformat.storage.protocol import FileInfo
from hudiformat.storage.threads import side_by_side
from hudiformat.table.executor import Result
from hudiformat.table.options.values import WriteOptions
from hudiformat.table.state import TableContext, TableState
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.write.commit.failed_writes import dead_writes

MOST_FINDINGS = 1000
_ATTEMPTS = 3


def gather(context: TableContext, *, verify: bool = True, bar: Bar = no_bar) -> TableFacts:
    """Gather the facts of a table; nothing is changed.

    With *verify*, the files of the newest slices are read, and *bar* shows the progress.  Errors of parts that cannot
    be read become ``problems`` of the facts.

    Raises:
        CorruptTableError, StorageError: the timeline cannot be listed.
    """
    for _ in range(_ATTEMPTS):
        look = _FactReader(context.state())
        facts = look.facts()
        if not facts.problems or look.state.again() is look.state:
            break  # otherwise a file may have been archived or cleaned after the timeline was read
    if verify:
        findings, problems = _verify(context, bar)
        facts = replace(facts, findings=findings, problems=(*facts.problems, *problems))
    return replace(facts, advice=advice_on(facts, look.advised))


@dataclass(eq=False)
class _FactReader:
    """The facts of one state of a table; a part that cannot be read does not stop the others."""

    state: TableState
    problems: list[str] = field(default_factory=list)
    advised: Sequence[Advice] = ()

    def facts(self) -> TableFacts:
        state = self.state
        slices, stored = self.attempt(partial(_list_slices, state)) or ([], [])
        dead = self.attempt(partial(dead_writes, state)) or []
        operations, growth = self.commits(slices)
        events = self.attempt(partial(events_of, state, operations, dead)) or []
        self.advised = self.attempt(partial(_advise, state, slices, sum(stored))) or ()
        options = self.attempt(lambda: state.options) or state.context.options
        limits = Limits(options.sizing.max_file_size, options.sizing.small_file_limit)
        return TableFacts(
            made_at=state.context.clock().isoformat(sep=" ", timespec="seconds"),
            made_by=f"hudiformat {_version()}",
            identity=_identity(state, options),
            limits=limits,
            layout=layout_of(slices, stored_files=len(stored), stored_bytes=sum(stored), small_file_limit=limits.small),
            events=tuple(events[-MOST_EVENTS:]),
            events_left_off=max(len(events) - MOST_EVENTS, 0),
            last_commit=_last_commit(state, events),
            growth=growth.growth(),
            blocks=tuple(side_by_side(state.storage, partial(blocks_of, state.storage), largest_log_slices(slices))),
            blocks_left_off=max(sum(bool(one.log_files) for one in slices) - MOST_SLICES, 0),
            services=services_of(state),
            prospects=self.attempt(partial(prospects_of, state, slices)) or (),
            findings=None,
            problems=tuple(dict.fromkeys(self.problems)),
        )

    def attempt(self, ask: Callable[[], Result]) -> Result | None:
        """Return the result of *ask*; if it raises a HudiFormatError, add the error to ``problems`` and return None."""
        try:
            return ask()
        except HudiFormatError as error:
            self.problems.append(str(error))
            return None

    def commits(self, slices: Sequence[FileSlice]) -> tuple[dict[str, str], GrowthCounter]:
        """Return the operations of the completed writes, and the growth; each commit is read once and not kept."""
        state = self.state
        is_whole = not self.attempt(partial(state.storage.list, state.config.history_folder))
        counter = GrowthCounter(slices, state.timeline.first_active, is_whole=is_whole)
        operations = {}
        for done in state.timeline.by_completion_time:
            if done.action.is_write:
                metadata = self.attempt(partial(state.metadata, done)) or CommitMetadata()
                operations[done.time] = (metadata.operation_type or "").lower()
                counter.add(done, metadata)
        return operations, counter


def _advise(state: TableState, slices: Sequence[FileSlice], stored_bytes: int) -> AdviceList:
    return advise_on(gather_facts(state, listed=(slices, stored_bytes)))


def _list_slices(state: TableState) -> tuple[list[FileSlice], list[int]]:
    """Return the newest file slices, and the sizes of all data files on storage."""
    found: list[FileSlice] = []
    stored: list[int] = []
    for path, files in state.files():
        stored += _sizes(files)
        found += latest_slices(build_slices(path, files, state.visibility))
    return found, stored


def _sizes(files: Iterable[FileInfo]) -> Iterator[int]:
    return (file.size for file in files if parse_data_file(file.name) is not None)


def _identity(state: TableState, options: WriteOptions) -> Identity:
    config = state.config
    return Identity(
        name=config.name,
        path=state.storage.root,
        table_type=config.table_type.value,
        version=config.version,
        record_key=config.record_key_fields,
        ordering=config.ordering_fields,
        partition_by=config.partition_fields,
        merge_mode=config.merge_mode.value,
        base_file_format=config.base_file_format,
        index_type=options.index_type.value,
        indexes=config.metadata_partitions,
        timeline_zone=config.timeline_zone.value,
    )


def _last_commit(state: TableState, events: Sequence[Event]) -> Event | None:
    """Return the write that completed last; None if there is none."""
    writes = [one.time for one in state.timeline.by_completion_time if one.action.is_write]
    is_newest = (one for one in reversed(events) if one.status == COMPLETED and writes and one.time == writes[-1])
    return next(is_newest, None)


def _verify(context: TableContext, bar: Bar) -> tuple[Findings, list[str]]:
    """Verify the table; return the findings, and the error if it stopped early."""
    counts: Counter[str] = Counter()
    first: list[Finding] = []
    problems = []
    try:
        for one in verify_table(context, bar=bar):
            counts[one.kind.name] += 1
            if len(first) < MOST_FINDINGS:
                first.append(Finding(one.kind.value, one.path, one.message, one.instants))
    except HudiFormatError as error:
        problems.append(str(error))
    return Findings(dict(counts), tuple(first)), problems


def _version() -> str:
    try:
        return version("hudiformat")
    except PackageNotFoundError:  # hudiformat runs from its source folder
        return ""
