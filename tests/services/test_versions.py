"""Another table version: the rows stay, the other version's writers go on, and a crash leaves one of the two."""

from __future__ import annotations

import itertools
import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pytest

from hudiformat import (
    CommitError,
    HudiFormatWarning,
    OptionError,
    StorageError,
    Table,
    UnsupportedFeatureError,
    open_table,
)
from hudiformat.table.options.values import Operation
from hudiformat.timeline.archive.archiving import read_archived
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.transaction import begin_write
from tests.effort import LONG, every, only_long, sample
from tests.faults import FaultyStorage
from tests.tables import GOLDEN, Clock, Row, content, data_files, multiset, new_table, rows, tree
from tests.write.commit.support import SHARED, begun

pytestmark = pytest.mark.unmeasured

T = TypeVar("T")
WAYS = ((8, 9, 6), (9, 6, 8), (6, 9, 8))
MORE = (
    "v6-mor-compacted-h0150",
    "v6-mor-restore-h0150",
    "v8-mor-rollback-call-h102",
    "v9-mor-completion-order-h120",
)
GOLDENS = [
    "v6-cow-cdc-h0150",
    "v6-mor-archived-h0150",
    "v6-mor-compaction-pending-h120",
    "v6-mor-failed-write-h0150",
    "v8-cow-cdc-h102",
    "v8-mor-avro-h102",
    "v9-cow-replaced-h120",
    "v9-mor-archived-h120",
    "v9-mor-commit-time-h120",
    "v9-mor-inflight-h120",
    *(MORE if LONG else ()),
]


def rows_of(table: Table) -> Counter[str]:
    """The rows without the names of their files, which compactions change."""
    return multiset(table.snapshot().drop_columns(["_hoodie_file_name"]))


def grown(path: Path, version: int, *, table_type: str = "MERGE_ON_READ") -> Table:
    """A table with archived commits, log files, a compaction, a clean and a savepoint."""
    options = {
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
        "hoodie.index.type": "INMEMORY",
    }
    table = new_table(path, version=version, table_type=table_type, options=options)
    for number in range(6):
        table.upsert(rows(("a", number, "x", number), (f"k{number}", number, "y", number)))
        if number == 3 and table_type == "MERGE_ON_READ":
            table.compact()
    table.savepoint(table.timeline.completed_writes[-1].time)
    return table


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*belongs to table version")
@pytest.mark.parametrize("name", sample(GOLDENS, of=4))
def test_real_hudis_tables_keep_their_rows(own_golden: Callable[[str], Path], name: str) -> None:
    assert (GOLDEN / f"{name}.zip").exists()
    path = own_golden(name)
    table = open_table(path)
    expected = rows_of(table)
    for to in (*WAYS[0], *WAYS[1]):
        table.change_version(to)
        assert (table.config.version, open_table(path).config.version) == (to, to)
        assert rows_of(table) == expected
        assert rows_of(open_table(path)) == expected
        assert [finding for finding in table.verify() if "missing" in str(finding)] == []
    table.delete(table.snapshot().slice(0, 1))
    assert table.snapshot().num_rows == expected.total() - 1


def test_keys_of_one_field_that_a_complex_generator_made_are_refused(own_golden: Callable[[str], Path]) -> None:
    table = open_table(own_golden("v9-mor-multilevel-hive-h120"))
    with pytest.raises(UnsupportedFeatureError, match="the complex key generator"):
        table.change_version(8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table_type", "version", "way"),
    sample(itertools.product(["MERGE_ON_READ", "COPY_ON_WRITE"], [6, 8, 9], WAYS), of=12),
)
def test_writes_go_on_in_every_version(tmp_path: Path, table_type: str, version: int, way: tuple[int, ...]) -> None:
    table = grown(tmp_path / "t", version, table_type=table_type)
    expected = content(table)
    archived = {one.instant.time for one in read_archived(table._context.storage, table.config)}
    for number, to in enumerate(way):
        table.change_version(to)
        assert content(table) == expected
        assert {one.instant.time for one in read_archived(table._context.storage, table.config)} >= archived
        assert table.verify() == []
        table.upsert(rows((f"n{number}", 100, "x", number), ("a", 100 + number, "x", number)))
        expected = sorted(
            [row for row in expected if row[0] != "a"]
            + [(f"n{number}", 100, "x", number), ("a", 100 + number, "x", number)],
            key=repr,
        )
        assert content(table) == expected
        (savepoint,) = [one for one in table.timeline.completed if one.action is Action.SAVEPOINT]
    was_upgraded = table_type == "MERGE_ON_READ" and 6 in way[:-1]  # so it has blocks in the log files of others
    if was_upgraded:
        with pytest.raises(CommitError, match="before the table was upgraded to version"):
            table.restore(savepoint.time)
        return
    table.restore(savepoint.time)
    assert ("k5", 5, "y", 5) in content(table)
    assert [row for row in content(table) if row[0].startswith("n")] == []


