"""Packing and triggers of the file sink, and what Flink's own classes decide."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from hudiformat.sink import Packing, SinkOptions, pack, parse_sink_options
from hudiformat.sink.options import _KEYS
from hudiformat.sink.partition_commit import commit_trigger
from tests.conformance.java import JavaClass

pytestmark = pytest.mark.hudi

ZONES = ["UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Shanghai", "Australia/Lord_Howe", "GMT-08:00", "+05:45"]
DELAYS = ["0 s", "1 ms", "90 min", "1 h", "1 d"]
HOUR = 3_600_000
AROUND = datetime(2024, 3, 30, 20)


def test_first_fit_is_flink_s_packing(flink: JavaClass) -> None:
    chance = random.Random(1)
    cases = [([5, 4, 7, 11, 2, 3, 4], 10)]
    for _ in range(1000):
        target = chance.choice([1, 10, 100, 1 << 27, 1 << 40])
        top = max(int(target * chance.choice([0.2, 0.6, 1.0, 1.5])), 1)
        cases.append(([chance.randint(0, top) for _ in range(chance.randint(1, 60))], target))
    lines = "".join(f"{target}:{','.join(map(str, sizes))}\n" for sizes, target in cases)
    answers = flink.call("pack", lines).splitlines()
    assert len(answers) == len(cases) == 1001
    for (sizes, target), answer in zip(cases, answers, strict=True):
        ours = pack(range(len(sizes)), sizes.__getitem__, target, Packing.FIRST_FIT)
        assert " ".join(",".join(map(str, group)) for group in ours) == answer, (sizes, target)


def test_options_have_flink_s_defaults(flink: JavaClass) -> None:
    defaults = dict(line.split("=", 1) for line in flink.call("defaults").splitlines())
    shared = {key: value for key, value in defaults.items() if key in _KEYS}
    assert len(shared) == 10
    assert parse_sink_options(shared) == SinkOptions()


@pytest.mark.all_sets
@pytest.mark.parametrize("text", ["5", "7 b", "12k", "12 KB", " 3mb ", "3 mebibytes", "2g", "2 gibibytes", "1tb"])
def test_sizes_are_read_as_flink_reads_them(flink: JavaClass, text: str) -> None:
    assert str(parse_sink_options({"compaction.file-size": text}).compaction_file_size) == flink.call(
        "measure", "size", text
    )


@pytest.mark.all_sets
@pytest.mark.parametrize(
    "text", ["5", "7ms", "7 milli", "12s", "12 secs", " 3m ", "30 min", "2 hours", "1 d", "2 DAYS"]
)
def test_times_are_read_as_flink_reads_them(flink: JavaClass, text: str) -> None:
    assert str(parse_sink_options({"sink.partition-commit.delay": text}).delay) == flink.call("measure", "time", text)


def by_day(time: datetime) -> str:
    return f"dt={time:%Y-%m-%d}"


def by_basic_day(time: datetime) -> str:
    return f"dt={time:%Y%m%d}"


def by_hour(time: datetime) -> str:
    return f"dt={time:%Y-%m-%d}/hour={time.hour}"


def by_parts(time: datetime) -> str:
    return f"year={time.year}/month={time.month}/day={time.day}/hour={time.hour:02}"


def by_minute(time: datetime) -> str:
    return f"at={time:%Y-%m-%d %H%%3A%M%%3A%S}"


def beyond_the_calendar(time: datetime) -> str:
    return f"year={time.year - 1}/month=15/day={time.day}/hour={time.hour + 24}"


PATTERN, FORMATTER = "partition.time-extractor.timestamp-pattern", "partition.time-extractor.timestamp-formatter"
PARTS = "$year-$month-$day $hour:00:00"
KINDS = [
    (by_day, "dt", {}),
    (by_day, "dt", {PATTERN: "$dt 07:30:00"}),
    (by_basic_day, "dt", {FORMATTER: "yyyyMMdd"}),
    (by_hour, "dt,hour", {PATTERN: "$dt $hour:00:00"}),
    (by_hour, "dt,hour", {PATTERN: "$hour.$dt", FORMATTER: "H.yyyy-MM-dd"}),
    (by_parts, "year,month,day,hour", {PATTERN: PARTS}),
    (by_parts, "year,month,day,hour", {PATTERN: "$day/$month/$year at $hour", FORMATTER: "d/M/uuuu 'at' HH"}),
    (by_minute, "at", {}),
    (beyond_the_calendar, "year,month,day,hour", {PATTERN: PARTS}),
]


def ours(options: dict[str, str], events: Sequence[tuple[int, str, int]]) -> list[list[str]]:
    trigger = commit_trigger(parse_sink_options(options))
    pending: dict[str, int] = {}
    found = []
    for now, what, watermark in events:
        if what != "!":
            pending.setdefault(what, now)
            continue
        committed = trigger.committable(pending, now=now, watermark=watermark)
        pending = {partition: since for partition, since in pending.items() if partition not in committed}
        found.append(sorted(committed))
    return found


def flinks(
    flink: JavaClass, columns: str, options: dict[str, str], events: Sequence[tuple[int, str, int]]
) -> list[list[str]]:
    lines = "\n".join(
        f"{now}\t{what}\t{watermark}" if what == "!" else f"{now}\t{what}" for now, what, watermark in events
    )
    answer: str = flink.call("commits", "\n".join(f"{key}={value}" for key, value in options.items()), columns, lines)
    return [line.split("\t") if line else [] for line in answer.splitlines()]


@pytest.mark.parametrize("trigger", ["process-time", "partition-time"])
def test_partitions_are_committed_when_flink_commits_them(flink: JavaClass, trigger: str) -> None:
    chance = random.Random(2)
    committed = 0
    for number in range(90):
        partition, columns, extraction = KINDS[number % len(KINDS)]
        options = {
            "sink.partition-commit.trigger": trigger,
            "sink.partition-commit.delay": chance.choice(DELAYS),
            "sink.partition-commit.watermark-time-zone": chance.choice(ZONES),
            **extraction,
        }
        start = AROUND + timedelta(days=chance.choice([0, 7, 210, 217]))
        now, watermark, events = 0, int((start - datetime(1970, 1, 1)).total_seconds()) * 1000, []
        for _ in range(40):
            now += chance.choice([0, 1, 10 * 60_000, HOUR])
            watermark += chance.choice([0, 1, 15 * 60_000, HOUR, HOUR])
            time = start + timedelta(minutes=30 * chance.randint(-20, 60))
            events += [(now, partition(time), 0)] * chance.randint(0, 1)
            events.append((now, "!", watermark))
        expected = flinks(flink, columns, options, events)
        assert ours(options, events) == expected, options
        committed += sum(map(len, expected))
    assert committed > 500
