"""What has to hold after each step: both sides read the expected rows, and no index or property is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.compute as pc

from hudiformat import open_table
from tests.metadata_statistics import check_bloom_filters, check_record_index, check_secondary_indexes, check_statistics
from tests.metadata_table.tables import check_listing
from tests.turns.kinds import OLD, Kind
from tests.turns.rows import Columns, Values
from tests.turns.sides import Theirs

CHANGING = ("hoodie.table.checksum", "hoodie.table.metadata.partitions")
"""Properties that writes may change; of the partitions, a check of its own says which have to be there."""


def filters(chance: Random, kind: Kind) -> list[str]:
    """Conditions that the indexes help with, each with values of its own."""
    number, text = chance.randrange(50), f"text {chance.randrange(12)}"
    one, other = (f"k{chance.randrange(80):03d}" for _ in range(2))
    key = chance.choice(
        [f"k = '{one}'", f"_hoodie_record_key in ('{one}', '{other}')"][: 2 if kind.layout.has_meta else 1]
    )
    whole = chance.choice([f"n = {number}", f"n > {number}", "n is null", "s is null"])
    day = f"day > date'2020-01-{number % 30 + 1:02d}'" if kind.layout.has_dates else f"d > {number / 8}"
    # Where paths of a copy-on-write table have a field of a struct, Hudi 0.15.0 shows all partitions for p = 'x'.
    asks_path = kind.layout.has_hudis_values and not (kind.hudi == OLD and kind.layout.has_structs)
    in_path = f"p = '{kind.layout.places['x'][0]}' and n < {number}" if asks_path else day
    other_column = chance.choice([f"d <= {number / 4}", day, in_path])
    return [key, f"s = '{text}'", f"upper(s) = '{text.upper()}'", whole, other_column]


def properties(path: Path) -> dict[str, str]:
    """The table's properties that have to stay as they are."""
    lines = (path / ".hoodie" / "hoodie.properties").read_text().splitlines()
    pairs = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    return {key: value for key, value in pairs.items() if key not in CHANGING}


def definitions(path: Path) -> dict[str, Any]:
    """The definitions of the table's indexes, but for the columns, which become more when the table's do."""
    file = path / ".hoodie" / ".index_defs" / "index.json"
    found = json.loads(file.read_text())["indexDefinitions"] if file.exists() else {}
    return {name: {**one, "sourceFields": None} for name, one in found.items()}


def indexes(path: Path) -> frozenset[str]:
    """The partitions of the metadata table."""
    return frozenset(open_table(path).config.metadata_partitions)


def check_indexes(path: Path, wanted: frozenset[str], *, in_folders: bool) -> None:
    """The metadata table has all its partitions, and they agree with the table's files, if all are *in folders*."""
    differing = indexes(path) ^ wanted
    assert not differing, f"indexes lost or found: {differing}"
    if in_folders:
        check_listing(path)
    check_statistics(path, own_only=True)
    check_bloom_filters(path)
    check_record_index(path, exact=False)
    check_secondary_indexes(path, exact=False)


def check_ours(
    path: Path, columns: Columns, expected: list[Values], chance: Random, options: Mapping[str, str]
) -> None:
    """hudiformat reads the expected rows, with filters too, and finds nothing wrong with the table."""
    table = open_table(path, options=options)
    found = table.snapshot(columns=list(columns.types))
    assert found.schema.names == list(columns.types), found.schema
    assert {field.name: field.type for field in found.schema} == columns.types
    _compare(_rows(found), expected, "hudiformat")
    key, text = f"k{chance.randrange(80):03d}", f"text {chance.randrange(12)}"
    more = pc.field("n") > chance.randrange(50)
    for condition in (pc.field("k") == key, pc.field("s") == text, more, pc.field("p") == columns.place):
        _compare(
            _rows(table.snapshot(columns=list(columns.types), filter=condition)),
            _rows(found.filter(condition)),
            condition,
        )
    findings = [one for one in table.verify() if one.kind.value != "uncommitted"]
    assert not findings, findings


def check_theirs(
    theirs: Theirs, kind: Kind, columns: Columns, expected: list[Values], chance: Random, *, indexes: bool
) -> None:
    """Hudi scans the expected rows; with *indexes*, it finds the same by them, and its validation reports nothing."""
    asked = filters(chance, kind) if indexes else []
    names, rows, wanted, found = theirs.rows(asked)
    found_rows = [dict(zip(names, row, strict=True)) for row in rows]
    if not kind.layout.has_hudis_values:
        found_rows = [{**row, "p": None} for row in found_rows]
    assert sorted(names) == sorted(columns.types), names  # of dropped columns, those of paths are last
    _compare(
        [tuple(row[name] for name in columns.types) for row in found_rows],
        [tuple(map(_plain, values)) for values in expected],
        "Hudi",
    )
    for condition, left, right in zip(asked, wanted, found, strict=True):
        assert left == right, f"Hudi, {condition}: a scan finds {left}, the indexes {right}"
    assert not indexes or theirs.validation() == []


def _rows(table: Any) -> list[Values]:
    return [tuple(row.values()) for row in table.to_pylist()]


def _plain(value: Any) -> Any:
    """A value as JSON carries it."""
    if isinstance(value, dict):
        return list(value.values())
    return str(value) if hasattr(value, "isoformat") else value


def _compare(found: list[Values], expected: list[Values], what: object) -> None:
    left, right = (sorted(rows, key=repr) for rows in (found, expected))
    surplus = [row for row in left if row not in right]
    missing = [row for row in right if row not in left]
    assert left == right, f"{what}: {len(left)} rows for {len(right)}; wrong {surplus[:4]}, missing {missing[:4]}"