def test_incremental_queries_and_time_travel_go_on(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", version=6)
    commits = [table.insert(rows((f"k{number}", number, "x", number))) for number in range(4)]
    before = [content(table, as_of=commit.instant) for commit in commits]
    for to in (8, 9, 6):
        table.change_version(to)
        assert [content(table, as_of=commit.instant) for commit in commits] == before
        assert table.incremental("000").num_rows == 4
    table.change_version(9)
    completed = [one.completion_time for one in table.timeline.completed_writes]
    assert completed == sorted(completed, key=str)
    assert all(one.completion_time > one.time for one in table.timeline.completed_writes if one.completion_time)


@pytest.mark.parametrize("index", ["SIMPLE", "INMEMORY"])
def test_in_an_upgraded_table_a_log_file_shows_no_blocks_later_than_the_moment(tmp_path: Path, index: str) -> None:
    table = new_table(tmp_path / "t", version=6, options={"hoodie.index.type": index})
    commits = [
        table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1))),
        table.upsert(rows(("a", 2, "x", 2))),
        table.delete(where="k = 'b'"),
    ]
    before = [content(table, as_of=commit.instant) for commit in commits]
    table.change_version(9)
    assert [content(table, as_of=commit.instant) for commit in commits] == before


INDEXES = ("SIMPLE", "INMEMORY", "BUCKET")


def _updates(table: Table) -> None:
    table.upsert(rows(("b", 2, "x", 2), ("d", 2, "y", 2)))
    table.delete(where="k = 'c'")


def _compaction(table: Table) -> None:
    _updates(table)
    table.compact()
    table.upsert(rows(("a", 3, "x", 3), ("e", 3, "x", 3)))
    table.upsert(rows(("b", 4, "x", 4)))


def _two_compactions(table: Table) -> None:
    _compaction(table)
    table.compact()
    _updates(table)


def _overwrite(table: Table) -> None:
    _updates(table)
    table.insert_overwrite(rows(("f", 3, "x", 3)))


def _no_partition(table: Table) -> None:
    _compaction(table)
    table.delete_partitions(["x"])


def _clustering(table: Table) -> None:
    _updates(table)
    table.cluster()
    table.upsert(rows(("a", 3, "x", 3)))


def _compaction_meanwhile(table: Table) -> None:
    """A write that is committed after a compaction that was planned while it was pending."""
    table.upsert(rows(("b", 2, "x", 2)))
    write, stats = begun(table, ("b", 3, "x", 3))
    other = open_table(table._context.storage.root, options=SHARED, clock=table._context.clock)
    other.compact()
    with write:
        write.commit(stats)
    table.upsert(rows(("a", 4, "x", 4)))


def _meanwhile_and_no_partition(table: Table) -> None:
    _compaction_meanwhile(table)
    table.delete_partitions(["x"])


PASTS = {
    _updates: INDEXES,
    _compaction: INDEXES,
    _two_compactions: INDEXES,
    _overwrite: INDEXES,
    _no_partition: INDEXES,
    _clustering: ("SIMPLE", "INMEMORY"),
    _compaction_meanwhile: INDEXES,
    _meanwhile_and_no_partition: INDEXES,
}


OVERLAPPING = (_compaction_meanwhile, _meanwhile_and_no_partition)


def _with_past(path: Path, version: int, index: str, past: Callable[[Table], None], **options: str) -> Table:
    options = {
        **SHARED,
        "hoodie.clean.automatic": "false",
        "hoodie.index.type": index,
        "hoodie.bucket.index.num.buckets": "2",
        **options,
    }
    table = new_table(path, version=version, table_type="MERGE_ON_READ", options=options)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "x", 1), ("d", 1, "y", 1)))
    past(table)
    return table


def _changes(table: Table, ends: Sequence[str]) -> list[list[str]]:
    """The rows that changed up to each of the moments *ends*, and from then to the last of them."""
    spans = [span for end in ends for span in (("000", end), (end, ends[-1]))]
    found = [table.incremental(*span, columns=["k", "ts", "p", "v"]) for span in spans]
    return [sorted(map(repr, one.to_pylist())) for one in found]


