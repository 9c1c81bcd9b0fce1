"""Queries while another writer changes the table: the answer is that before the change or that after it, no mixture.

The change is made between two requests of the query to the storage, and this is tried for every pair of neighbouring
requests.  Another writer changes a copy of the table beforehand.  In the middle of the query the storage is switched
from the table to the copy.  A file that the query has opened stays open, as it does when another process deletes it.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import HudiFormatError, Table, TableError, create_table, open_storage, open_table
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from hudiformat.timeline.contents import encode_content
from hudiformat.timeline.timeline import instant_path, read_metadata
from tests.effort import LONG, every, sample
from tests.metadata_table.tables import add_metadata_table
from tests.racing import SHARED
from tests.requests import RecordingStorage, Request, timeline_folder

pytestmark = pytest.mark.unmeasured

MOR, COW = "MERGE_ON_READ", "COPY_ON_WRITE"
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("ts", pa.int64()),
        ("p", pa.string()),
        ("v", pa.int64()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
# Services run where a test asks for them, and not by themselves.
QUICK = {"hudiformat.sync": "false", "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}


def rows(*values: tuple[Any, ...]) -> pa.Table:
    """Rows, each from its key, its partition, its ordering value, and True where the row is a delete."""
    named = [{"k": k, "p": p, "ts": ts, "v": 10 * ts, "_hoodie_is_deleted": bool(gone)} for k, p, ts, *gone in values]
    return pa.Table.from_pylist(named, SCHEMA)


def quick(path: Path | RecordingStorage, **options: str) -> Table:
    return open_table(path, options={**QUICK, **options})


def fill(path: Path, version: int, table_type: str, *, changes: bool, deletes: bool) -> None:
    """A table of two partitions with three writes; on merge-on-read the second is compacted, the third in log files."""
    create_table(
        path,
        name="t",
        schema=SCHEMA,
        record_key=["k"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=table_type,
        version=version,
        options={"hoodie.table.cdc.enabled": str(changes).lower()},
    )
    table = quick(path)
    table.insert(rows(("a", "x", 1), ("b", "x", 1), ("c", "x", 1), ("d", "y", 1), ("e", "y", 1), ("f", "y", 1)))
    table.upsert(rows(("a", "x", 2), ("d", "y", 2), *([("c", "x", 2, True)] if deletes else [])))
    if table_type == MOR:
        table.compact()
    table.upsert(rows(("a", "x", 3), ("g", "x", 3), ("e", "y", 3), *([("f", "y", 3, True)] if deletes else [])))


WRITTEN = (("a", "x", 9), ("new", "x", 9), ("e", "y", 9), ("new", "z", 9))
"""What another writer upserts: updates in two partitions, a new row in one of them, and one in a new partition."""


def upsert(table: Table) -> None:
    table.upsert(rows(*WRITTEN))


def upsert_deletes(table: Table) -> None:
    """The same, with deletes in both partitions."""
    table.upsert(rows(*WRITTEN, ("b", "x", 9, True), ("d", "y", 9, True)))


def delete(table: Table) -> None:
    table.delete(rows(("a", "x", 0), ("b", "x", 0), ("e", "y", 0)))


def insert_overwrite(table: Table) -> None:
    table.insert_overwrite(rows(("a", "x", 9), ("new", "x", 9), ("new", "z", 9)))


def compact(table: Table) -> None:
    assert table.compact()


def compact_and_upsert(table: Table) -> None:
    table.compact()
    upsert(table)


def schedule_and_upsert(table: Table) -> None:
    """In version 6 the log files of the upsert belong to a slice whose base file is not there yet."""
    assert table.schedule_compaction()
    upsert(table)


def roll_back(table: Table) -> None:
    table.rollback(table.timeline.completed_writes[-1].time)


def delete_partition(table: Table) -> None:
    table.delete_partitions(["y"])


def clean(table: Table) -> None:
    """Delete what the newest rows are not read from."""
    assert table.clean()


def write_and_clean(table: Table) -> None:
    """Delete also what the newest rows were read from before this."""
    for ts in (8, 9):
        table.upsert(rows(("a", "x", ts), ("new", "x", ts), ("e", "y", ts)))
        if table.config.table_type == MOR:
            table.compact()
    assert table.clean()


def compact_and_clean(table: Table) -> None:
    table.compact()
    assert table.clean()


def overwrite_and_clean(table: Table) -> None:
    insert_overwrite(table)
    table.upsert(rows(("b", "x", 9), ("b", "y", 9)))
    assert table.clean()


def delete_partition_and_clean(table: Table) -> None:
    delete_partition(table)
    table.upsert(rows(("a", "x", 9)))
    assert table.clean()


def empty_and_clean(table: Table) -> None:
    """Remove every row, and then every file of it: no file of a newer write is there."""
    table.insert_overwrite_table(rows())
    table.delete(rows(("a", "x", 0)))
    assert table.clean()


def restore(table: Table) -> None:
    table.restore(table.timeline.completed_writes[0].time)


def save(table: Table) -> None:
    table.savepoint(table.timeline.completed_writes[-1].time)


def archive_most(table: Table) -> None:
    state = table._context.state()
    assert archive_instants(state.storage, state.config, ArchiveLimits(2, 1, compaction_delta_commits=1))


def change_schema(table: Table) -> None:
    """As a writer that knows one column more: what is there before has nulls in it."""
    upsert(table)
    state = table._context.state()
    newest = state.timeline.completed_writes[-1]
    metadata = read_metadata(state.storage, state.config, newest)
    schema = json.loads(metadata.schema or "")
    schema["fields"].append({"name": "added", "type": ["null", "string"], "default": None})
    changed = replace(metadata, extra_metadata={**(metadata.extra_metadata or {}), "schema": json.dumps(schema)})
    state.storage.create(instant_path(state.config, newest), encode_content(changed, state.config), overwrite=True)


def several(table: Table) -> None:
    """A long pause of the reader: writes, services, a restore, and what it read from is archived."""
    write_and_clean(table)
    saved = table.upsert(rows(*WRITTEN))
    table.savepoint(saved.instant)
    delete_partition(table)
    table.restore(saved.instant)
    table.delete_savepoint(saved.instant)
    if not table.config.metadata_partitions:  # otherwise it is archived once the metadata table was compacted
        archive_most(table)


@dataclass(frozen=True, slots=True)
class Action:
    """What another writer does during the query.

    ``run`` changes a table that was opened with ``options``; with ``deletes``, the table has delete records before.
    ``part`` is what happens during the query: ``all``; the ``beginning``, up to just before the instant completes; or
    the ``end``, which is the rest.  With ``deletes_files``, a query of the past may find that it cannot be answered.
    ``changes_rows`` says whether the answer to a snapshot query is another one afterwards.
    """

    run: Callable[[Table], None]
    part: str = "all"
    options: Mapping[str, str] | None = None
    deletes_files: bool = False
    deletes: bool = False
    changes_rows: bool = True


KEPT = {"hoodie.clean.commits.retained": "1"}
ONE_VERSION = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
ACTIONS = {
    "upsert": Action(upsert),
    "beginning of an upsert": Action(upsert, part="beginning", changes_rows=False),
    "end of an upsert": Action(upsert, part="end"),
    "upsert beside other writers": Action(upsert, options=SHARED),
    "upsert with deletes": Action(upsert_deletes, deletes=True),
    "schema change": Action(change_schema),
    "delete": Action(delete, deletes=True),
    "insert_overwrite": Action(insert_overwrite),
    "delete_partitions": Action(delete_partition),
    "rollback": Action(roll_back, deletes_files=True),
    "restore": Action(restore, deletes_files=True),
    "savepoint": Action(save, changes_rows=False),
    "archiving": Action(archive_most, deletes_files=True, changes_rows=False),
    "clean": Action(clean, options=KEPT, deletes_files=True, changes_rows=False),
    "writes and clean": Action(write_and_clean, options=KEPT, deletes_files=True),
    "overwrite and clean": Action(overwrite_and_clean, options=KEPT, deletes_files=True),
    "delete_partitions and clean": Action(delete_partition_and_clean, options=KEPT, deletes_files=True),
    "emptying and clean": Action(empty_and_clean, options=ONE_VERSION, deletes_files=True),
    "compaction and clean": Action(compact_and_clean, options=ONE_VERSION, deletes_files=True, changes_rows=False),
    "several": Action(several, options=KEPT, deletes_files=True),
    "compaction": Action(compact, changes_rows=False),
    "end of a compaction": Action(compact, part="end", changes_rows=False),
    "compaction and upsert": Action(compact_and_upsert),
    "scheduled compaction and upsert": Action(schedule_and_upsert),
}
SHORT = ("upsert", "upsert with deletes", "rollback", "writes and clean", "compaction and upsert", "several")
"""The actions that are tried outside CI."""


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of table, and the action that happens to it; with ``is_listed``, a metadata table lists the files."""

    version: int
    table_type: str
    name: str
    is_listed: bool = False

    @property
    def action(self) -> Action:
        return ACTIONS[self.name]

    def __str__(self) -> str:
        listed = "listed " if self.is_listed else ""
        return f"{listed}{self.version} {self.table_type}, {self.name}"


