"""Flink's keys with Flink's defaults."""

from __future__ import annotations

from typing import Any

import pytest

from hudiformat.errors import OptionError, UnsupportedFeatureError
from hudiformat.sink import Packing, SinkOptions, parse_sink_options
from hudiformat.sink.options import Codec, ExtractorKind, Format, Policy, Trigger


def test_the_defaults_are_those_of_flink() -> None:
    options = parse_sink_options(None)
    assert options == SinkOptions()
    assert (options.auto_compaction, options.compaction_target, options.packing) == (False, 134217728, Packing.NEXT_FIT)
    assert (options.format, options.avro_codec) == (Format.PARQUET, Codec.SNAPPY)
    assert (options.rollover_interval, options.inactivity_interval, options.check_interval) == (1800000, 1800000, 60000)
    assert (options.trigger, options.delay, options.watermark_time_zone) == (Trigger.PROCESS_TIME, 0, "UTC")
    assert (options.policies, options.success_file_name) == ((), "_SUCCESS")
    assert (options.extractor_kind, options.timestamp_pattern) == (ExtractorKind.DEFAULT, None)


@pytest.mark.parametrize(
    ("key", "value", "name", "expected"),
    [
        ("format", "parquet", "format", Format.PARQUET),
        ("format", "avro", "format", Format.AVRO),
        ("auto-compaction", "TRUE", "auto_compaction", True),
        ("auto-compaction", "false", "auto_compaction", False),
        ("compaction.file-size", "10mb", "compaction_target", 10 << 20),
        ("compaction.file-size", "10 kibibytes", "compaction_target", 10 << 10),
        ("sink.rolling-policy.file-size", "1 gb", "compaction_target", 1 << 30),
        ("sink.rolling-policy.file-size", "1000", "file_size", 1000),
        ("compaction.parallelism", "3", "compaction_parallelism", 3),
        ("hudiformat.sink.packing", "first-fit", "packing", Packing.FIRST_FIT),
        ("sink.rolling-policy.rollover-interval", "2 h", "rollover_interval", 7_200_000),
        ("sink.rolling-policy.inactivity-interval", "1 day", "inactivity_interval", 86_400_000),
        ("sink.rolling-policy.check-interval", "250", "check_interval", 250),
        ("sink.partition-commit.trigger", "partition-time", "trigger", Trigger.PARTITION_TIME),
        ("sink.partition-commit.delay", "90s", "delay", 90_000),
        ("sink.partition-commit.watermark-time-zone", "Asia/Shanghai", "watermark_time_zone", "Asia/Shanghai"),
        ("sink.partition-commit.policy.kind", "metastore,success-file", "policies",
         (Policy.METASTORE, Policy.SUCCESS_FILE)),
        ("sink.partition-commit.success-file.name", "_done", "success_file_name", "_done"),
        ("partition.time-extractor.kind", "custom", "extractor_kind", ExtractorKind.CUSTOM),
        ("partition.time-extractor.timestamp-pattern", "$dt $hour:00:00", "timestamp_pattern", "$dt $hour:00:00"),
        ("partition.time-extractor.timestamp-formatter", "yyyyMMdd", "timestamp_formatter", "yyyyMMdd"),
    ],
)  # fmt: skip
def test_each_key_is_read(key: str, value: str, name: str, expected: Any) -> None:
    assert getattr(parse_sink_options({key: value}), name) == expected


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "orc", "expected one of parquet, avro, found 'orc'"),
        ("avro.codec", "zstandard", "expected one of null, deflate, snappy, bzip2, xz, found 'zstandard'"),
        ("auto-compaction", "yes", "expected true or false, found 'yes'"),
        ("compaction.file-size", "10 furlongs", "expected a size such as 128 mb, found '10 furlongs'"),
        ("compaction.file-size", "-1", "expected a size"),
        ("compaction.parallelism", "0", "expected a whole number from 1 on, found '0'"),
        ("sink.partition-commit.delay", "1 mb", "expected a time such as 30 min, found '1 mb'"),
        ("sink.partition-commit.trigger", "never", "expected one of process-time, partition-time, found 'never'"),
        ("sink.partition-commit.policy.kind", "success-file,mail", "one of metastore, success-file, custom"),
        ("sink.partition-commit.watermark-time-zone", "Mars/Olympus", "expected a time zone such as UTC"),
        ("sink.partition-commit.success-file.name", "a/b", "expected the name of a file, found 'a/b'"),
    ],
)
def test_an_invalid_value_is_refused(key: str, value: str, message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        parse_sink_options({key: value})
    assert caught.value.option == key


@pytest.mark.parametrize("codec", list(Codec))
def test_avro_files_take_flink_s_codecs(codec: Codec) -> None:
    options = parse_sink_options({"avro.codec": codec.value, "format": "avro"})
    assert (options.format, options.avro_codec) == (Format.AVRO, codec)


def test_a_codec_of_avro_files_is_refused_for_others() -> None:
    with pytest.raises(
        OptionError, match="avro.codec: expected the format avro beside it, found parquet; set format=avro"
    ):
        parse_sink_options({"avro.codec": "deflate"})


def test_an_unknown_key_is_refused_with_the_closest_known_one() -> None:
    with pytest.raises(OptionError, match="unknown option 'auto-compact'.*did you mean 'auto-compaction'") as caught:
        parse_sink_options({"auto-compact": "true"})
    assert caught.value.option == "auto-compact"


def test_a_key_without_a_similar_one_is_refused_with_all_known_keys() -> None:
    with pytest.raises(
        OptionError, match="unknown option 'zzz'.*known are auto-compaction, avro.codec, compaction.file-size, "
    ):
        parse_sink_options({"zzz": "1"})


def test_a_java_class_is_refused_with_the_argument_to_use() -> None:
    with pytest.raises(OptionError, match="found the name of a Java class; pass a Python object as custom="):
        parse_sink_options({"sink.partition-commit.policy.class": "org.example.Policy"})


def test_a_formatter_with_unsupported_letters_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="timestamp-formatter: expected .*, found 'EEE' in 'EEE yyyy'"):
        parse_sink_options({"partition.time-extractor.timestamp-formatter": "EEE yyyy"})
