"""Every parameter of a public call refuses what it does not take: the message has what it takes, and what was given."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.effort import sample
from tests.tables import SCHEMA, content, new_table, rows

WRONG = type("Odd", (), {"__repr__": lambda _self: f"<odd {'x' * 1000}>"})
LONGEST = 300
"""Characters of a message, whatever was given."""
CREATED: dict[str, Any] = {"path": "nowhere", "name": "t", "schema": SCHEMA, "record_key": ["k"]}
NEEDED: dict[str, dict[str, Any]] = {
    "create_table": CREATED,
    "open_table": {"path": "nowhere"},
    "open_storage": {"path": "nowhere"},
    "Table.update": {"set": {"v": 1}},
    "Table.merge": {"source": pa.table({"k": ["a"]})},
    "Table.create_index": {"name": "files"},
    "Table.drop_index": {"name": "files"},
    "Table.savepoint": {"instant": "0"},
    "Table.incremental": {"begin": "0"},
    "Table.cdc": {"begin": "0"},
    "Table.diff": {"first": "20990101000000000"},
    "Table.unschedule_compaction": {"instant": "0"},
    "LogReader": {"source": b""},
    "verify_log": {"source": b""},
    "salvage": {"source": b"", "target": "nowhere"},
}
"""What a call needs besides the argument that is tried."""
TAKE_ANYTHING = ("query", "clock", "merger", "connection", "progress", "filesystem", "capabilities", "storage")
"""Objects of other code, which is found out when they are used, and what is passed on."""


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY", "hoodie.table.cdc.enabled": "true"})
    table.upsert(rows(("a", 1, "12", 1), ("b", 1, "x", 2)))
    return table


def calls() -> Iterator[tuple[str, str]]:
    """The public functions and methods, each with each of its parameters."""
    methods = inspect.getmembers(hf.Table, inspect.isfunction)
    every = [(f"Table.{name}", one) for name, one in methods if not name.startswith("_")]
    functions = [(name, getattr(hf, name)) for name in NEEDED if "." not in name]
    for name, one in [*every, *functions]:
        for parameter in inspect.signature(one).parameters:
            if parameter != "self" and parameter not in TAKE_ANYTHING:
                yield name, parameter


EVERY = list(calls())


def called(table: hf.Table, name: str) -> Callable[..., Any]:
    owner, _, method = name.rpartition(".")
    one: Callable[..., Any] = getattr(table if owner else hf, method)
    return one


@pytest.mark.parametrize(("name", "parameter"), sample(EVERY, of=24), ids=map(" ".join, EVERY))
def test_a_value_of_another_type_is_refused_in_one_line(table: hf.Table, name: str, parameter: str) -> None:
    before = content(table)
    arguments = {**NEEDED.get(name, {}), parameter: WRONG()}
    with pytest.raises(hf.HudiFormatError) as caught:
        called(table, name)(**arguments)
    message = str(caught.value)
    assert re.search(r"expected .*found (Odd|'?<odd)", message), message
    assert len(message) <= LONGEST
    assert "\n" not in message
    assert content(table) == before


@pytest.mark.parametrize("value", [["ts"], ("ts",), "ts", pa.array(["ts"]).to_numpy(zero_copy_only=False)])
def test_names_are_taken_in_every_usual_form(table: hf.Table, value: Any) -> None:
    assert table.snapshot(columns=value).column_names == ["ts"]


def test_python_itself_says_which_arguments_there_are(table: hf.Table) -> None:
    with pytest.raises(TypeError, match=r"head\(\) got an unexpected keyword argument 'rows'"):
        table.head(rows=5)  # type: ignore[call-arg]  # wrong on purpose


def test_a_flag_is_no_number(table: hf.Table) -> None:
    with pytest.raises(hf.ArgumentError, match=r"^n: expected an int, found bool True$") as caught:
        table.head(True)
    assert isinstance(caught.value, TypeError)
    assert caught.value.argument == "n"


def test_the_columns_of_a_snapshot_are_not_its_moment(table: hf.Table) -> None:
    with pytest.raises(hf.NameFormatError, match="found list.*; columns are given as columns="):
        table.snapshot(["ts"])  # type: ignore[arg-type]  # wrong on purpose


def test_a_head_of_fewer_than_no_rows(table: hf.Table) -> None:
    with pytest.raises(hf.OptionError, match="^n: expected 0 or more rows, found -1$"):
        table.head(-1)


def test_a_list_of_dicts_is_no_table_yet(table: hf.Table) -> None:
    with pytest.raises(hf.DataError, match=r"found list; pa.Table.from_pylist\(rows\) makes a table"):
        table.upsert([{"k": "a"}])  # type: ignore[list-item]  # wrong on purpose