@pytest.mark.slow
@pytest.mark.parametrize(("version", "way"), [(9, (6, 9)), (8, (6, 8, 6))])
@pytest.mark.parametrize(
    ("past", "index"), sample([(past, index) for past, indexes in PASTS.items() for index in indexes], of=12)
)
def test_in_a_downgraded_table_the_past_has_the_rows_that_it_had(
    tmp_path: Path, past: Callable[[Table], None], index: str, version: int, way: tuple[int, ...]
) -> None:
    table = _with_past(tmp_path / "t", version, index, past)
    writes = table.timeline.completed_writes
    before = [content(table, as_of=one.time) for one in writes]
    # Between two writes it is the same moment by their requested times, as in version 6, and by their completion.
    ends = [] if past in OVERLAPPING else [str(one.completion_time) for one in writes]
    changes = _changes(table, ends)
    for to in way:
        table.change_version(to)
        assert [content(table, as_of=one.time) for one in writes] == before
        assert _changes(table, ends) == changes
        table.upsert(rows(("z", 9, "x", 9)))


@only_long
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*belongs to table version")
@pytest.mark.parametrize("index", sample(INDEXES, of=3))
def test_the_past_has_its_rows_in_a_table_that_was_of_version_6_before_too(tmp_path: Path, index: str) -> None:
    table = _with_past(tmp_path / "t", 6, index, _compaction, **{"hoodie.metadata.enable": "true"})
    moments: list[str] = []
    before: list[list[Row]] = []
    for to in (9, 6, 8, 6):
        moments += [one.time for one in table.timeline.completed_writes if one.time not in moments]
        before = [*before, *(content(table, as_of=moment) for moment in moments[len(before) :])]
        table.change_version(to)
        assert [content(table, as_of=moment) for moment in moments] == before
        _updates(table)
        table.upsert(rows(("c", to, "x", to)))


@pytest.mark.parametrize(
    ("past", "index"), sample(itertools.product([_compaction, _overwrite, _compaction_meanwhile], INDEXES), of=9)
)
def test_the_past_of_a_downgraded_table_has_its_rows_when_it_is_archived(
    tmp_path: Path, past: Callable[[Table], None], index: str
) -> None:
    table = _with_past(tmp_path / "t", 9, index, past)
    moments = [one.time for one in table.timeline.completed_writes]
    before = [content(table, as_of=moment) for moment in moments]
    table.change_version(6)
    kept = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.automatic": "false"}
    table = open_table(tmp_path / "t", options={"hoodie.index.type": index, **kept}, clock=table._context.clock)
    for number in range(4):
        table.upsert(rows(("z", 10 + number, "x", number)))
    assert moments[1] < (table.timeline.first_active or "")
    assert [content(table, as_of=moment) for moment in moments] == before


@pytest.mark.parametrize("index", sample(INDEXES, of=3))
def test_a_downgraded_table_is_restored_to_its_past_and_written(tmp_path: Path, index: str) -> None:
    table = _with_past(tmp_path / "t", 9, index, _updates)
    expected = content(table)
    newest = table.timeline.completed_writes[-1].time
    table.change_version(6)
    table.upsert(rows(("a", 9, "x", 9), ("z", 9, "x", 9)))
    table.restore(newest)
    assert content(table) == content(table, as_of=newest) == expected
    table.upsert(rows(("b", 3, "x", 3)))
    table.delete(where="k = 'd'")
    written = [("a", 1, "x", 1), ("b", 3, "x", 3)]
    assert content(table) == written
    table.compact()
    assert content(table) == written
    assert content(table, as_of=newest) == expected
    assert table.verify() == []
    table.change_version(9)
    assert content(table) == written
    assert content(table, as_of=newest) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("past", "retained", "index"),
    sample(itertools.product([_two_compactions, _compaction_meanwhile], [1, 2], INDEXES), of=6),
)
def test_in_a_downgraded_table_a_clean_deletes_log_files_with_their_slices(
    tmp_path: Path, past: Callable[[Table], None], index: str, retained: int
) -> None:
    policy = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": str(retained)}
    table = _with_past(tmp_path / "t", 9, index, past, **policy)
    shutil.copytree(tmp_path / "t", tmp_path / "as 9")
    expected, newest = content(table), table.timeline.completed_writes[-1].time
    table.change_version(6)
    table.clean()
    other = open_table(tmp_path / "as 9", options=policy, clock=Clock())
    other.compact()
    other.clean()
    left = [{one for one in data_files(tmp_path / name) if ".log." in one} for name in ("t", "as 9")]
    assert left[0] == left[1]
    if retained == 2:
        assert content(table, as_of=newest) == expected


def test_a_lost_base_file_of_version_6_is_missed_though_there_is_an_earlier_one(tmp_path: Path) -> None:
    """Its log files, which have its instant, are none of version 8 or 9 that belong to the slice before."""
    table = new_table(tmp_path / "t", version=6, options={"hoodie.clean.automatic": "false"})
    table.insert(rows(("a", 1, "x", 1)))
    table.insert(rows(("b", 1, "x", 1)))  # in a new base file of the same group
    table.upsert(rows(("a", 2, "x", 2)))
    _, second = sorted((tmp_path / "t").glob("x/*.parquet"), key=lambda path: path.name.rpartition("_")[2])
    second.unlink()
    with pytest.raises(StorageError, match="which a commit names, is not there"):
        table.snapshot()


