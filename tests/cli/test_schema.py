"""``hudiformat schema``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import Table, open_table
from tests.cli.support import Command
from tests.tables import new_table, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    return table


def test_showing_the_columns(command: Command, table: Table) -> None:
    result = command("schema", table.path)
    assert [line.split() for line in result.lines][:3] == [
        ["column", "type", "null", "comment"],
        ["k", "string", "no"],
        ["ts", "int64", "yes"],
    ]
    shown = command("schema", "--json", table.path).json
    assert shown[0] == {"column": "k", "type": "string", "nullable": False, "comment": None}


def test_changing_columns(command: Command, table: Table) -> None:
    changes = ("--add", "price=decimal(10, 2)", "--comment", "v=in euros", "--widen", "v=bigint", "--add", "at=date")
    result = command("schema", "--json", table.path, *changes)
    assert result.code == 0
    assert result.json[3:] == [
        {"column": "v", "type": "int64", "nullable": True, "comment": "in euros"},
        {"column": "price", "type": "decimal128(10, 2)", "nullable": True, "comment": None},
        {"column": "at", "type": "date32[day]", "nullable": True, "comment": None},
    ]
    assert open_table(table.path).schema.field("price").type == pa.decimal128(10, 2)


def test_renaming_and_dropping(command: Command, table: Table) -> None:
    on_read = ("-o", "hoodie.schema.on.read.enable=true")
    assert command("schema", table.path, "--rename", "v=w").code == 2
    command("schema", table.path, *on_read, "--rename", "v=w", "--nullable", "ts")
    assert open_table(table.path).schema.names == ["k", "ts", "p", "w"]
    command("schema", table.path, *on_read, "--drop", "w")
    assert open_table(table.path).schema.names == ["k", "ts", "p"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--add", "x"), "expected two parts"),
        (("--add", "x=blob"), "expected a type of boolean"),
        (("--add", "x=decimal(99,2)"), "precision"),
        (("--widen", "nothing=bigint"), "nothing"),
    ],
)
def test_changes_that_there_are_not(command: Command, table: Table, arguments: tuple[str, ...], message: str) -> None:
    result = command("schema", table.path, *arguments)
    assert result.code == 2
    assert message in result.err
