"""The options of a write, under Hudi's own keys and with Hudi's defaults.

An unknown key is an error that names the closest known one.  A ``hoodie.*`` key that Hudi has (``hudi_keys.txt`` lists
them) and that means nothing here warns once.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from hudiformat.errors import HudiFormatWarning, OptionError, UnsupportedFeatureError

_MIB = 1024 * 1024
SINGLE_WRITER, OPTIMISTIC, NON_BLOCKING = (
    "SINGLE_WRITER",
    "OPTIMISTIC_CONCURRENCY_CONTROL",
    "NON_BLOCKING_CONCURRENCY_CONTROL",
)
EAGER, LAZY, NEVER = "EAGER", "LAZY", "NEVER"
FILE_SYSTEM_PROVIDER = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
IN_PROCESS_PROVIDER = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"

DEFAULT_MERGE_MEMORY = 1024 * _MIB
"""Bytes of log records that a read merges in memory.  Source: HoodieMemoryConfig.MAX_MEMORY_FOR_MERGE."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a write was asked to do.  Sizes are bytes.

    ``sync`` makes every append return only once its data is on disk.  ``num_buckets`` is per partition.
    ``parquet_compression`` is for base files and for Parquet blocks in log files.  ``concurrency`` and
    ``failed_writes`` are words of Hudi's WriteConcurrencyMode and HoodieFailedWritesCleaningPolicy.
    """

    index_type: str = "SIMPLE"
    num_buckets: int = 256
    hash_fields: tuple[str, ...] = ()
    bucket_engine: str = "simple"
    log_max_size: int = 1024 * _MIB
    block_max_size: int = 256 * _MIB
    block_format: str = "avro"
    parquet_max_size: int = 120 * _MIB
    parquet_compression: str = "gzip"
    bloom_filter: bool = True
    combine_before_insert: bool = False
    combine_before_upsert: bool = True
    metadata_enable: bool | None = None
    merge_memory: int = DEFAULT_MERGE_MEMORY
    sync: bool = True
    concurrency: str = SINGLE_WRITER
    failed_writes: str | None = None
    conflict_retries: int = 0
    lock_provider: str = FILE_SYSTEM_PROVIDER
    lock_path: str = ""
    lock_expire_minutes: int = 0
    lock_retries: int = 50
    lock_retry_wait_ms: int = 5000
    heartbeat_interval_ms: int = 60_000
    heartbeat_misses: int = 2

    @property
    def parquet_codec(self) -> str:
        """``parquet_compression`` by the name that it has in Arrow."""
        return "none" if self.parquet_compression == "uncompressed" else self.parquet_compression

    @property
    def has_other_writers(self) -> bool:
        """Whether other writers may be at work on the table at the same time."""
        return self.concurrency != SINGLE_WRITER

    @property
    def failed_writes_policy(self) -> str:
        """When failed writes of others are taken away; beside other writers only those without a heartbeat are."""
        return self.failed_writes or (LAZY if self.has_other_writers else EAGER)


INDEX_TYPES = ("SIMPLE", "BLOOM", "BUCKET")
"""The indexes that can be written with."""

_OTHER_INDEX_TYPES = (
    "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "INMEMORY", "RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX", "RECORD_LEVEL_INDEX",
    "FLINK_STATE", "HBASE",
)  # fmt: skip


def parse_write_options(options: Mapping[str, str] | None) -> WriteOptions:
    """The options that *options* asks for; ``hoodie.*`` keys of table properties may stand among them.

    Raises:
        OptionError: an unknown key, or a value that a key does not take.
        UnsupportedFeatureError: a value that Hudi has and hudiformat does not support.
    """
    result = WriteOptions()
    for key, value in (options or {}).items():
        if key in _KEYS:
            name, parse = _KEYS[key]
            result = replace(result, **{name: parse(key, str(value))})
        elif key not in TABLE_KEYS:
            _refuse_unknown(key)
    if result.has_other_writers and result.failed_writes == EAGER:
        key = "hoodie.clean.failed.writes.policy"
        raise OptionError(
            f"{key}=EAGER takes away what other writers are writing: with {result.concurrency} it is LAZY", option=key
        )
    return result


def _refuse_unknown(key: str) -> None:
    """Raise an OptionError for a key that nobody knows; warn once for a key of Hudi's that means nothing here."""
    known = {*_KEYS, *TABLE_KEYS}
    if key not in _hudi_keys():
        close = difflib.get_close_matches(key, known | _hudi_keys(), n=1, cutoff=0.6)
        hint = f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(sorted(known))}"
        raise OptionError(f"unknown option {key!r}{hint}", option=key)
    if key not in _warned:
        _warned.add(key)
        message = f"the option {key!r} of Hudi's means nothing to hudiformat and is left out"
        warnings.warn(message, HudiFormatWarning, stacklevel=4)


