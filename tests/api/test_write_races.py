"""Writers beside others that archive, clean, compact or roll back between two of their requests to the storage.

A write is committed, or refused by an error that says what others have done; it never fails with a file that is not
there.  Where retries are asked for, it is written again as after a conflict.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudiformat import CommitError, Table, open_storage, open_table
from hudiformat.timeline.archive.archiving import ArchiveLimits, archive_instants
from tests.effort import every, sample
from tests.racing import SHARED
from tests.requests import RecordingStorage
from tests.tables import Clock, content, new_table, rows

pytestmark = pytest.mark.unmeasured

MOR, COW = "MERGE_ON_READ", "COPY_ON_WRITE"
LOCK = ".hoodie/lock"
OPTIONS = {
    **SHARED,
    "hudiformat.sync": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.clean.commits.retained": "1",
}
RETRIES = {"hoodie.write.num.retries.on.conflict.failures": "3"}


def archive_most(table: Table) -> None:
    state = table._context.state()
    archive_instants(state.storage, state.config, ArchiveLimits(2, 1, compaction_delta_commits=1))


def roll_back(table: Table) -> None:
    newest = table.timeline.completed_writes[-1].time
    try:
        table.rollback(newest)
    except CommitError:
        return  # the writer has committed in the meantime, or is about to


def clean(table: Table) -> None:
    table.clean()


def rewrite_and_clean(table: Table) -> None:
    """Another writer replaces the files that the writer reads, and deletes them."""
    table.upsert(rows(("b", 7, "x", 7), ("e", 7, "y", 7)))
    if table.config.table_type.value == MOR:
        table.compact()
    table.upsert(rows(("other", 7, "z", 7)))
    table.clean()


ACTIONS: dict[str, Callable[[Table], None]] = {
    "archiving": archive_most,
    "rollback": roll_back,
    "clean": clean,
    "rewriting and clean": rewrite_and_clean,
}
WRITES: dict[str, Callable[[Table], object]] = {
    "upsert": lambda table: table.upsert(rows(("a", 9, "x", 9), ("new", 9, "y", 9))),
    "delete": lambda table: table.delete(rows(("a", None, "x"), ("d", None, "y")).select(["k", "p"])),
    "insert_overwrite": lambda table: table.insert_overwrite(rows(("a", 9, "x", 9))),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A writer's table and write, and what another does meanwhile."""

    table_type: str
    version: int
    write: str
    action: str

    def __str__(self) -> str:
        return f"{self.version} {self.table_type}, {self.write} beside {self.action}"


def fill(path: Path, version: int, table_type: str) -> None:
    table = new_table(path, version=version, table_type=table_type, options=OPTIONS, clock=Clock())
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("d", 1, "y", 1), ("e", 1, "y", 1)))
    for ts in (2, 3):
        table.upsert(rows(("b", ts, "x", ts), ("d", ts, "y", ts)))
    table.insert(rows(("c", 4, "x", 4)))


def opened(path: Path | RecordingStorage, **options: str) -> Table:
    return open_table(path, options={**OPTIONS, **options})


def moments(name: str, count: int) -> Iterator[int]:
    step = every(17, long=4)
    return iter(range(zlib.crc32(name.encode()) % step, count, step))


CASES = [
    Case(table_type, version, write, action)
    for table_type in (MOR, COW)
    for version in (6, 9)
    for write in WRITES
    for action in ACTIONS
]


@pytest.mark.slow
@pytest.mark.parametrize("retries", sample([False, True], of=2))
@pytest.mark.parametrize("case", sample(CASES, of=10), ids=str)
def test_a_writer_beside_services_commits_or_is_refused_by_name(case: Case, tmp_path: Path, retries: bool) -> None:
    made = tmp_path / "made"
    fill(made, case.version, case.table_type)
    alone = RecordingStorage(open_storage(Path(shutil.copytree(made, tmp_path / "alone"))))
    WRITES[case.write](opened(alone))
    for moment in moments(str(case), len(alone.requests)):
        path = Path(shutil.copytree(made, tmp_path / f"{moment}"))
        storage = RecordingStorage(open_storage(path))
        table = opened(storage, **(RETRIES if retries else {}))

        def act(number: int, moment: int = moment, path: Path = path) -> None:
            if number == moment and not (path / LOCK).exists():
                ACTIONS[case.action](opened(path))

        storage.before = act
        where = f"before request {moment} of {len(alone.requests)}, {alone.requests[moment]}"
        refused = refusal(lambda table=table: WRITES[case.write](table))  # type: ignore[misc]  # the default binds the value of this round
        # A write that was itself rolled back is not written again.
        assert refused is None or case.action == "rollback" or not retries, f"{where}: {refused}"
        left = opened(path)
        keys = [key for key, *_ in content(left)]
        assert len(keys) == len(set(keys)), where
        assert [one for one in left.verify() if one.kind.value != "uncommitted"] == [], where
        shutil.rmtree(path)


def refusal(write: Callable[[], object]) -> CommitError | None:
    """What *write* is refused with, if it is; any other error is raised."""
    try:
        write()
    except CommitError as error:
        return error
    return None
