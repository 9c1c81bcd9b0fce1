"""Options as values: what follows from them, and which contradict each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import OptionError
from hudiformat.table.options.locks import LockOptions, LockProvider
from hudiformat.table.options.values import (
    REPLACING,
    CleanPolicy,
    ConcurrencyMode,
    ConcurrencyOptions,
    FailedWritesPolicy,
    IndexType,
    Operation,
    ServiceOptions,
    WriteOptions,
)
from tests.tables import new_table

MODE = {"hoodie.write.concurrency.mode": "optimistic_concurrency_control"}


def test_eager_cleaning_beside_other_writers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="found EAGER, which deletes what other writers are writing"):
        new_table(tmp_path, options={**MODE, "hoodie.clean.failed.writes.policy": "EAGER"})


@pytest.mark.parametrize("mode", [ConcurrencyMode.OPTIMISTIC, ConcurrencyMode.NON_BLOCKING])
def test_a_writer_with_others_beside_it_rolls_back_only_dead_writers(mode: ConcurrencyMode) -> None:
    shared = ConcurrencyOptions(mode=mode)
    shared.check()
    assert shared.has_other_writers
    assert shared.failed_writes_policy is FailedWritesPolicy.LAZY
    never = ConcurrencyOptions(mode=mode, failed_writes=FailedWritesPolicy.NEVER)
    never.check()
    assert never.failed_writes_policy is FailedWritesPolicy.NEVER
    with pytest.raises(OptionError) as caught:
        ConcurrencyOptions(mode=mode, failed_writes=FailedWritesPolicy.EAGER).check()
    assert caught.value.option == "hoodie.clean.failed.writes.policy"


def test_a_single_writer_rolls_back_every_failed_write_unless_told_otherwise() -> None:
    alone = ConcurrencyOptions()
    assert not alone.has_other_writers
    assert alone.failed_writes_policy is FailedWritesPolicy.EAGER
    ConcurrencyOptions(failed_writes=FailedWritesPolicy.EAGER).check()


def test_times_are_seconds() -> None:
    options = ConcurrencyOptions(heartbeat_interval_ms=2000, heartbeat_misses=4)
    assert options.heartbeat_tolerance == 8.0


@pytest.mark.parametrize(
    ("provider", "seconds"),
    [
        (LockProvider.FILE_SYSTEM, 1.5),
        (LockProvider.HIVE_METASTORE, 1.5),
        (LockProvider.IN_PROCESS, 9.5),
        (LockProvider.STORAGE_BASED, 9.5),
        (LockProvider.ZOOKEEPER, 9.5),
        (LockProvider.ZOOKEEPER_IMPLICIT, 9.5),
        (LockProvider.DYNAMODB, 9.5),
    ],
)
@pytest.mark.all_sets
def test_each_attempt_at_a_lock_waits_if_that_of_hudis_provider_does(provider: LockProvider, seconds: float) -> None:
    options = LockOptions(provider=provider, retries=3, retry_wait_ms=500, wait_ms=2000)
    assert options.longest_wait == seconds


def test_what_each_index_can_do() -> None:
    supported = {one for one in IndexType if one.is_supported}
    assert supported == {
        IndexType.SIMPLE,
        IndexType.BLOOM,
        IndexType.INMEMORY,
        IndexType.BUCKET,
        IndexType.GLOBAL_SIMPLE,
        IndexType.GLOBAL_BLOOM,
        IndexType.RECORD_INDEX,
        IndexType.GLOBAL_RECORD_LEVEL_INDEX,
        IndexType.RECORD_LEVEL_INDEX,
    }
    by_record = {IndexType.RECORD_INDEX, IndexType.GLOBAL_RECORD_LEVEL_INDEX}
    assert {one for one in supported if one.uses_record_index} == by_record
    assert {one for one in supported if one.is_global} == {IndexType.GLOBAL_SIMPLE, IndexType.GLOBAL_BLOOM} | by_record
    assert {one for one in supported if one.uses_partitioned_index} == {IndexType.RECORD_LEVEL_INDEX}
    assert {one for one in supported if one.uses_bloom_filters} == {IndexType.BLOOM, IndexType.GLOBAL_BLOOM}
    assert {one for one in supported if one.indexes_log_files} == {IndexType.INMEMORY}


@pytest.mark.parametrize(
    ("index", "own"),
    [
        (IndexType.GLOBAL_SIMPLE, 0),
        (IndexType.GLOBAL_BLOOM, 1),
        (IndexType.RECORD_INDEX, 2),
        (IndexType.GLOBAL_RECORD_LEVEL_INDEX, 2),
    ],
)
def test_each_global_index_has_an_option_of_its_own_for_moving_rows(index: IndexType, own: int) -> None:
    for moves in (True, False):
        simple, bloom, record = (moves if number == own else not moves for number in range(3))
        options = WriteOptions(index_type=index, simple_moves=simple, bloom_moves=bloom, record_moves=record)
        assert options.is_global
        assert options.moves_partitions is moves
    assert WriteOptions(index_type=index).moves_partitions is (own in (0, 1))  # as in Hudi


def test_an_uncompressed_file_has_arrows_codec_none() -> None:
    assert WriteOptions(parquet_compression="uncompressed").parquet_codec == "none"
    assert WriteOptions(parquet_compression="zstd").parquet_codec == "zstd"


def test_few_commits_leave_nothing_to_clean_by_commits() -> None:
    by_commits = ServiceOptions(clean_commits=3)
    assert [by_commits.may_clean(commits) for commits in (3, 4)] == [False, True]
    by_versions = ServiceOptions(clean_policy=CleanPolicy.BY_VERSIONS, clean_commits=3)
    assert by_versions.may_clean(1)


def test_three_operations_replace_file_groups() -> None:
    assert {one for one in Operation if one not in REPLACING} == {
        Operation.INSERT,
        Operation.UPSERT,
        Operation.BULK_INSERT,
        Operation.DELETE,
        Operation.ALTER_SCHEMA,
    }
