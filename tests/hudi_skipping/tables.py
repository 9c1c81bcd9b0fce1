"""Random tables of hudiformat with all indexes: what is written, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from hudiformat import Table, create_table, open_table
from hudiformat.metadata_table.secondary_index import has_secondary_keys
from tests.hudi_skipping.values import EDGES, array, draw
from tests.metadata_tables import add_secondary_index

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
_INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}
_RECORD_INDEX = {"hoodie.metadata.record.index.enable": "true"}
_NAMES = tuple(EDGES)
_WITHOUT_TYPES, _YEAR_1 = 8, -719_162
"""In this version Hudi takes a bound before the year 1 for one of another century, and loses the rows; its own too."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The type and the version of a table, and whether it has partitions."""

    table_type: str
    version: int
    is_partitioned: bool


KINDS = tuple(Kind(type_, version, parts) for version in (9, 8, 6) for type_ in (COW, MOR) for parts in (True, False))


@dataclass
class Written:
    """A table, and the values that were written to each column."""

    table: Table
    columns: tuple[str, ...]
    version: int
    keys: list[str] = field(default_factory=list)
    stored: dict[str, list[Any]] = field(default_factory=dict)


def write_table(path: Path, kind: Kind, chance: Random, *, without: Sequence[str] = ()) -> Written:
    """Make a table of some columns, none of those *without*, and write to it: inserts, updates, deletes, a new column.

    Some have a record index, without which Hudi finds keys by bloom filters, and some of these secondary indexes.
    """
    columns = tuple(chance.sample([name for name in _NAMES if name not in without], 5))
    first = columns[:-1]
    indexes = Random(path.name)
    by_record = indexes.random() < 0.7
    table = create_table(
        path,
        name="t",
        schema=_schema(first),
        record_key="k",
        partition_by=["p"] if kind.is_partitioned else [],
        table_type=kind.table_type,
        version=kind.version,
        options={**_INDEXES, **(_RECORD_INDEX if by_record else {})},
    )
    if by_record and kind.version > 6 and indexes.random() < 0.7:
        for name in (name for name in first if has_secondary_keys(EDGES[name].kind)):
            add_secondary_index(path, name)
    table = open_table(path, options={"hoodie.parquet.small.file.limit": "0"})
    written = Written(table, columns, kind.version, stored={name: [] for name in columns})
    for number in range(5):
        there = columns if number > 1 else first
        _insert(written, there, number, chance)
    if chance.random() < 0.7:
        again = chance.sample(written.keys, 3)
        table.upsert(_rows(written, columns, again, chance))
    if chance.random() < 0.5:
        gone = chance.choice(written.keys)
        table.delete(where=f"k = '{gone}'")
    if kind.table_type == MOR and chance.random() < 0.3:
        table.compact()
    if chance.random() < 0.2:
        table.cluster()
    return written


def _schema(columns: Sequence[str]) -> pa.Schema:
    return pa.schema([("k", pa.string()), ("p", pa.string()), *((name, EDGES[name].kind) for name in columns)])


def _insert(written: Written, columns: Sequence[str], number: int, chance: Random) -> None:
    keys = [f"{chance.choice('abcé')}{number}{one}" for one in range(1 + chance.randrange(4))]
    written.keys += keys
    written.table.insert(_rows(written, columns, keys, chance))


def _rows(written: Written, columns: Sequence[str], keys: Sequence[str], chance: Random) -> pa.Table:
    """Rows of some keys; a column has only nulls at times."""
    drawn: dict[str, pa.Array] = {}
    for name in columns:
        rate = chance.choice((0.0, 0.0, 0.3, 1.0))
        values = [None if chance.random() < rate else draw(EDGES[name], chance) for _ in keys]
        if name == "day" and written.version == _WITHOUT_TYPES:
            values = [None if one is None else max(one, _YEAR_1) for one in values]
        written.stored[name] += values
        drawn[name] = array(EDGES[name].kind, values)
    paths = ["x" if key[1] in "13" else "y" for key in keys]
    return pa.table({"k": list(keys), "p": paths, **drawn}, _schema(columns))