@cache
def _hudi_keys() -> frozenset[str]:
    text = resources.files("hudiformat.table").joinpath("hudi_keys.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if line.startswith("hoodie."))


_warned: set[str] = set()


def _integer(key: str, value: str, *, least: int = 1) -> int:
    try:
        number = int(value)
    except ValueError:
        number = least - 1
    if number < least:
        kind = "positive whole number" if least else "whole number from 0 on"
        raise OptionError(f"{key}: expected a {kind}, found {value!r}", option=key)
    return number


def _count(key: str, value: str) -> int:
    return _integer(key, value, least=0)


def _upper(*allowed: str) -> Callable[[str, str], str]:
    return lambda key, value: _one_of(*allowed)(key, value.upper())


def _lock_provider(key: str, value: str) -> str:
    if value not in (FILE_SYSTEM_PROVIDER, IN_PROCESS_PROVIDER):
        raise UnsupportedFeatureError(
            f"{key}={value}: supported are {FILE_SYSTEM_PROVIDER} and {IN_PROCESS_PROVIDER}",
            feature=f"lock provider {value}",
        )
    return value


def parse_boolean(key: str, value: str) -> bool:
    """True or false out of an option's text.

    Raises:
        OptionError: neither.
    """
    if value.lower() not in ("true", "false"):
        raise OptionError(f"{key}: expected true or false, found {value!r}", option=key)
    return value.lower() == "true"


def _index_type(key: str, value: str) -> str:
    if value.upper() in _OTHER_INDEX_TYPES:
        raise UnsupportedFeatureError(
            f"{key}={value}: supported are {', '.join(INDEX_TYPES)}", feature=f"index {value.upper()}"
        )
    return _one_of(*INDEX_TYPES)(key, value.upper())


def _one_of(*allowed: str) -> Callable[[str, str], str]:
    def parse(key: str, value: str) -> str:
        if value not in allowed:
            raise OptionError(f"{key}: expected one of {', '.join(allowed)}, found {value!r}", option=key)
        return value

    return parse


def _block_format(key: str, value: str) -> str:
    if value.lower() == "hfile":
        reason = "Hudi 1.x writes HFile blocks into tables of Parquet files, and cannot read them on Spark"
        raise UnsupportedFeatureError(
            f"{key}={value}: supported are avro and parquet; {reason}", feature=f"{key}=hfile"
        )
    return _one_of("avro", "parquet")(key, value.lower())


def _fields(_key: str, value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _only(supported: str, *others: str) -> Callable[[str, str], str]:
    """One value of those that Hudi has is supported so far."""

    def parse(key: str, value: str) -> str:
        if value.lower() in others:
            raise UnsupportedFeatureError(f"{key}={value}: supported is {supported}", feature=f"{key}={value.lower()}")
        return _one_of(supported)(key, value.lower())

    return parse


_KEYS: Mapping[str, tuple[str, Callable[[str, str], Any]]] = {
    "hoodie.index.type": ("index_type", _index_type),
    "hoodie.bucket.index.num.buckets": ("num_buckets", _integer),
    "hoodie.bucket.index.hash.field": ("hash_fields", _fields),
    "hoodie.index.bucket.engine": ("bucket_engine", _only("simple", "consistent_hashing")),
    "hoodie.logfile.max.size": ("log_max_size", _integer),
    "hoodie.logfile.data.block.max.size": ("block_max_size", _integer),
    "hoodie.logfile.data.block.format": ("block_format", _block_format),
    "hoodie.parquet.max.file.size": ("parquet_max_size", _integer),
    "hoodie.parquet.compression.codec": (
        "parquet_compression",
        lambda key, value: _one_of("gzip", "snappy", "zstd", "uncompressed")(key, value.lower()),
    ),
    "hoodie.parquet.bloom.filter.enabled": ("bloom_filter", parse_boolean),
    "hoodie.combine.before.insert": ("combine_before_insert", parse_boolean),
    "hoodie.combine.before.upsert": ("combine_before_upsert", parse_boolean),
    "hoodie.metadata.enable": ("metadata_enable", parse_boolean),
    "hoodie.memory.merge.max.size": ("merge_memory", _integer),
    "hudiformat.sync": ("sync", parse_boolean),
    "hoodie.write.concurrency.mode": ("concurrency", _upper(SINGLE_WRITER, OPTIMISTIC, NON_BLOCKING)),
    "hoodie.clean.failed.writes.policy": ("failed_writes", _upper(EAGER, LAZY, NEVER)),
    "hoodie.cleaner.policy.failed.writes": ("failed_writes", _upper(EAGER, LAZY, NEVER)),
    "hoodie.write.num.retries.on.conflict.failures": ("conflict_retries", _count),
    "hoodie.write.lock.provider": ("lock_provider", _lock_provider),
    "hoodie.write.lock.filesystem.path": ("lock_path", lambda _key, value: value),
    "hoodie.write.lock.filesystem.expire": ("lock_expire_minutes", _count),
    "hoodie.write.lock.client.num_retries": ("lock_retries", _count),
    "hoodie.write.lock.client.wait_time_ms_between_retry": ("lock_retry_wait_ms", _integer),
    "hoodie.client.heartbeat.interval_in_ms": ("heartbeat_interval_ms", _integer),
    "hoodie.client.heartbeat.tolerable.misses": ("heartbeat_misses", _integer),
}

TABLE_KEYS = (
    "hoodie.table.timeline.timezone",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.record.merge.mode",
)
"""Keys that a table is created with and that stay in its properties."""

PERSISTED_KEYS = ("hoodie.index.type", "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field")
"""Keys that belong to a write in Hudi, but that all writers of a table have to agree on: kept in its properties."""