def cases() -> Iterator[Case]:
    """All actions in a long run, some elsewhere; so version 8, whose tables are read as those of version 9 are."""
    for version in (6, 8, 9) if LONG else (6, 9):
        for name in ACTIONS if LONG else SHORT:
            yield Case(version, MOR, name)
            if "compaction" not in name:
                yield Case(version, COW, name)
    for name in ACTIONS if LONG else SHORT:
        if name != "archiving":  # what a metadata table has not compacted is not archived
            yield Case(9, MOR, name, is_listed=True)


CASES = list(cases())


@dataclass(frozen=True, slots=True)
class Query:
    """A query; ``of_changes`` needs a table that keeps change data.  ``run`` also takes the instant of a past write.

    What is ``of_now`` always has an answer; the others may find that their files are gone, and have to say why.
    """

    run: Callable[[Table, str], pa.Table]
    of_changes: bool = False
    of_now: bool = False


def slices(table: Table, partition: str | None = None) -> pa.Table:
    """The newest file slices as rows.

    In version 6 they are without log files: those have the instant of their slice, and show before they are committed;
    it is their blocks that count or not.
    """
    shows_logs = table.config.version > 6
    found = [
        {
            "p": one.partition_path,
            "id": one.file_id,
            "files": repr((one.base_file, one.log_files if shows_logs else ())),
        }
        for one in table.file_slices(partition)
    ]
    return pa.Table.from_pylist(found, pa.schema([(name, pa.string()) for name in ("p", "id", "files")]))