def test_files_that_were_copied_keep_their_slices(tmp_path: Path) -> None:
    """Their times are later than all instants, so that every log file would belong to the newest slice."""
    table = grown(tmp_path / "t", 6)
    expected = content(table)
    for name in tree(tmp_path / "t"):
        os.utime(tmp_path / "t" / name, (4e9, 4e9))
    table.change_version(8)
    assert content(table) == expected
    writes = table.timeline.completed_writes
    assert all((one.completion_time or "") < after.time for one, after in pairwise(writes))


class Dying:
    """Fails at one change of the storage, and at all that follow."""

    def __init__(self, moment: int, *, after: bool) -> None:
        self.left = moment
        self.after = after
        self.is_dead = False

    def run(self, what: str, action: Callable[[], T]) -> T:
        if what.split(maxsplit=1)[0] in ("list", "read", "map", "open_input", "close") and not self.is_dead:
            return action()
        self.left -= 1
        if self.left <= 0:
            if self.after and not self.is_dead:
                action()
            self.is_dead = True
            raise StorageError(f"dead: {what}")
        return action()


@pytest.mark.slow
@pytest.mark.parametrize(("version", "to"), sample([(6, 8), (6, 9), (8, 9), (9, 8), (9, 6)], of=2))
@pytest.mark.parametrize("after", sample([False, True], of=2))
def test_a_process_that_dies_leaves_the_one_version_or_the_other(
    tmp_path: Path, version: int, to: int, after: bool
) -> None:
    grown(tmp_path / "t", version)
    expected = content(open_table(tmp_path / "t"))
    seen = set()
    for moment in itertools.count(1, every(11)):
        path = Path(shutil.copytree(tmp_path / "t", tmp_path / "copy", dirs_exist_ok=False))
        table = open_table(path, clock=Clock())
        faulty = Table(
            replace(table._context, storage=FaultyStorage(table._context.storage, Dying(moment, after=after)))
        )
        has_died = False
        try:
            faulty.change_version(to)
        except (StorageError, CommitError):
            has_died = True
        now = open_table(path)
        seen.add(now.config.version)
        assert content(now) == expected
        now.upsert(rows(("later", 1, "x", 1)))
        assert content(now) == sorted([*expected, ("later", 1, "x", 1)], key=repr)
        now.change_version(to)
        assert load_table_config(now._context.storage).version == to
        assert content(now) == sorted([*expected, ("later", 1, "x", 1)], key=repr)
        assert now.verify() == []
        shutil.rmtree(path)
        if not has_died:
            break
    assert seen == {version, to}


def test_a_reader_that_began_before_sees_the_same_rows(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", 6)
    expected = content(table)
    other = open_table(tmp_path / "t")
    table.change_version(9)
    assert content(other) == expected


@pytest.mark.parametrize("asked_for", [True, False])
def test_the_metadata_table_is_deleted_with_a_warning_unless_that_is_asked_for(
    own_golden: Callable[[str], Path], asked_for: bool
) -> None:
    options = {"hoodie.metadata.enable": "false"} if asked_for else {}
    table = open_table(own_golden("v9-mor-metadata-table-h120"), options=options)
    expected = rows_of(table)
    with nullcontext() if asked_for else pytest.warns(HudiFormatWarning, match="belongs to table version 9"):
        table.change_version(6)
    assert table.config.metadata_partitions == ()
    assert rows_of(table) == expected


@pytest.mark.parametrize("wrong", [7, "9", True, None])
def test_a_version_that_there_is_not_is_refused(table: Table, wrong: object) -> None:
    with pytest.raises(OptionError, match="expected one of 6, 8, 9, an int, found "):
        table.change_version(wrong)  # type: ignore[arg-type]  # wrong on purpose


def test_what_cannot_be_expressed_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", ordering=["ts", "v"])
    table.upsert(rows(("a", 1, "x", 1)))
    before = tree(tmp_path / "t")
    with pytest.raises(UnsupportedFeatureError, match="one ordering field"):
        table.change_version(6)
    assert tree(tmp_path / "t") == before


def test_other_writers_are_left_alone(tmp_path: Path) -> None:
    shared = {
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.clean.failed.writes.policy": "LAZY",
    }
    table = new_table(tmp_path / "t", version=6)
    table.upsert(rows(("a", 1, "x", 1)))
    writer = open_table(tmp_path / "t", options=shared)
    changing = open_table(tmp_path / "t", options=shared)
    with (
        begin_write(writer._context, Operation.UPSERT),
        pytest.raises(CommitError, match="expected nothing to be under way, found"),
    ):
        changing.change_version(9)
    assert open_table(tmp_path / "t").config.version == 6
