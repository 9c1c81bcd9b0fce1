"""The options of a write, under Hudi's own keys and with Hudi's defaults.

An unknown key is an error that names the closest known one.  A ``hoodie.*`` key that Hudi has (``hudi_keys.txt`` lists
them) and that means nothing here warns once.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from hudiformat.errors import HudiFormatWarning, OptionError
from hudiformat.sizing import SizingOptions
from hudiformat.table.concurrency_options import CONCURRENCY_KEYS, ConcurrencyOptions
from hudiformat.table.damage import AS_HUDI, DAMAGE_MODES
from hudiformat.table.option_parsers import (
    Keys,
    one_of,
    one_of_upper,
    parse_any_integer,
    parse_boolean,
    parse_fields,
    parse_integer,
    parse_share,
    parse_text,
    supporting,
)
from hudiformat.table.service_options import SERVICE_KEYS, ServiceOptions

_MIB = 1024 * 1024

DEFAULT_MERGE_MEMORY = 1024 * _MIB
"""Bytes of log records that a read merges in memory.  Source: HoodieMemoryConfig.MAX_MEMORY_FOR_MERGE."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a write was asked to do.  Sizes are bytes.

    ``sync`` makes every append return only once its data is on disk.  ``num_buckets`` is per partition.
    ``parquet_compression`` is for base files and for Parquet blocks in log files.  ``sizing_engine`` says whose rules
    place new rows, Spark's or Flink's.  ``simple_moves`` and ``bloom_moves`` say whether a row that a global index
    finds in another partition moves to its own.  ``allow_duplicates`` lets an insert add a key to a file that has it.
    ``partial_schema`` is an Avro schema, as JSON, of the columns that an upsert brings; empty for all.
    """

    index_type: str = "SIMPLE"
    num_buckets: int = 256
    hash_fields: tuple[str, ...] = ()
    bucket_engine: str = "simple"
    simple_moves: bool = True
    bloom_moves: bool = True
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
    record_positions: bool = True
    partial_schema: str = ""
    metadata_enable: bool | None = None
    data_skipping: bool = True
    damage: str = AS_HUDI
    merge_memory: int = DEFAULT_MERGE_MEMORY
    sync: bool = True
    concurrency: ConcurrencyOptions = field(default_factory=ConcurrencyOptions)
    services: ServiceOptions = field(default_factory=ServiceOptions)

    @property
    def is_global(self) -> bool:
        """Whether a record key is looked for in all partitions."""
        return self.index_type in GLOBAL_INDEX_TYPES

    @property
    def moves_partitions(self) -> bool:
        """Whether a row that a global index finds in another partition moves to its own."""
        return self.bloom_moves if self.index_type in BLOOM_INDEX_TYPES else self.simple_moves

    @property
    def parquet_codec(self) -> str:
        """``parquet_compression`` by the name that it has in Arrow."""
        return "none" if self.parquet_compression == "uncompressed" else self.parquet_compression


PARTIAL_SCHEMA = "hoodie.write.partial.update.schema"
"""The option that makes an upsert one of some columns: their Avro schema, as JSON."""

INDEX_TYPES = ("SIMPLE", "BLOOM", "INMEMORY", "BUCKET", "GLOBAL_SIMPLE", "GLOBAL_BLOOM")
"""The indexes that can be written with."""

LOG_SEEING_INDEX_TYPES = ("INMEMORY",)
"""The indexes whose writers put new rows into log files, as they find them there again."""

BLOOM_INDEX_TYPES = ("BLOOM", "GLOBAL_BLOOM")
"""The indexes that ask the bloom filters of base files before they read keys."""

GLOBAL_INDEX_TYPES = ("GLOBAL_SIMPLE", "GLOBAL_BLOOM")
"""The indexes that find a record key in whatever partition it is."""

SORT_MODES = ("NONE", "GLOBAL_SORT", "PARTITION_SORT")
"""In which order a bulk insert writes."""

_OTHER_INDEX_TYPES = ("RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX", "RECORD_LEVEL_INDEX", "FLINK_STATE", "HBASE")
_OTHER_SORT_MODES = ("PARTITION_PATH_REPARTITION", "PARTITION_PATH_REPARTITION_AND_SORT")
_NO_HFILES = (
    "are avro and parquet; Hudi 1.x writes HFile blocks into tables of Parquet files, and cannot read them on Spark"
)


def parse_write_options(options: Mapping[str, str] | None) -> WriteOptions:
    """The options that *options* asks for; ``hoodie.*`` keys of table properties may stand among them.

    Raises:
        OptionError: an unknown key, or a value that a key does not take.
        UnsupportedFeatureError: a value that Hudi has and hudiformat does not support.
    """
    given = {key: str(value) for key, value in (options or {}).items()}
    for key in given:
        if not any(key in keys for keys in (*_PARTS.values(), _KEYS, TABLE_KEYS)):
            _refuse_unknown(key)
    defaults = WriteOptions()
    parts = {name: replace(getattr(defaults, name), **_parsed(keys, given)) for name, keys in _PARTS.items()}
    result = replace(defaults, **_parsed(_KEYS, given), **parts)
    result.concurrency.check()
    return result


def _parsed(keys: Keys, given: Mapping[str, str]) -> dict[str, Any]:
    return {keys[key][0]: keys[key][1](key, value) for key, value in given.items() if key in keys}


def _refuse_unknown(key: str) -> None:
    """Raise an OptionError for a key that nobody knows; warn once for a key of Hudi's that means nothing here."""
    if key not in _hudi_keys():
        known = {*_KEYS, *TABLE_KEYS}.union(*_PARTS.values())
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

