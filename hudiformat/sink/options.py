"""The options of the sink: Flink's keys with Flink's defaults, and two keys of hudiformat."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hudiformat.errors import OptionError, suggest_names
from hudiformat.sink.packing import Packing
from hudiformat.sink.partition_time import DateTimeFormat, parse_time_zone

_MIB = 1024 * 1024
_SECOND = 1000
_MINUTE = 60 * _SECOND


class Format(Enum):
    """The format of visible files; the value is also the extension of their names."""

    PARQUET = "parquet"
    AVRO = "avro"


class Codec(Enum):
    """The compression of the blocks of Avro files."""

    NULL = "null"
    DEFLATE = "deflate"
    SNAPPY = "snappy"
    BZIP2 = "bzip2"
    XZ = "xz"


class Trigger(Enum):
    """The time by which partitions are committed: that of the process, or that of the partition."""

    PROCESS_TIME = "process-time"
    PARTITION_TIME = "partition-time"


class Policy(Enum):
    """An action that commits a partition."""

    METASTORE = "metastore"
    SUCCESS_FILE = "success-file"
    CUSTOM = "custom"
    MERGE = "merge"
    """Files are hidden until their partition is committed, and are merged then; Flink has no such policy."""


class ExtractorKind(Enum):
    """How the time of a partition is computed: by a pattern, or by a function of the user."""

    DEFAULT = "default"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The options of the sink.  Sizes are in bytes, times in milliseconds.

    Without ``compaction_file_size``, files are merged to ``file_size``.  Without ``compaction_parallelism``, there is
    one compactor for each writer task.

    Source: FileSystemConnectorOptions and AvroFormatOptions, Flink 1.20.0.
    """

    format: Format = Format.PARQUET
    avro_codec: Codec = Codec.SNAPPY
    auto_compaction: bool = False
    compaction_file_size: int | None = None
    compaction_parallelism: int | None = None
    packing: Packing = Packing.NEXT_FIT
    file_size: int = 128 * _MIB
    rollover_interval: int = 30 * _MINUTE
    inactivity_interval: int = 30 * _MINUTE
    check_interval: int = _MINUTE
    trigger: Trigger = Trigger.PROCESS_TIME
    delay: int = 0
    watermark_time_zone: str = "UTC"
    policies: tuple[Policy, ...] = ()
    merge_wait: int = 0
    success_file_name: str = "_SUCCESS"
    extractor_kind: ExtractorKind = ExtractorKind.DEFAULT
    timestamp_pattern: str | None = None
    timestamp_formatter: str | None = None

    @property
    def compaction_target(self) -> int:
        """The size in bytes to which files are merged."""
        return self.file_size if self.compaction_file_size is None else self.compaction_file_size

    @property
    def holds(self) -> bool:
        """Whether files are hidden until their partition is committed."""
        return Policy.MERGE in self.policies


def parse_sink_options(options: Mapping[str, str] | None) -> SinkOptions:
    """Parse *options*, which have Flink's keys.

    Raises:
        OptionError: a key is unknown (the error has the closest known one), a value is invalid, or a key belongs to
            another format than the chosen one.
        UnsupportedFeatureError: a timestamp formatter has letters that hudiformat does not support.
    """
    given = {key: str(value) for key, value in (options or {}).items()}
    for key in given:
        if key not in _KEYS:
            raise _unknown_option_error(key)
    parsed = SinkOptions(**{_KEYS[key][0]: _KEYS[key][1](key, value) for key, value in given.items()})
    if _AVRO_CODEC in given and parsed.format is not Format.AVRO:
        raise OptionError(
            f"option {_AVRO_CODEC}: expected the format avro beside it, found "
            f"{parsed.format.value}; set format=avro, or leave it out",
            option=_AVRO_CODEC,
        )
    return parsed


def _unknown_option_error(key: str) -> OptionError:
    if key in _JAVA_CLASSES:
        return OptionError(
            f"option {key!r}: expected an object of Python, found the name of a Java class; {_JAVA_CLASSES[key]}",
            option=key,
        )
    hint = suggest_names(key, _KEYS, most=3) or f"; known are {', '.join(sorted(_KEYS))}"
    return OptionError(f"unknown option {key!r} of the file sink{hint}", option=key, is_unknown=True)


def _bad_value_error(key: str, value: str, expected: str) -> OptionError:
    return OptionError(f"option {key}: expected {expected}, found {value!r}", option=key)


