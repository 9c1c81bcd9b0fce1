"""Playing: many commits at once leave what they leave one by one, and each decision is that of the rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat import Partitions, Workload, simulate
from hudiformat.errors import ArgumentError, OptionError, UnsupportedFeatureError
from hudiformat.simulation.by_rules import assign
from hudiformat.simulation.lanes import new_board
from hudiformat.simulation.playing import play
from hudiformat.simulation.settings import Settings
from hudiformat.simulation.start import GivenGroup, Start
from hudiformat.simulation.totals import Totals

SMALL = {"hoodie.parquet.max.file.size": "200000", "hoodie.parquet.small.file.limit": "100000"}
MOR, COW = "MERGE_ON_READ", "COPY_ON_WRITE"


def totals(load: Workload, settings: Settings, *, one_by_one: bool, seed: int = 1) -> Totals:
    return play(new_board(load, settings, seed=seed), samples=9, one_by_one=one_by_one)


partitions = st.one_of(
    st.builds(Partitions, count=st.integers(1, 5), spread=st.sampled_from(["even", "zipf"])),
    st.builds(Partitions, spread=st.just("day"), late=st.sampled_from([0.0, 0.2]), late_days=st.integers(1, 3)),
)
workloads = st.builds(
    Workload,
    commits=st.integers(1, 90),
    rows=st.integers(0, 900),
    interval=st.sampled_from([60.0, 7000.0]),
    row_bytes=st.sampled_from([10.0, 33.3, 250.0]),
    file_bytes=st.sampled_from([0, 5000]),
    row_growth=st.sampled_from([0.0, 0.5]),
    updated_row_bytes=st.sampled_from([0.0, 40.0]),
    updates=st.sampled_from([0.0, 0.3, 0.9]),
    update_spread=st.sampled_from(["uniform", "zipf", "newest"]),
    deletes=st.sampled_from([0.0, 0.1]),
    partitions=partitions,
    growth=st.sampled_from([0.0, 3.0]),
    burst_every=st.sampled_from([0, 7]),
    burst=st.just(5.0),
)
indexes = st.sampled_from(["SIMPLE", "INMEMORY", "BUCKET"])
keys = st.fixed_dictionaries(
    {
        "hoodie.index.type": indexes,
        "hoodie.bucket.index.num.buckets": st.just("4"),
        "hoodie.bucket.index.partition.expressions": st.sampled_from(["", "p=00001,7", "day=0000[02],1"]),
        "hoodie.parquet.small.file.limit": st.sampled_from(["0", "100000", "199000"]),
        "hoodie.parquet.max.file.size": st.just("200000"),
        "hoodie.compact.inline": st.sampled_from(["true", "false"]),
        "hoodie.compact.inline.max.delta.commits": st.integers(1, 6).map(str),
        "hoodie.compaction.target.io": st.sampled_from(["512000", "1"]),
        "hoodie.record.size.estimation.threshold": st.sampled_from(["1.0", "0.01"]),
        "_hoodie.record.size.estimator.max.commits": st.sampled_from(["5", "0"]),
    }
)


@given(
    load=workloads,
    options=keys,
    table_type=st.sampled_from([COW, MOR]),
    engine=st.sampled_from(["hudiformat", "spark", "flink"]),
    cluster=st.booleans(),
)
def test_commits_at_once_leave_what_they_leave_one_by_one(
    load: Workload, options: dict[str, str], table_type: str, engine: str, cluster: bool
) -> None:
    if cluster and options["hoodie.index.type"] != "BUCKET":
        options = {**options, "hoodie.clustering.inline": "true"}
    settings = Settings.of(options, table_type=table_type, engine=engine, tasks=2)
    at_once, one_by_one = (totals(load, settings, one_by_one=way) for way in (False, True))
    if not load.deletes:  # each lane rounds its share
        new = int((at_once["rows"] - at_once["updates"]).sum())
        assert at_once.samples[-1].rows == pytest.approx(new, abs=2 * settings.lanes * len(at_once.samples) * 5)
    assert at_once.samples == one_by_one.samples
    for name, column in at_once.columns.items():
        np.testing.assert_array_equal(column, one_by_one[name], name)


@given(load=workloads, options=keys, table_type=st.sampled_from([COW, MOR]))
def test_parts_of_flinks_buffers_are_the_same_at_once(load: Workload, options: dict[str, str], table_type: str) -> None:
    small = {"write.batch.size": "0.01", "write.task.max.size": "200.05"}
    settings = Settings.of({**options, **small}, table_type=table_type, engine="flink", tasks=2)
    at_once, one_by_one = (totals(load, settings, one_by_one=way) for way in (False, True))
    assert at_once.samples == one_by_one.samples
    for name, column in at_once.columns.items():
        np.testing.assert_array_equal(column, one_by_one[name], name)


def test_a_buffer_of_flink_that_is_full_is_a_log_file_or_a_rewrite() -> None:
    load = Workload(commits=10, rows=1000, row_bytes=100.0, file_bytes=0, log_row_bytes=1000.0)
    sizes = {"hoodie.parquet.max.file.size": str(1 << 30), "hoodie.compact.inline": "false"}
    whole, parts = (
        simulate(load, engine="flink", table_type=MOR, options={**sizes, "write.batch.size": size}).summary
        for size in ("1", "0.25")
    )
    assert (whole["log_files"], parts["log_files"]) == (10, 40)
    assert parts["written_bytes"] - whole["written_bytes"] == 30 * load.block_bytes
    rolled = {**sizes, "write.log_block.size": "0.1", "write.log.max.size": "0.1"}
    assert simulate(load, engine="flink", table_type=MOR, options=rolled).summary["log_files"] == 50  # of two blocks
    once, often = (simulate(load, engine="flink", options={"write.batch.size": size}).commits for size in ("1", "0.25"))
    first, second = 100_000, 200_000
    assert once["written_bytes"][:2].to_pylist() == [first, second]
    assert often["written_bytes"][:2].to_pylist() == [first + 3 * first // 2, second + 3 * (first + second) // 2]


def test_without_memory_the_largest_buffers_of_flink_are_written_early() -> None:
    load = Workload(commits=2, rows=4000, log_row_bytes=1000.0, partitions=Partitions(count=4))
    options = {"write.task.max.size": "202", "hoodie.compact.inline": "false"}
    found = simulate(load, engine="flink", table_type=MOR, options=options)
    assert found.summary["log_files"] == 2 * 4  # 4 MB a commit, and 2 MB of memory: a part has 1 MB
    found = simulate(load, engine="flink", table_type=MOR, options={**options, "write.task.max.size": "201"})
    assert found.summary["log_files"] == 2 * 4 * 2


def test_buckets_get_rows_after_a_compaction_that_is_planned_by_itself() -> None:
    keys = {**SMALL, "hoodie.index.type": "BUCKET", "hoodie.compact.inline": "true", "hoodie.compaction.target.io": "1"}
    load = Workload(commits=60, rows=900, updates=0.3, row_bytes=250.0)
    found = totals(load, Settings.of(keys, table_type=MOR), one_by_one=False)
    assert found["compactions"].sum() > 1
    assert found.samples[-1].rows == (found["rows"] - found["updates"]).sum()


RESIZED = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "4",
    "hoodie.bucket.index.max.num.buckets": "16",
    "hoodie.bucket.index.min.num.buckets": "1",
    "hoodie.clustering.inline": "true",
    "hoodie.parquet.max.file.size": "100000",
    "hoodie.parquet.small.file.limit": "0",
}


@given(
    load=workloads,
    compact=st.sampled_from(["true", "false"]),
    sizes=st.sampled_from([("2.0", "0.2"), ("0.3", "0.1"), ("0.6", "0.5")]),
    most=st.sampled_from(["1", "30"]),
)
def test_buckets_are_resized_at_once_as_one_by_one(
    load: Workload, compact: str, sizes: tuple[str, str], most: str
) -> None:
    names = "hoodie.bucket.index.split.threshold", "hoodie.bucket.index.merge.threshold"
    options = {**RESIZED, **dict(zip(names, sizes, strict=True)), "hoodie.compact.inline": compact}
    options["hoodie.clustering.plan.strategy.max.num.groups"] = most
    settings = Settings.of(options, table_type=MOR)
    at_once, one_by_one = (totals(load, settings, one_by_one=way) for way in (False, True))
    assert at_once.samples == one_by_one.samples
    for name, column in at_once.columns.items():
        np.testing.assert_array_equal(column, one_by_one[name], name)


def test_buckets_are_split_until_each_has_about_a_file() -> None:
    load = Workload(commits=400, rows=100, row_bytes=100.0, log_row_bytes=100.0, file_bytes=0)
    found = simulate(load, table_type=MOR, options={**RESIZED, "hoodie.compact.inline": "true"})
    assert found.summary["file_groups"] == 16  # 4 MB, of which buckets of more than 200 kB are halved
    assert found.layout["rows"][-1].as_py() == pytest.approx(40_000, abs=40)
    assert found.summary["clusterings"] > 1


def test_a_file_group_that_is_no_bucket_of_the_ring_is_refused() -> None:
    other = Start(paths=("",), shares=np.ones(1), groups=(GivenGroup("", "other-0", 9, 0, 0, 1),))
    with pytest.raises(
        UnsupportedFeatureError, match="expected file groups of the buckets of partition '', found other"
    ):
        new_board(Workload(commits=1), Settings.of(RESIZED, table_type=MOR), seed=1, start=other)


def test_small_buckets_are_merged() -> None:
    load = Workload(commits=60, rows=4, row_bytes=100.0, log_row_bytes=100.0, file_bytes=0, block_bytes=0)
    found = simulate(load, table_type=MOR, options=RESIZED)
    assert found.summary["file_groups"] == 1
    fewest = {**RESIZED, "hoodie.bucket.index.min.num.buckets": "4"}
    assert simulate(load, table_type=MOR, options=fewest).summary["file_groups"] == 4


def test_partitions_have_the_buckets_of_their_rule() -> None:
    keys = {
        **SMALL,
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "2",
        "hoodie.bucket.index.partition.expressions": "p=0000[01],6",
    }
    load = Workload(commits=3, rows=30_000, row_bytes=10.0, file_bytes=0, partitions=Partitions(count=3))
    found = simulate(load, options=keys)
    assert found.sizes.to_pydict() == {"bytes": [50_000, 150_000], "files": [12, 2]}


def test_flinks_assigner_goes_on_with_a_file_group_that_one_commit_has_filled() -> None:
    """A burst fills the group, so it is not small after its commit, but the assigner has its id for one more."""
    keys = {**SMALL, "hoodie.clustering.inline": "true"}
    load = Workload(commits=14, rows=76, row_bytes=33.3, file_bytes=5000, burst_every=7, burst=5.0)
    settings = Settings.of(keys, engine="flink", tasks=2)
    at_once, one_by_one = (totals(load, settings, one_by_one=way) for way in (False, True))
    assert at_once.samples == one_by_one.samples


@given(load=workloads, table_type=st.sampled_from([COW, MOR]))
def test_bulk_inserts_open_a_file_group_for_each_task(load: Workload, table_type: str) -> None:
    settings = Settings.of(SMALL, table_type=table_type, writing="bulk_insert", tasks=3)
    at_once, one_by_one = (totals(load, settings, one_by_one=way) for way in (False, True))
    assert at_once.samples == one_by_one.samples
    new = at_once["rows"] - at_once["updates"] - at_once["deletes"]
    if load.partitions.count == 1 and load.partitions.spread != "day":
        assert at_once["groups_opened"].tolist() == np.minimum(new, 3).tolist()


def test_no_row_is_lost() -> None:
    found = simulate(Workload(commits=500, rows=333, file_bytes=0), options=SMALL)
    assert found.layout["rows"][-1].as_py() == 500 * 333
    assert found.summary["file_groups"] == found.sizes["files"].to_numpy().sum()


def test_deleted_rows_are_gone_and_their_files_take_others() -> None:
    load = Workload(commits=400, rows=500, deletes=0.4, row_bytes=100.0, file_bytes=0)
    found, without = (simulate(one, options=SMALL).summary for one in (load, replace(load, deletes=0.0, rows=300)))
    assert found["bytes_in"] == pytest.approx(without["bytes_in"], rel=0.01)
    assert found["base_bytes"] < 0.4 * without["base_bytes"]
    assert found["base_files"] <= without["base_files"] / 2
    assert found["written_bytes"] > without["written_bytes"]


def test_rows_that_grow_take_more_files() -> None:
    load = Workload(commits=200, rows=1000, file_bytes=0)
    small, large = (simulate(replace(load, row_growth=growth), options=SMALL).summary for growth in (0.0, 1.0))
    assert large["bytes_in"] == pytest.approx(1.47 * small["bytes_in"], rel=0.02)
    assert large["base_bytes"] == pytest.approx(large["bytes_in"], rel=0.01)


def test_updates_of_few_hot_keys_rewrite_fewer_files() -> None:
    load = Workload(commits=300, rows=500, updates=0.3, file_bytes=0)
    written = [
        simulate(replace(load, update_spread=spread, update_skew=2.0), options=SMALL).summary["written_bytes"]
        for spread in ("uniform", "zipf")
    ]
    assert written[1] < written[0] / 2


def test_the_same_seed_gives_the_same_result() -> None:
    load = Workload(commits=300, rows=1000, file_bytes=0, partitions=Partitions(count=4, spread="zipf"))
    first, second = (simulate(load, options=SMALL, seed=5) for _ in range(2))
    assert first.summary == second.summary
    assert first.commits == second.commits
    assert simulate(load, options=SMALL, seed=6).commits != first.commits


def test_a_lane_is_filled_before_a_file_group_is_opened() -> None:
    board = new_board(Workload(commits=3, rows=100, file_bytes=0), Settings.of(SMALL), seed=1)
    assert assign(board, 0, 250, 1000) == ({}, [(None, 200), (None, 50)])
    number = board.add_group(0, 50)  # 5,000 bytes
    assert assign(board, 0, 250, 1000) == ({number: 195}, [(None, 55)])


def test_a_day_of_commits_into_many_partitions_is_a_few_windows() -> None:
    load = Workload(commits=1440, rows=400, partitions=Partitions(count=400))
    found = simulate(load, samples=12)
    assert found.summary["file_groups"] == 400
    assert found.commits.num_rows == 1440


def test_settings_that_are_not_simulated_are_refused_by_name() -> None:
    load = Workload(commits=1)
    with pytest.raises(UnsupportedFeatureError, match="consistent hashing of a copy-on-write table"):
        simulate(load, options=RESIZED)
    rules = {"hoodie.bucket.index.partition.expressions": "a,3"}
    with pytest.raises(UnsupportedFeatureError, match="consistent hashing with rules"):
        simulate(load, options={**RESIZED, **rules}, table_type=MOR)
    with pytest.raises(UnsupportedFeatureError, match="clustering of buckets without consistent hashing"):
        simulate(load, options={"hoodie.index.type": "BUCKET", "hoodie.clustering.inline": "true"})
    with pytest.raises(UnsupportedFeatureError, match="bulk inserts into buckets"):
        simulate(load, options={"hoodie.index.type": "BUCKET"}, writing="bulk_insert")
    with pytest.raises(UnsupportedFeatureError, match="log compaction"):
        simulate(load, options={"hoodie.log.compaction.enable": "true"}, table_type=MOR)
    with pytest.raises(UnsupportedFeatureError, match="candidates.limit above 1"):
        simulate(load, options={"hoodie.merge.small.file.group.candidates.limit": "3"}, table_type=MOR)
    with pytest.raises(UnsupportedFeatureError, match="partition TTL"):
        simulate(
            load, options={"hoodie.partition.ttl.inline": "true", "hoodie.partition.ttl.strategy.days.retain": "3"}
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "storm"}, "engine: expected hudiformat or spark or flink or files, found 'storm'"),
        ({"table_type": "HEAP"}, "table_type: expected COPY_ON_WRITE or MERGE_ON_READ, found 'HEAP'"),
        ({"writing": "merge"}, "writing: expected upsert or bulk_insert, found 'merge'"),
        ({"tasks": 0}, "tasks: expected at least 1, found 0"),
        ({"tasks": 1 << 20, "engine": "flink"}, "expected 1 to 32768 tasks"),
        ({"samples": 1}, "samples: expected 2 to 100,000, found 1"),
        ({"options": {"hoodie.no.such": "1"}}, "hoodie.no.such"),
    ],
)
def test_bad_arguments_are_errors_by_name(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        simulate(Workload(commits=1), **arguments)  # type: ignore[arg-type]  # bad on purpose


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"commits": 0}, "commits: expected 1 to 20,000,000, found 0"),
        ({"updates": 1.5}, "updates: expected 0 to 1, found 1.5"),
        ({"curve": (1.0,)}, "curve: expected 24 factors"),
        ({"trace": (-1,)}, "trace: expected 0 to 10,000,000,000, found -1"),
    ],
)
def test_bad_workloads_are_errors_by_name(parts: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Workload(**parts)  # type: ignore[arg-type]  # bad on purpose


def test_more_rows_than_can_be_counted_are_refused() -> None:
    with pytest.raises(ArgumentError, match="rows: expected at most"):
        simulate(Workload(commits=5000, rows=10**9))


def test_a_clustering_of_too_many_file_groups_is_refused() -> None:
    load = Workload(commits=5, rows=100_000, file_bytes=0, partitions=Partitions(count=100))
    options = {
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.inline.max.commits": "3",
        "hoodie.parquet.small.file.limit": "0",
    }
    with pytest.raises(UnsupportedFeatureError, match="expected at most 200,000 small file groups, found 300,000"):
        simulate(load, options=options, writing="bulk_insert", tasks=1000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"write.batch.size": "much"}, "write.batch.size: expected a number of MB, found 'much'"),
        ({"write.task.max.size": "-1"}, "write.task.max.size: expected a number of MB"),
        ({"write.task.max.size": "200"}, r"write.task.max.size: expected more than write.merge.max_memory and 100 MB"),
    ],
)
def test_bad_sizes_of_flinks_buffers_are_errors_by_name(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        simulate(Workload(), engine="flink", options=options)
    with pytest.raises(OptionError, match="unknown option 'write"):
        simulate(Workload(), options=options)


def test_files_into_which_no_row_fits_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"file_bytes: expected less than 1,000, .* no row would fit into a file"):
        simulate(Workload(commits=2), options={"hoodie.parquet.max.file.size": "1000"})