SCAN = Query(lambda table, _earlier: table.scan().read_all())
QUERIES = {
    "snapshot": Query(lambda table, _earlier: table.snapshot(), of_now=True),
    "snapshot of a partition": Query(lambda table, _earlier: table.snapshot(filter=pc.field("p") == "x"), of_now=True),
    "read_optimized": Query(lambda table, _earlier: table.read_optimized(), of_now=True),
    "file_slices": Query(lambda table, _earlier: slices(table), of_now=True),
    "file_slices of a partition": Query(lambda table, _earlier: slices(table, "y"), of_now=True),
    "scan": SCAN,
    "snapshot as of": Query(lambda table, earlier: table.snapshot(as_of=earlier)),
    "incremental": Query(lambda table, _earlier: table.incremental("000")),
    "incremental from": Query(lambda table, earlier: table.incremental(earlier)),
    "cdc": Query(lambda table, _earlier: table.cdc("000"), of_changes=True),
}
# snapshot() reads as scan() does, and others as those that are named here: only a long run tries all.
OFTEN = ("snapshot", "read_optimized", "file_slices", "snapshot as of", "incremental", "cdc")
ASKED = [name for name in QUERIES if LONG or name in OFTEN]

Answer = tuple[str, ...] | HudiFormatError
"""The rows as sorted texts, or what the query raised."""