def _parse_boolean(key: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise _bad_value_error(key, value, "true or false")
    return value.lower() == "true"


def _parse_count(key: str, value: str) -> int:
    if not re.fullmatch("[0-9]+", value) or int(value) == 0:
        raise _bad_value_error(key, value, "a whole number from 1 on")
    return int(value)


# Labels of Flink's MemorySize.MemoryUnit and TimeUtils.TimeUnit; a number alone is bytes, or milliseconds.
_SIZE_UNITS = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}
_TIME_UNITS = {
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), _SECOND),
    **dict.fromkeys(("m", "min", "minute", "minutes"), _MINUTE),
    **dict.fromkeys(("h", "hour", "hours"), 60 * _MINUTE),
    **dict.fromkeys(("d", "day", "days"), 24 * 60 * _MINUTE),
}


def _unit_parser(units: Mapping[str, int], expected: str) -> Callable[[str, str], int]:
    def parse(key: str, value: str) -> int:
        match = re.fullmatch(r"\s*([0-9]+)\s*([a-zA-Z]*)\s*", value)
        if match is None or match[2].lower() not in units:
            raise _bad_value_error(key, value, expected)
        return int(match[1]) * units[match[2].lower()]

    return parse


_parse_size = _unit_parser(_SIZE_UNITS, "a size such as 128 mb")
_parse_duration = _unit_parser(_TIME_UNITS, "a time such as 30 min")


def _choice_parser(kind: type[Enum]) -> Callable[[str, str], Any]:
    def parse(key: str, value: str) -> Enum:
        try:
            return kind(value.lower())
        except ValueError:
            raise _bad_value_error(key, value, "one of " + ", ".join(str(item.value) for item in kind)) from None

    return parse


def _parse_policies(key: str, value: str) -> tuple[Policy, ...]:
    parse = _choice_parser(Policy)
    policies = tuple(parse(key, kind.strip()) for kind in value.split(","))
    if Policy.MERGE in policies[1:]:
        raise _bad_value_error(key, value, "merge once, as the first policy, because the others see merged files")
    return policies


def _parse_zone(key: str, value: str) -> str:
    try:
        parse_time_zone(value)
    except ValueError:
        raise _bad_value_error(key, value, "a time zone such as UTC, Europe/Berlin or GMT+08:00") from None
    return value


def _parse_file_name(key: str, value: str) -> str:
    if not value or "/" in value or value in (".", ".."):
        raise _bad_value_error(key, value, "the name of a file")
    return value


def _parse_formatter(key: str, value: str) -> str:
    DateTimeFormat.parse(value, key)
    return value


_AVRO_CODEC = "avro.codec"
_KEYS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "format": ("format", _choice_parser(Format)),
    _AVRO_CODEC: ("avro_codec", _choice_parser(Codec)),
    "auto-compaction": ("auto_compaction", _parse_boolean),
    "compaction.file-size": ("compaction_file_size", _parse_size),
    "compaction.parallelism": ("compaction_parallelism", _parse_count),
    "hudiformat.sink.packing": ("packing", _choice_parser(Packing)),
    "hudiformat.sink.merge.wait": ("merge_wait", _parse_duration),
    "sink.rolling-policy.file-size": ("file_size", _parse_size),
    "sink.rolling-policy.rollover-interval": ("rollover_interval", _parse_duration),
    "sink.rolling-policy.inactivity-interval": ("inactivity_interval", _parse_duration),
    "sink.rolling-policy.check-interval": ("check_interval", _parse_duration),
    "sink.partition-commit.trigger": ("trigger", _choice_parser(Trigger)),
    "sink.partition-commit.delay": ("delay", _parse_duration),
    "sink.partition-commit.watermark-time-zone": ("watermark_time_zone", _parse_zone),
    "sink.partition-commit.policy.kind": ("policies", _parse_policies),
    "sink.partition-commit.success-file.name": ("success_file_name", _parse_file_name),
    "partition.time-extractor.kind": ("extractor_kind", _choice_parser(ExtractorKind)),
    "partition.time-extractor.timestamp-pattern": ("timestamp_pattern", lambda _, value: value),
    "partition.time-extractor.timestamp-formatter": ("timestamp_formatter", _parse_formatter),
}
_JAVA_CLASSES = {
    "sink.partition-commit.policy.class": "pass a Python object as custom=",
    "sink.partition-commit.policy.class.parameters": "pass a Python object as custom=",
    "partition.time-extractor.class": "pass a Python function as extractor=",
}
