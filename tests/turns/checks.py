"""What has to hold after each step: both sides read the expected rows, and no index or property is lost."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.compute as pc

from hudiformat import open_table
from tests.metadata_statistics import check_bloom_filters, check_record_index, check_secondary_indexes, check_statistics
from tests.metadata_table.tables import check_listing
from tests.turns.kinds import Kind
from tests.turns.rows import Columns, Values
from tests.turns.sides import Theirs

CHANGING = ("hoodie.table.checksum", "hoodie.table.metadata.partitions")
"""Properties that writes may change; of the partitions, a check of its own says which have to be there."""


def filters(chance: Random) -> list[str]:
    """Conditions that the indexes help with, each with values of its own."""
    number, text = chance.randrange(50), f"text {chance.randrange(12)}"
    one, other = (f"k{chance.randrange(80):03d}" for _ in range(2))
    key = chance.choice([f"k = '{one}'", f"_hoodie_record_key in ('{one}', '{other}')"])
    whole = chance.choice([f"n = {number}", f"n > {number}", "n is null", "s is null"])
    day = f"day > date'2020-01-{number % 30 + 1:02d}'"
    other_column = chance.choice([f"d <= {number / 4}", day, f"p = 'x' and n < {number}"])
    return [key, f"s = '{text}'", f"upper(s) = '{text.upper()}'", whole, other_column]


def properties(path: Path) -> dict[str, str]:
    """The table's properties that have to stay as they are."""
    lines = (path / ".hoodie" / "hoodie.properties").read_text().splitlines()
    pairs = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    return {key: value for key, value in pairs.items() if key not in CHANGING}


def definitions(path: Path) -> dict[str, Any]:
    """The definitions of the table's indexes, but for the columns, which become more when the table's do."""
    found = json.loads((path / ".hoodie" / ".index_defs" / "index.json").read_text())["indexDefinitions"]
    return {name: {**one, "sourceFields": None} for name, one in found.items()}


def check_indexes(path: Path, kind: Kind) -> None:
    """The metadata table has all its partitions, and they agree with the table's files."""
    differing = set(open_table(path).config.metadata_partitions) ^ kind.indexes
    assert not differing, f"indexes lost or found: {differing}"
    check_listing(path)
    check_statistics(path, own_only=True)
    check_bloom_filters(path)
    check_record_index(path, exact=False)
    check_secondary_indexes(path, exact=False)


def check_ours(path: Path, columns: Columns, expected: list[Values], chance: Random) -> None:
    """hudiformat reads the expected rows, with filters too, and finds nothing wrong with the table."""
    table = open_table(path)
    found = table.snapshot(columns=list(columns.types))
    assert found.schema.names == list(columns.types), found.schema
    assert {field.name: field.type for field in found.schema} == columns.types
    _compare(_rows(found), expected, "hudiformat")
    key, text = f"k{chance.randrange(80):03d}", f"text {chance.randrange(12)}"
    for condition in (pc.field("k") == key, pc.field("s") == text, pc.field("n") > chance.randrange(50)):
        _compare(
            _rows(table.snapshot(columns=list(columns.types), filter=condition)),
            _rows(found.filter(condition)),
            condition,
        )
    findings = [one for one in table.verify() if one.kind.value != "uncommitted"]
    assert not findings, findings


def check_theirs(theirs: Theirs, columns: Columns, expected: list[Values], chance: Random) -> None:
    """Hudi scans the expected rows, finds the same by its indexes, and its validation reports nothing."""
    asked = filters(chance)
    names, rows, wanted, found = theirs.rows(asked)
    assert names == list(columns.types), names
    _compare([tuple(row) for row in rows], [tuple(map(_plain, values)) for values in expected], "Hudi")
    for condition, left, right in zip(asked, wanted, found, strict=True):
        assert left == right, f"Hudi, {condition}: a scan finds {left}, the indexes {right}"
    assert theirs.validation() == []


def _rows(table: Any) -> list[Values]:
    return [tuple(row.values()) for row in table.to_pylist()]


def _plain(value: Any) -> Any:
    """A value as JSON carries it."""
    return str(value) if hasattr(value, "isoformat") else value


def _compare(found: list[Values], expected: list[Values], what: object) -> None:
    left, right = (sorted(rows, key=repr) for rows in (found, expected))
    surplus = [row for row in left if row not in right]
    missing = [row for row in right if row not in left]
    assert left == right, f"{what}: {len(left)} rows for {len(right)}; wrong {surplus[:4]}, missing {missing[:4]}"