def answer(ask: Callable[[], pa.Table]) -> Answer:
    try:
        found = ask()
    except HudiFormatError as error:
        return error
    # A compaction changes nothing of a row but the name of its file.
    names = sorted(set(found.column_names) - {"_hoodie_file_name"}, key=lambda name: (name.startswith("_"), name))
    return tuple(sorted(repr(tuple(row[name] for name in names)) for row in found.to_pylist()))


@dataclass(frozen=True, slots=True)
class Race:
    """The folder of a table, its copy after another writer's action, and the instant of the table's second write."""

    before: Path
    after: Path
    earlier: str


class Races:
    """Makes the tables and runs the actions, each once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[tuple[Case, bool], Race] = {}

    def of(self, case: Case, query: Query) -> Race:
        key = (case, query.of_changes)
        if key not in self.made:
            self.made[key] = self._make(case, changes=query.of_changes)
        return self.made[key]

    def _make(self, case: Case, *, changes: bool) -> Race:
        action = case.action
        kind = f"{case.version} {case.table_type} {case.is_listed} {changes} {action.deletes}"
        table = self.folder / kind
        if not table.exists():
            fill(table, case.version, case.table_type, changes=changes, deletes=action.deletes)
            if case.is_listed:
                add_metadata_table(table)
        after = Path(shutil.copytree(table, self.folder / f"{kind} {case.name}"))
        begun = _run(action, after, timeline_folder(case.version))
        before = begun if action.part == "end" else table
        after = begun if action.part == "beginning" else after
        return Race(before, after, quick(table).timeline.completed_writes[1].time)


def _run(action: Action, path: Path, timeline: str) -> Path:
    """Run *action* on the table at *path*, and return a copy made just before the instant of the action completed.

    There is none where all of the action is to happen during the query.
    """
    begun = path.with_name(f"{path.name} begun")

    def keep(number: int) -> None:
        folder, _, name = storage.requests[number].path.rpartition("/")
        is_change = storage.requests[number].kind in ("create", "rename")
        if action.part != "all" and is_change and folder == timeline and not name.endswith(("requested", "inflight")):
            shutil.copytree(path, begun)  # fails for an action with two instants, which has no single end

    storage = RecordingStorage(open_storage(path), before=keep)
    action.run(quick(storage, **(action.options or {})))
    return begun


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory) -> Races:
    return Races(tmp_path_factory.mktemp("races"))


def query_during(race: Race, query: Query, moment: int, *, is_after: bool = False) -> tuple[Answer, Sequence[Request]]:
    """The answer when the action happens just before the request number *moment*, or just after it; and all requests.

    The first request after the table was opened has the number 0.
    """

    def act(number: int) -> None:
        if number == moment:
            storage.storage = open_storage(race.after)

    storage = RecordingStorage(open_storage(race.before))
    table = quick(storage)
    storage.clear()
    if is_after:
        storage.after = act
    else:
        storage.before = act
    return answer(lambda: query.run(table, race.earlier)), storage.requests


def moments(case: Case, name: str, count: int) -> Iterator[tuple[int, bool]]:
    """The numbers of some of *count* requests, and whether the action happens after the request.

    Between two requests a query reads nothing but files that are open, so just after a request is the same as just
    before the next one: only a long run tries both.
    """
    step = 4 if name == "snapshot" else every(13, long=7)
    for moment in range(zlib.crc32(f"{case} {name}".encode()) % step, count, step):
        yield moment, False
        if LONG:
            yield moment, True


def says_why(found: Answer) -> bool:
    """Whether a query was refused, and named what had become of its files."""
    reasons = ("deleted by the clean", "cleaned away", "rolled back", "archived")
    return isinstance(found, TableError) and any(reason in str(found) for reason in reasons)


def difference(found: Answer, before: Answer, after: Answer) -> str:
    """Why *found* is neither *before* nor *after*."""
    if not isinstance(found, tuple) or not isinstance(before, tuple):
        return f"{found!r}"
    late = set(after) if isinstance(after, tuple) else set()
    parts = {
        "as before": sorted(set(found) & set(before) - late),
        "as after": sorted(set(found) & late - set(before)),
        "as neither": sorted(set(found) - set(before) - late),
        "missing from before": sorted(set(before) - set(found)),
        "missing from after": sorted(late - set(found)),
    }
    return "".join(f"\n    {what}: {', '.join(texts)}" for what, texts in parts.items() if texts)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*the metadata table is not used")  # then the folders are
@pytest.mark.parametrize(("case", "name"), sample(product(CASES, ASKED), of=16), ids=str)
def test_a_query_answers_as_before_or_as_after_what_another_writer_does_meanwhile(
    races: Races, case: Case, name: str
) -> None:
    query = QUERIES[name]
    race = races.of(case, query)
    before, alone = query_during(race, query, -1)
    after = answer(lambda: query.run(quick(race.after), race.earlier))
    may_be_gone = case.action.deletes_files and not query.of_now
    assert isinstance(before, tuple)
    assert isinstance(after, tuple) or may_be_gone, repr(after)
    wrong: dict[str, list[str]] = defaultdict(list)
    for moment, is_after in moments(case, name, len(alone)):
        found, requests = query_during(race, query, moment, is_after=is_after)
        if found not in (before, after) and not (may_be_gone and says_why(found)):
            where = f"{'after' if is_after else 'before'} request {moment} of {len(alone)}, {requests[moment]}"
            wrong[difference(found, before, after)].append(f"{case.name} {where}")
    if wrong:
        pytest.fail("\n".join("\n".join(where) + ":" + what for what, where in wrong.items()), pytrace=False)


@pytest.mark.filterwarnings("ignore:.*the metadata table is not used")
@pytest.mark.parametrize("case", sample(CASES, of=7), ids=str)
def test_a_scan_answers_as_before_or_as_after_what_another_writer_does_until_it_is_read(
    races: Races, case: Case
) -> None:
    race = races.of(case, SCAN)
    before, after = (answer(quick(path).snapshot) for path in (race.before, race.after))
    assert (before != after) == case.action.changes_rows
    storage = RecordingStorage(open_storage(race.before))
    scan = quick(storage).scan()
    storage.storage = open_storage(race.after)
    for found in (answer(scan.read_all), answer(scan.read_all)):
        is_refused = case.action.deletes_files and says_why(found)
        assert found in (before, after) or is_refused, difference(found, before, after)


@pytest.mark.slow
@pytest.mark.parametrize("version", [6, 9])
def test_a_commit_in_the_same_folder_is_seen_whole_or_not_at_all(races: Races, tmp_path: Path, version: int) -> None:
    """The storage is not switched here: another writer really commits to the folder in the middle of the query."""

    def own(table: Table) -> Answer:
        return answer(lambda: table.snapshot(columns=["k", "ts", "p", "v"]))

    race = races.of(Case(version, MOR, "upsert"), QUERIES["snapshot"])
    before, after = own(quick(race.before)), own(quick(race.after))
    _, alone = query_during(race, QUERIES["snapshot"], -1)
    for moment in range(0, len(alone), every(3)):
        path = Path(shutil.copytree(race.before, tmp_path / str(moment)))
        storage = RecordingStorage(open_storage(path))
        table = quick(storage)
        storage.clear()
        storage.before = lambda number, moment=moment, path=path: upsert(quick(path)) if number == moment else None  # type: ignore[misc]  # the defaults bind the values of this round
        found = own(table)
        assert found in (before, after), f"{storage.requests[moment]}:{difference(found, before, after)}"
        assert own(quick(path)) == after
