"""The triggers and the policies that commit partitions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

import pytest

from hudiformat.errors import DataError, OptionError
from hudiformat.sink import (
    PartitionTime,
    PartitionTimeTrigger,
    PolicyContext,
    ProcessTimeTrigger,
    SinkOptions,
    parse_sink_options,
)
from hudiformat.sink.partition_commit import commit_policies, commit_trigger, partition_values
from tests.memory_files import memory_files

HOUR = 3_600_000
BY_TIME = {
    "sink.partition-commit.trigger": "partition-time",
    "sink.partition-commit.delay": "1 h",
    "partition.time-extractor.timestamp-pattern": "$day $hour:00:00",
}


def test_the_values_of_a_path_are_those_that_it_was_made_of() -> None:
    assert partition_values("day=2024-01-01/a%3Db=c%2Fd=e") == {"day": "2024-01-01", "a=b": "c/d=e"}


def test_without_a_delay_partitions_are_committed_at_once() -> None:
    assert ProcessTimeTrigger().committable({"b=1": 5, "a=1": 9}, now=0, watermark=None) == ["b=1", "a=1"]


def test_by_process_time_a_partition_is_committed_after_the_delay() -> None:
    trigger = ProcessTimeTrigger(10)
    trigger.check("anything")
    assert trigger.committable({"a=1": 0, "a=2": 1}, now=10, watermark=None) == []
    assert trigger.committable({"a=1": 0, "a=2": 1}, now=11, watermark=None) == ["a=1"]


def test_by_partition_time_the_watermark_has_to_pass_time_and_delay() -> None:
    trigger = commit_trigger(parse_sink_options(BY_TIME))
    pending = {"day=1970-01-01/hour=00": 0, "day=1970-01-01/hour=1": 0}
    assert trigger.committable(pending, now=99 * HOUR, watermark=None) == []
    assert trigger.committable(pending, now=0, watermark=HOUR) == []
    assert trigger.committable(pending, now=0, watermark=HOUR + 1) == ["day=1970-01-01/hour=00"]
    assert trigger.committable(pending, now=0, watermark=2 * HOUR + 1) == list(pending)


def test_the_watermark_is_compared_in_its_time_zone() -> None:
    zone = {"sink.partition-commit.watermark-time-zone": "GMT+08:00", "sink.partition-commit.delay": "0"}
    trigger = commit_trigger(parse_sink_options({**BY_TIME, **zone}))
    pending = {"day=1970-01-01/hour=08": 0}
    assert trigger.committable(pending, now=0, watermark=0) == []
    assert trigger.committable(pending, now=0, watermark=1) == list(pending)


def test_a_partition_without_a_time_is_refused_in_advance() -> None:
    with pytest.raises(DataError, match="partition day=x: expected a time"):
        PartitionTimeTrigger(PartitionTime()).check("day=x")


def in_days(values: Mapping[str, str]) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc).replace(tzinfo=None) + timedelta(int(values["n"]))


def test_a_custom_extractor_computes_the_time() -> None:
    options = {"sink.partition-commit.trigger": "partition-time", "partition.time-extractor.kind": "custom"}
    trigger = commit_trigger(parse_sink_options(options), in_days)
    assert trigger.committable({"n=0": 0, "n=1": 0}, now=0, watermark=5) == ["n=0"]


def test_an_extractor_and_its_option_go_together() -> None:
    with pytest.raises(OptionError, match="extractor.kind: expected 'custom' and the argument extractor= together"):
        commit_trigger(SinkOptions(), in_days)
    with pytest.raises(OptionError, match="together, found one of them"):
        commit_trigger(parse_sink_options({"partition.time-extractor.kind": "custom"}))


class Notes:
    """A metastore and a policy that write down what they are asked."""

    def __init__(self) -> None:
        self.found: list[object] = []

    def create_or_alter_partition(self, values: Mapping[str, str], path: str) -> None:
        self.found.append((dict(values), path))

    def commit(self, context: PolicyContext) -> None:
        self.found.append((context.partition, context.storage.exists(f"{context.partition}/_done")))


def test_policies_are_executed_in_their_order() -> None:
    storage, notes = memory_files(), Notes()
    options = parse_sink_options(
        {
            "sink.partition-commit.policy.kind": "metastore, custom,success-file,custom",
            "sink.partition-commit.success-file.name": "_done",
        }
    )
    for policy in commit_policies(options, metastore=notes, custom=notes):
        policy.commit(PolicyContext("day=1/c=%2F", storage))
    place = "day=1/c=%2F"
    assert notes.found == [({"day": "1", "c": "/"}, f"{storage.root}/{place}"), (place, False), (place, True)]


def test_a_policy_is_given_values_paths_and_files() -> None:
    storage = memory_files()
    for name in ("b.parquet", "a.parquet", ".hidden", "_SUCCESS", "deeper/x.parquet"):
        storage.create(f"day=1/c=%2F/{name}", b"")
    context = PolicyContext("day=1/c=%2F", storage)
    assert context.values == {"day": "1", "c": "/"}
    assert context.path == f"{storage.root}/day=1/c=%2F"
    assert context.files() == ["day=1/c=%2F/a.parquet", "day=1/c=%2F/b.parquet"]


def test_a_success_file_is_empty_and_written_anew_each_time() -> None:
    storage = memory_files()
    (policy,) = commit_policies(parse_sink_options({"sink.partition-commit.policy.kind": "success-file"}))
    storage.create("day=1/_SUCCESS", b"old")
    policy.commit(PolicyContext("day=1", storage))
    assert storage.read("day=1/_SUCCESS") == b""


@pytest.mark.parametrize("kind", ["metastore", "custom"])
def test_a_policy_and_its_argument_go_together(kind: str) -> None:
    with pytest.raises(OptionError, match=f"policy.kind: expected '{kind}' and the argument {kind}= together"):
        commit_policies(parse_sink_options({"sink.partition-commit.policy.kind": kind}))
    with pytest.raises(OptionError, match=f"'{kind}' and the argument {kind}= together"):
        commit_policies(SinkOptions(), **{kind: Notes()})
