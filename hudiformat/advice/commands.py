"""Commands of an advice: with the options of the writers, and a copy into a new table with other properties."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from hudiformat.advice.facts import Facts
from hudiformat.file_group.merging.rule import behaviour
from hudiformat.table.options.keys import OPTION_KEYS
from hudiformat.table.options.values import IndexType, WriteOptions
from hudiformat.table.state import TableState
from hudiformat.timeline.table_config import TableConfig, TableType

_COMMON = ((), ("sizing",), ("concurrency",), ("concurrency", "lock"), ("services",), ("clustering",))
"""The parts of the options that commands have in common with writers."""
_MERGE_MODE = "hoodie.record.merge.mode"
_KEPT = (
    _MERGE_MODE,
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
)
"""Properties that a copy of a table gets."""


def option_flags(options: Mapping[str, str]) -> str:
    """Return options as flags of a command, each after a space."""
    return "".join(f" -o {shlex.quote(f'{key}={value}')}" for key, value in options.items())


def writer_options(state: TableState) -> dict[str, str]:
    """Return the options of the writers that are not Hudi's defaults, and no properties of the table, as Hudi's keys.

    These are the options of files, of services and of concurrency, with which commands are to run as the writers do.
    """
    found: dict[str, str] = {}
    for fields in _COMMON:
        own, default = state.options, WriteOptions()
        for field in fields:
            own, default = getattr(own, field), getattr(default, field)
        named: set[str] = set()
        for key, (name, _) in OPTION_KEYS[fields].items():
            value = getattr(own, name)
            is_asked = value != getattr(default, name) and value is not None and name not in named
            if is_asked and key not in state.config.properties:
                found[key] = _as_text(value)
                named.add(name)
    return found


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(_as_text, value))
    return str(value.value if isinstance(value, Enum) else value)


def run(facts: Facts, command: str, options: Mapping[str, str] | None = None) -> str:
    """Return the text of a *command* on the table, such as ``compact``, with the writers' options and *options*."""
    found = {**writer_options(facts.state), **(options or {})}
    return f"hudiformat {command}{option_flags(found)} {facts.table}"


@dataclass(frozen=True, slots=True)
class Copy:
    """The commands that copy the rows of a table into a new one, and the path of that."""

    command: str
    into: str


def copy_into_new(
    facts: Facts,
    *,
    partition_by: Sequence[str] | None = None,
    table_type: TableType | None = None,
    options: Mapping[str, str] | None = None,
) -> Copy | None:
    """Return the commands that copy the table into a new one with another partitioning, type or *options*.

    None for a table that the command line does not make anew: without record keys, with paths of times, change data
    or a merger of its own.
    """
    state = facts.state
    config, root = state.config, state.storage.root
    if not _is_plain(config):
        return None
    into, rows = f"{root.rstrip('/')}_new", f"{config.name}_rows.parquet"
    paths = config.partition_fields if partition_by is None else tuple(partition_by)
    index = (
        {} if state.options.index_type is IndexType.SIMPLE else {"hoodie.index.type": state.options.index_type.value}
    )
    if facts.has_buckets:
        index["hoodie.bucket.index.num.buckets"] = str(state.options.num_buckets)
        index["hoodie.bucket.index.hash.field"] = ",".join(state.options.hash_fields or config.record_key_fields)
    kept = {key: config.properties[key] for key in _KEPT if config.properties.get(key, "false") != "false"}
    asked = {**index, **(options or {})}
    arguments = [
        f"--like {shlex.quote(rows)}",
        f"--record-key {shlex.quote(','.join(config.record_key_fields))}",
        *([f"--ordering {shlex.quote(','.join(config.ordering_fields))}"] if config.ordering_fields else []),
        *([f"--partition-by {shlex.quote(','.join(paths))}"] if paths else []),
        f"--type {(table_type or config.table_type).value}",
        f"--version {config.version}",
        f"--name {shlex.quote(config.name)}",
    ]
    operation = "insert" if facts.has_buckets else "bulk_insert"
    created = f"hudiformat create {' '.join(arguments)}{option_flags({**kept, **asked})} {shlex.quote(into)}"
    written = option_flags(writer_options(state))
    commands = (
        f"hudiformat read -o {shlex.quote(rows)} {facts.table}",
        created,
        f"hudiformat write --operation {operation}{written} {shlex.quote(into)} {shlex.quote(rows)}",
    )
    return Copy(" && ".join(commands), into)


def _is_plain(config: TableConfig) -> bool:
    is_ours = bool(config.record_key_fields) and config.populate_meta_fields and not config.has_timed_paths
    is_known = not config.cdc_enabled and config.bootstrap_base_path is None and not config.drop_partition_columns
    return is_ours and is_known and not behaviour(config).by_payload and config.properties.get(_MERGE_MODE) != "CUSTOM"
