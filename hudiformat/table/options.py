"""The options of a write, under Hudi's own keys and with Hudi's defaults.

An unknown key is an error that names the closest known one.  A ``hoodie.*`` key that Hudi has (``hudi_keys.txt`` lists
them) and that means nothing here warns once.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from hudiformat.errors import HudiFormatWarning, OptionError, UnsupportedFeatureError
from hudiformat.sizing import SizingOptions

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a write was asked to do.  Sizes are bytes.

    ``sync`` makes every append return only once its data is on disk.  ``num_buckets`` is per partition.
    ``parquet_compression`` is for base files and for Parquet blocks in log files.  ``sizing_engine`` says whose rules
    place new rows, Spark's or Flink's.  ``allow_duplicates`` lets an insert add a key to a file that has it.
    """

    index_type: str = "SIMPLE"
    num_buckets: int = 256
    hash_fields: tuple[str, ...] = ()
    bucket_engine: str = "simple"
    log_max_size: int = 1024 * _MIB
    block_max_size: int = 256 * _MIB
    block_format: str = "avro"
    sizing: SizingOptions = field(default_factory=SizingOptions)
    sizing_engine: str = "spark"
    parquet_compression: str = "gzip"
    bloom_filter: bool = True
    combine_before_insert: bool = False
    combine_before_upsert: bool = True
    allow_duplicates: bool = True
    insert_duplicates: str = "none"
    bulk_insert_sort: str = "NONE"
    metadata_enable: bool | None = None
    sync: bool = True

    @property
    def parquet_codec(self) -> str:
        """``parquet_compression`` by the name that it has in Arrow."""
        return "none" if self.parquet_compression == "uncompressed" else self.parquet_compression


INDEX_TYPES = ("SIMPLE", "BLOOM", "INMEMORY", "BUCKET")
"""The indexes that can be written with."""

LOG_SEEING_INDEX_TYPES = ("INMEMORY",)
"""The indexes whose writers put new rows into log files, as they find them there again."""

SORT_MODES = ("NONE", "GLOBAL_SORT", "PARTITION_SORT")
"""In which order a bulk insert writes."""

_OTHER_INDEX_TYPES = (
    "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX", "RECORD_LEVEL_INDEX",
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
        elif key in _SIZING_KEYS:
            name, parse = _SIZING_KEYS[key]
            result = replace(result, sizing=replace(result.sizing, **{name: parse(key, str(value))}))
        elif key not in TABLE_KEYS:
            _refuse_unknown(key)
    return result


def _refuse_unknown(key: str) -> None:
    """Raise an OptionError for a key that nobody knows; warn once for a key of Hudi's that means nothing here."""
    known = {*_KEYS, *_SIZING_KEYS, *TABLE_KEYS}
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


def _integer(key: str, value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number <= 0:
        raise OptionError(f"{key}: expected a positive whole number, found {value!r}", option=key)
    return number


def _any_integer(key: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise OptionError(f"{key}: expected a whole number, found {value!r}", option=key) from None


def _share(key: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise OptionError(f"{key}: expected a number of 0 or more, found {value!r}", option=key)
    return number


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


def _sort_mode(key: str, value: str) -> str:
    others = ("PARTITION_PATH_REPARTITION", "PARTITION_PATH_REPARTITION_AND_SORT")
    if value.upper() in others:
        supported = ", ".join(SORT_MODES)
        raise UnsupportedFeatureError(f"{key}={value}: supported are {supported}", feature=f"{key}={value.upper()}")
    return _one_of(*SORT_MODES)(key, value.upper())


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
    "hoodie.parquet.compression.codec": (
        "parquet_compression",
        lambda key, value: _one_of("gzip", "snappy", "zstd", "uncompressed")(key, value.lower()),
    ),
    "hoodie.parquet.bloom.filter.enabled": ("bloom_filter", parse_boolean),
    "hoodie.combine.before.insert": ("combine_before_insert", parse_boolean),
    "hoodie.combine.before.upsert": ("combine_before_upsert", parse_boolean),
    "hoodie.merge.allow.duplicate.on.inserts": ("allow_duplicates", parse_boolean),
    "hoodie.datasource.insert.dup.policy": (
        "insert_duplicates",
        lambda key, value: _one_of("none", "drop", "fail")(key, value.lower()),
    ),
    "hoodie.bulkinsert.sort.mode": ("bulk_insert_sort", _sort_mode),
    "hoodie.metadata.enable": ("metadata_enable", parse_boolean),
    "hudiformat.sizing": ("sizing_engine", lambda key, value: _one_of("spark", "flink")(key, value.lower())),
    "hudiformat.sync": ("sync", parse_boolean),
}

_SIZING_KEYS: Mapping[str, tuple[str, Callable[[str, str], Any]]] = {
    "hoodie.parquet.max.file.size": ("max_file_size", _integer),
    "hoodie.parquet.small.file.limit": ("small_file_limit", _any_integer),
    "hoodie.merge.small.file.group.candidates.limit": ("candidates_limit", _any_integer),
    "hoodie.logfile.to.parquet.compression.ratio": ("log_ratio", _share),
    "hoodie.copyonwrite.insert.split.size": ("insert_split_size", _integer),
    "hoodie.copyonwrite.insert.auto.split": ("auto_split", parse_boolean),
    "hoodie.copyonwrite.record.size.estimate": ("record_size_estimate", _integer),
    "hoodie.record.size.estimation.threshold": ("estimation_threshold", _share),
    "hoodie.record.size.estimator.average.metadata.size": ("metadata_size", _any_integer),
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
