"""Every option: its enumeration, parser, default and Hudi key."""

from hudiformat.options.agreement import options_of
from hudiformat.options.keys import MAY_DROP, PARTIAL_SCHEMA, SCHEMA_ON_READ, SET_NULL, TABLE_KEYS, parse_write_options
from hudiformat.options.parsers import member_of, parse_boolean
from hudiformat.options.values import (
    DEFAULT_MERGE_MEMORY,
    FILE_SYSTEM_PROVIDER,
    REPLACING,
    CdcMode,
    CleanPolicy,
    ConcurrencyMode,
    ConcurrencyOptions,
    DamageMode,
    DuplicatePolicy,
    EvolutionOptions,
    FailedWritesPolicy,
    IndexType,
    Operation,
    SizingEngine,
    SortMode,
    WriteOptions,
)

__all__ = [
    "DEFAULT_MERGE_MEMORY",
    "FILE_SYSTEM_PROVIDER",
    "MAY_DROP",
    "PARTIAL_SCHEMA",
    "REPLACING",
    "SCHEMA_ON_READ",
    "SET_NULL",
    "TABLE_KEYS",
    "CdcMode",
    "CleanPolicy",
    "ConcurrencyMode",
    "ConcurrencyOptions",
    "DamageMode",
    "DuplicatePolicy",
    "EvolutionOptions",
    "FailedWritesPolicy",
    "IndexType",
    "Operation",
    "SizingEngine",
    "SortMode",
    "WriteOptions",
    "member_of",
    "options_of",
    "parse_boolean",
    "parse_write_options",
]
