"""Tables that are made wrong on purpose, one fault each.

``advise`` names the fault first; after its advice was taken, as its properties and its command say, the number that it
promised is reached within a tenth.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hudiformat as hf
from tests.advice.support import LIMITS, Faulty, bytes_written_since, make, measure, rows_of, rows_with, take

MOR = "MERGE_ON_READ"
UNARCHIVED = {"hoodie.keep.min.commits": "90", "hoodie.keep.max.commits": "100"}
"""All commits stay on the timeline, so that the bytes that they have written can be added."""
FEW = 20
"""For how many more commits effects are computed here."""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def first_advice(faulty: Faulty, finding: str, *, commits: int = FEW) -> hf.Advice:
    found = faulty.table().advise(commits=commits)
    assert [one.finding for one in found][:1] == [finding], (found, found.not_examined)
    return found[0]


def check_at_once(faulty: Faulty, advice: hf.Advice) -> hf.Table:
    """Take the advice, and check each number that holds as soon as its command has run."""
    before = faulty.table()
    for effect in advice.effects:
        if not effect.commits:
            assert measure(before, effect.measure) == effect.before
    table = take(faulty, advice)
    promised = {effect.measure: effect.after for effect in advice.effects if not effect.commits}
    assert promised
    assert {name: measure(table, name) for name in promised} == pytest.approx(promised, rel=0.1)
    return table


def inserts(count: int, *, partitions: int = 1) -> Callable[[hf.Table, int], object]:
    return lambda table, number: table.insert(rows_of(number * count, count, partitions=partitions))


def test_too_many_buckets(tmp_path: Path) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "48"}
    faulty = make(tmp_path / "t", lambda t, n: t.upsert(rows_of(n * 150, 150)), commits=5, options=options)
    advice = first_advice(faulty, "too-many-buckets")
    assert advice.severity is hf.Severity.HIGH
    assert (advice.effects[0].before, advice.effects[0].after) == (48, 1)
    check_at_once(faulty, advice)


def test_too_few_buckets(tmp_path: Path) -> None:
    options = {**LIMITS, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    faulty = make(tmp_path / "t", lambda t, n: t.upsert(rows_of(n * 2000, 2000)), commits=5, options=options)
    advice = first_advice(faulty, "too-few-buckets", commits=3)
    assert advice.effects[0].factor > 4
    check_at_once(faulty, advice)


@pytest.mark.parametrize(("buckets", "rows", "finding"), [(48, 150, "too-many-buckets"), (1, 4000, "too-few-buckets")])
def test_buckets_of_log_files_alone(tmp_path: Path, buckets: int, rows: int, finding: str) -> None:
    """A table whose compactions have not run yet: its rows take in base files what Hudi's ratio says."""
    options = {**LIMITS, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": str(buckets)}
    faulty = make(
        tmp_path / "t",
        lambda t, n: t.upsert(rows_of(n * rows, rows)),
        commits=5,
        options={**options, "hoodie.compact.inline.max.delta.commits": "20"},
        table_type="MERGE_ON_READ",
    )
    advice = first_advice(faulty, finding, commits=3)
    assert all(one.base_file is None for one in faulty.table().file_slices())
    check_at_once(faulty, advice)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_skewed_buckets(tmp_path: Path, table_type: str) -> None:
    options = {
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "8",
        "hoodie.bucket.index.hash.field": "p",
    }

    def write(table: hf.Table, number: int) -> None:
        rows = rows_of(number * 1600, 1600, width=200)
        tenants = pa.array([f"tenant {at % 20 if at % 10 == 0 else 'large'}" for at in range(1600)])
        table.upsert(rows.set_column(1, "p", tenants))

    faulty = make(tmp_path / "t", write, commits=5, options=options, record_key=("p", "k"), table_type=table_type)
    check_at_once(faulty, first_advice(faulty, "skewed-buckets"))


def test_micro_partitions(tmp_path: Path) -> None:
    faulty = make(tmp_path / "t", inserts(120, partitions=24), commits=5, partition_by=("p",))
    advice = first_advice(faulty, "micro-partitions")
    assert (advice.effects[0].before, advice.effects[0].after) == (24, 1)
    table = check_at_once(faulty, advice)
    assert table.count() == 600


def test_a_small_file_limit_of_0(tmp_path: Path) -> None:
    options = {**LIMITS, "hoodie.parquet.small.file.limit": "0"}
    faulty = make(tmp_path / "t", inserts(100), commits=16, options=options)
    advice = first_advice(faulty, "unfilled-small-files")
    assert advice.properties == {"hoodie.parquet.small.file.limit": "100000"}
    table = check_at_once(faulty, advice)
    faulty.go_on(table, 6)
    assert len(table.file_slices()) <= 4


def test_bulk_inserts_that_nobody_clusters(tmp_path: Path) -> None:
    write = lambda table, number: table.bulk_insert(rows_of(number * 100, 100))  # noqa: E731
    faulty = make(tmp_path / "t", write, commits=16, options=LIMITS)
    advice = first_advice(faulty, "unfilled-small-files")
    assert advice.properties["hoodie.clustering.inline"] == "true"
    table = check_at_once(faulty, advice)
    faulty.go_on(table, 8)
    assert len(table.file_slices()) < 8


@pytest.mark.parametrize(
    ("narrow", "advised"),
    [
        ({"hoodie.clustering.plan.strategy.max.num.groups": "1"}, "8"),
        ({"hoodie.clustering.plan.partition.filter.mode": "RECENT_DAYS"}, "NONE"),
        ({"hoodie.clustering.plan.strategy.partition.selected": "d000"}, ""),
        ({"hoodie.clustering.plan.strategy.partition.regex.pattern": "d00[01]"}, ""),
        ({"hoodie.clustering.plan.strategy.small.file.limit": "3000"}, "100000"),
    ],
)
def test_a_clustering_that_does_not_reach_most_small_files(
    tmp_path: Path, narrow: dict[str, str], advised: str
) -> None:
    """apache/hudi 13475: the small files of all other partitions stay."""
    sizes = {"small.file.limit": "100000", "target.file.max.bytes": "120000", "daybased.lookback.partitions": "1"}
    plan = {f"hoodie.clustering.plan.strategy.{name}": value for name, value in sizes.items()}
    options = {**LIMITS, **plan, **narrow, "hoodie.clustering.inline": "true"}
    write = lambda table, number: table.bulk_insert(rows_of(number * 160, 160, partitions=8))  # noqa: E731
    faulty = make(tmp_path / "t", write, commits=6, options=options, partition_by=("p",))
    advice = first_advice(faulty, "unfilled-small-files")
    (key, value), *_ = narrow.items()
    taken, small = re.findall(r"a clustering takes (\d+) of (\d+) small files", advice.found)[0]
    assert 3 * int(taken) < int(small)
    assert f"by {key}={value}" in advice.found
    assert advice.properties == {key: advised}
    check_at_once(faulty, advice)


def test_small_files_whose_log_files_the_index_does_not_see(tmp_path: Path) -> None:
    def write(table: hf.Table, number: int) -> None:
        if number % 2:
            table.upsert(rows_with(np.arange(0, number * 30, 7), seed=number))
        else:
            table.upsert(rows_of(number * 30, 60))

    options = {**LIMITS, "hoodie.compact.inline.max.delta.commits": "30"}
    faulty = make(tmp_path / "t", write, commits=18, options=options, table_type=MOR)
    advice = first_advice(faulty, "unfilled-small-files")
    assert "in which the index SIMPLE finds no records" in advice.found
    assert advice.properties == {"hoodie.compact.inline": "true"}
    check_at_once(faulty, advice)


def test_a_record_size_by_which_files_take_few_rows(tmp_path: Path) -> None:
    faulty = make(tmp_path / "t", inserts(500), commits=3, options=LIMITS)
    advice = first_advice(faulty, "record-size-estimate")
    (effect,) = advice.effects
    assert len(faulty.table().insert(rows_of(10**6, 500)).stats) == effect.before >= 5
    table = take(faulty, advice)
    assert len(table.insert(rows_of(2 * 10**6, 500)).stats) == effect.after == 1


def test_limits_of_archiving_that_contradict_each_other(tmp_path: Path) -> None:
    faulty = make(tmp_path / "t", inserts(2), commits=26, options={"hoodie.archive.automatic": "false"})
    faulty.options = {"hoodie.keep.max.commits": "12", "hudiformat.sync": "false"}
    faulty.options["hoodie.keep.min.commits"] = "14"
    advice = first_advice(faulty, "contradicting-settings")
    assert advice.properties == {"hoodie.keep.min.commits": "14", "hoodie.keep.max.commits": "24"}
    check_at_once(faulty, advice)


def test_commits_that_are_archived_before_they_are_cleaned(tmp_path: Path) -> None:
    options = {"hoodie.clean.commits.retained": "8", "hoodie.keep.min.commits": "4", "hoodie.keep.max.commits": "6"}
    faulty = make(tmp_path / "t", inserts(2), commits=6, options=options)
    advice = first_advice(faulty, "contradicting-settings", commits=7)
    (effect,) = advice.effects
    table = take(faulty, advice)
    faulty.go_on(table, effect.commits)
    assert measure(table, "active_commits") == effect.after == 13


def test_a_savepoint_that_holds_archiving(tmp_path: Path) -> None:
    options = {"hoodie.keep.min.commits": "11", "hoodie.keep.max.commits": "13"}

    def write(table: hf.Table, number: int) -> None:
        commit = table.upsert(rows_of(0, 400, seed=number))
        if number == 0:
            table.savepoint(commit)

    faulty = make(tmp_path / "t", write, commits=28, options=options)
    advice = first_advice(faulty, "savepoints-hold-archiving")
    assert advice.effects[0].after == 11
    check_at_once(faulty, advice)


def test_a_compaction_that_has_not_run(tmp_path: Path) -> None:
    def write(table: hf.Table, number: int) -> None:
        table.upsert(rows_of(0, 500, seed=number) if number == 0 else rows_of(0, 30, seed=number))

    faulty = make(tmp_path / "t", write, commits=15, table_type=MOR)
    advice = first_advice(faulty, "compaction-not-run")
    assert (advice.effects[0].before, advice.effects[0].after) == (14, 0)
    check_at_once(faulty, advice)


@pytest.mark.parametrize("version", [6, 9])
def test_a_planned_compaction_that_nobody_runs(tmp_path: Path, version: int) -> None:
    def write(table: hf.Table, number: int) -> None:
        table.upsert(rows_of(0, 500, seed=number))
        if number == 4:
            table.schedule_compaction()

    path = tmp_path / "t"
    options = {"hoodie.compact.inline.max.delta.commits": "20"}
    faulty = make(path, write, commits=0, table_type=MOR, options=options) if version == 9 else Faulty(path, {}, write)
    if version == 6:
        faulty.options = {"hudiformat.sync": "false", **options}
        hf.create_table(
            path,
            name="t",
            schema=rows_of(0, 1).schema,
            record_key="k",
            table_type=MOR,
            version=6,
            options=faulty.options,
        )
    faulty.go_on(faulty.table(), 11)
    advice = first_advice(faulty, "pending-compaction")
    assert advice.severity is hf.Severity.MEDIUM
    check_at_once(faulty, advice)


def test_a_planned_clustering_that_nobody_runs(tmp_path: Path) -> None:
    def write(table: hf.Table, number: int) -> None:
        table.insert(rows_of(number * 50, 50))
        if number == 7:
            hf.open_table(table.path, options={"hudiformat.sync": "false"}).schedule_clustering()

    options = {**LIMITS, "hoodie.parquet.small.file.limit": "0"}
    faulty = make(tmp_path / "t", write, commits=13, options=options)
    check_at_once(faulty, first_advice(faulty, "pending-clustering"))


def test_file_groups_that_are_rewritten_for_a_few_rows(tmp_path: Path) -> None:
    options = {"hoodie.parquet.max.file.size": "60000", "hoodie.parquet.small.file.limit": "50000"}
    options |= {"hoodie.copyonwrite.record.size.estimate": "60", **UNARCHIVED}

    def write(table: hf.Table, number: int) -> None:
        if number == 0:
            table.insert(rows_of(0, 4000))
        else:
            changed = np.random.default_rng(number).choice(4000, 60, replace=False)
            table.upsert(rows_with(np.sort(changed), seed=number))

    faulty = make(tmp_path / "t", write, commits=0, options=options)
    faulty.go_on(faulty.table(), 14)
    advice = first_advice(faulty, "rewrites-for-few-rows", commits=10)
    written = advice.effects[0]
    table = take(faulty, advice)
    begun = table.timeline.completed_writes[-1].time
    faulty.go_on(table, written.commits)
    assert bytes_written_since(table, begun) == pytest.approx(written.after, rel=0.1)


def test_compactions_after_each_commit(tmp_path: Path) -> None:
    options = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1", **LIMITS, **UNARCHIVED}
    options["hoodie.copyonwrite.record.size.estimate"] = "60"

    def write(table: hf.Table, number: int) -> None:
        table.upsert(rows_of(0, 2000) if number == 0 else rows_of(number * 20 % 1900, 60, seed=number))

    faulty = make(tmp_path / "t", write, commits=8, options=options, table_type=MOR)
    advice = first_advice(faulty, "better-settings", commits=FEW + 4)
    assert list(advice.properties) == ["hoodie.compact.inline.max.delta.commits"]
    written = advice.effects[0]
    table = take(faulty, advice)
    begun = table.timeline.completed_writes[-1].time
    faulty.go_on(table, written.commits)
    assert bytes_written_since(table, begun) == pytest.approx(written.after, rel=0.1)


def test_a_table_that_nobody_cleans(tmp_path: Path) -> None:
    options = {"hoodie.clean.automatic": "false", "hoodie.clean.commits.retained": "2"}
    faulty = make(tmp_path / "t", lambda t, n: t.upsert(rows_of(0, 300, seed=n)), commits=12, options=options)
    advice = first_advice(faulty, "cleaning-off")
    check_at_once(faulty, advice)


def test_a_table_that_nobody_archives(tmp_path: Path) -> None:
    options = {"hoodie.archive.automatic": "false", "hoodie.keep.min.commits": "11", "hoodie.keep.max.commits": "12"}
    faulty = make(tmp_path / "t", inserts(2), commits=26, options=options)
    advice = first_advice(faulty, "archiving-off")
    check_at_once(faulty, advice)


def test_a_partitioned_table_that_the_command_line_copies_keeps_its_rows(tmp_path: Path) -> None:
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "24"}
    write = lambda table, number: table.upsert(rows_of(number * 90, 90, partitions=2))  # noqa: E731
    faulty = make(tmp_path / "t", write, commits=5, options=options, partition_by=("p",))
    advice = first_advice(faulty, "too-many-buckets")
    before = sorted(faulty.table().snapshot(columns=["k", "p"]).to_pylist(), key=str)
    table = check_at_once(faulty, advice)
    assert table.partitions() == faulty.table().partitions()
    assert sorted(table.snapshot(columns=["k", "p"]).to_pylist(), key=str) == before