_KEYS: Keys = {
    "hoodie.index.type": (
        "index_type",
        supporting(
            one_of_upper(*INDEX_TYPES),
            said=f"are {', '.join(INDEX_TYPES)}",
            others=_OTHER_INDEX_TYPES,
            feature="index",
        ),
    ),
    "hoodie.bucket.index.num.buckets": ("num_buckets", parse_integer),
    "hoodie.bucket.index.hash.field": ("hash_fields", parse_fields),
    "hoodie.index.bucket.engine": (
        "bucket_engine",
        supporting(one_of("simple"), said="is simple", others=("consistent_hashing",)),
    ),
    "hoodie.simple.index.update.partition.path": ("simple_moves", parse_boolean),
    "hoodie.bloom.index.update.partition.path": ("bloom_moves", parse_boolean),
    "hoodie.logfile.max.size": ("log_max_size", parse_integer),
    "hoodie.logfile.data.block.max.size": ("block_max_size", parse_integer),
    "hoodie.logfile.data.block.format": (
        "block_format",
        supporting(one_of("avro", "parquet"), said=_NO_HFILES, others=("hfile",)),
    ),
    "hoodie.parquet.compression.codec": ("parquet_compression", one_of("gzip", "snappy", "zstd", "uncompressed")),
    "hoodie.parquet.bloom.filter.enabled": ("bloom_filter", parse_boolean),
    "hoodie.combine.before.insert": ("combine_before_insert", parse_boolean),
    "hoodie.combine.before.upsert": ("combine_before_upsert", parse_boolean),
    "hoodie.merge.allow.duplicate.on.inserts": ("allow_duplicates", parse_boolean),
    "hoodie.datasource.insert.dup.policy": ("insert_duplicates", one_of("none", "drop", "fail")),
    "hoodie.bulkinsert.sort.mode": (
        "bulk_insert_sort",
        supporting(one_of_upper(*SORT_MODES), said=f"are {', '.join(SORT_MODES)}", others=_OTHER_SORT_MODES),
    ),
    "hoodie.write.record.positions": ("record_positions", parse_boolean),
    PARTIAL_SCHEMA: ("partial_schema", parse_text),
    "hoodie.metadata.enable": ("metadata_enable", parse_boolean),
    "hoodie.enable.data.skipping": ("data_skipping", parse_boolean),
    "hoodie.memory.merge.max.size": ("merge_memory", parse_integer),
    "hudiformat.damage": ("damage", one_of(*DAMAGE_MODES)),
    "hudiformat.sizing": ("sizing_engine", one_of("spark", "flink")),
    "hudiformat.sync": ("sync", parse_boolean),
}

_SIZING_KEYS: Keys = {
    "hoodie.parquet.max.file.size": ("max_file_size", parse_integer),
    "hoodie.parquet.small.file.limit": ("small_file_limit", parse_any_integer),
    "hoodie.merge.small.file.group.candidates.limit": ("candidates_limit", parse_any_integer),
    "hoodie.logfile.to.parquet.compression.ratio": ("log_ratio", parse_share),
    "hoodie.copyonwrite.insert.split.size": ("insert_split_size", parse_integer),
    "hoodie.copyonwrite.insert.auto.split": ("auto_split", parse_boolean),
    "hoodie.copyonwrite.record.size.estimate": ("record_size_estimate", parse_integer),
    "hoodie.record.size.estimation.threshold": ("estimation_threshold", parse_share),
    "hoodie.record.size.estimator.average.metadata.size": ("metadata_size", parse_any_integer),
}

_PARTS: Mapping[str, Keys] = {"sizing": _SIZING_KEYS, "concurrency": CONCURRENCY_KEYS, "services": SERVICE_KEYS}
"""The parts of WriteOptions that are made of several options each."""

TABLE_KEYS = (
    "hoodie.table.timeline.timezone",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.record.merge.mode",
    "hoodie.table.cdc.enabled",
    "hoodie.table.cdc.supplemental.logging.mode",
)
"""Keys that a table is created with and that stay in its properties."""

PERSISTED_KEYS = ("hoodie.index.type", "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field")
"""Keys that belong to a write in Hudi, but that all writers of a table have to agree on: kept in its properties."""
