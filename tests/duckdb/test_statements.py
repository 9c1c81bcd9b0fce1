"""Statements in SQL change a table as its methods do, or are refused by name before a byte is written."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.duckdb import execute
from hudiformat.duckdb.statements import is_change
from tests.tables import create

SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("p", pa.string()),
        ("i", pa.int32()),
        ("f", pa.float64()),
        ("m", pa.decimal128(10, 2)),
        ("d", pa.date32()),
        ("b", pa.bool_()),
        ("x", pa.struct([("n", pa.int64())])),
        ("g", pa.float32()),
    ]
)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> hf.Table:
    monkeypatch.chdir(tmp_path)
    made = create(tmp_path / "t", schema=SCHEMA, ordering=[])
    day = dt.date(2024, 1, 31)
    made.insert(
        pa.Table.from_pylist(
            [
                {
                    "k": "a",
                    "p": "x",
                    "i": 1,
                    "f": 1.5,
                    "m": Decimal("1.25"),
                    "d": day,
                    "b": True,
                    "x": {"n": 7},
                    "g": 0.5,
                },
                {"k": "b", "p": "x", "i": 2, "f": float("nan"), "m": None, "d": None, "b": False, "x": {"n": None}},
                {"k": "c", "p": "y", "i": None, "f": None, "m": Decimal("-1.00"), "d": day, "b": None, "x": None},
            ],
            SCHEMA,
        )
    )
    return made


def shown(table: hf.Table, *columns: str) -> dict[str, Any]:
    found = table.snapshot(columns=["k", *columns]).sort_by("k").to_pylist()
    return {row["k"]: row[columns[0]] if len(columns) == 1 else tuple(row[name] for name in columns) for row in found}


WHERE = {
    "i > 1": "b",
    "f > 0": "ab",
    "t.k in ('a', 'c') and d = date '2024-01-31'": "ac",
    "m < 0 or b": "ac",
    "t.x.n = 7": "a",
    "x.n is null": "bc",
    "k like 'a%'": "a",
    "not (i between 1 and 1)": "b",
}


def test_conditions(table: hf.Table) -> None:
    for where, found in WHERE.items():
        execute("update './t' set g = 0")
        execute(f"update './t' as t set g = 1 where {where}")
        assert "".join(key for key, value in shown(table, "g").items() if value) == found, where


def test_delete(table: hf.Table) -> None:
    assert execute("delete from './t' as t where i > 1").num_deletes == 1
    assert "".join(shown(table, "i")) == "ac"
    execute("delete from './t'")
    assert table.count() == 0


def test_update(table: hf.Table) -> None:
    commit = execute("update './t' set i = i * 2 + 1, f = f + 0.5, m = 7.5, d = '2024-02-29', b = null where p = 'x'")
    assert commit.num_writes == 2
    assert shown(table, "i") == {"a": 3, "b": 5, "c": None}
    assert shown(table, "m", "d", "b")["a"] == (Decimal("7.50"), dt.date(2024, 2, 29), None)
    assert shown(table, "f")["a"] == 2.0
    execute("update './t' set f = m, m = m where k in ('a', 'c')")
    assert shown(table, "f")["a"] == 7.5
    execute("update './t' t set i = t.x.n, g = 2")
    assert shown(table, "i", "g") == {"a": (7, 2.0), "b": (None, 2.0), "c": (None, 2.0)}


def test_insert(table: hf.Table) -> None:
    execute("insert into './t' (k, p, i, f) values ('d', 'x', 4, 1.25), ('e', 'y', 5, 2)")
    execute("insert into './t' by name select 'f' as k, 'y' as p, 1.5 as m")
    execute(
        "with f as (select * from './t' where k = 'f') insert into './t' by name select * replace ('g' as k) from f"
    )
    assert shown(table, "f")["d"] == 1.25
    assert shown(table, "m")["g"] == Decimal("1.50")
    execute("insert into './t' select * replace ('h' as k) from './t' where k = 'a'")
    assert shown(table, "x")["h"] == {"n": 7}


def test_merge(table: hf.Table) -> None:
    source = "(values ('a', 'x', 10, true), ('b', 'x', 20, false), ('z', 'x', 30, false))"
    commit = execute(
        f"""merge into './t' as t using (select * from {source} as v(k, p, n, gone)) as s on t.k = s.k and (s.p = t.p)
        when matched and s.gone then delete
        when matched then update set i = t.i + s.n
        when not matched and s.n > 5 then insert (k, p, i) values (s.k, s.p, n)"""
    )
    assert (commit.num_writes, commit.num_deletes) == (2, 1)
    assert shown(table, "i") == {"b": 22, "c": None, "z": 30}
    execute(
        """merge into './t' t using (select * replace (99 as i) from './t' where k = 'z') s
        on t.k = s.k and t.p = s.p when matched then update set * when not matched then insert *"""
    )
    assert shown(table, "i")["z"] == 99


ON = "merge into './t' t using './t' s on t.k = s.k and t.p = s.p"
REFUSED = {
    "delete from './t' returning k": "returning of delete",
    "delete from './t' using './s' s where s.k = k": "using of delete",
    "update './t' set i = 1 from './s'": "from of update",
    "insert or replace into './t' values (1)": "alternative of insert",
    "insert into './t' values (1) on conflict do nothing": "conflict of insert",
    "update './t' set i = length(k)": "the value LENGTH(k)",
    "update './t' set i = i / 2": "the value i / 2",
    "update './t' set i = i + 1.5": "expected a value of type int64, found 1.5",
    "update './t' set i = 1.5": "expected a value of type int32, found 1.5",
    "insert into './t' by name select 1 as gone": "gone",
    "update './t' set g = g + 1": "the value g + 1",
    "update './t' set f = k": "a value of type string for a column of type double",
    "update './t' set i = f": "a value of type double for a column of type int32",
    "update a.b set i = 1": "the target a.b",
    "merge into './t' t using './t' s on t.k = s.k when matched then delete": "ON with the columns k",
    "merge into './t' t using './t' s on t.k < s.k when matched then delete": "ON t.k < s.k",
    "merge into './t' t using './t' s on t.k = s.p and t.p = s.p when matched then delete": "ON t.k = s.p",
    f"{ON} when not matched by source then delete": "WHEN NOT MATCHED BY SOURCE",
    f"{ON} when not matched then insert (k, p) values ('q', s.p)": "a new value of the key column k",
}  # fmt: skip


def test_what_is_not_done_exactly_is_refused(table: hf.Table) -> None:
    before = table.history().num_rows
    for sql, what in REFUSED.items():
        with pytest.raises((hf.UnsupportedFeatureError, hf.SchemaError)) as refused:
            execute(sql)
        assert what in str(refused.value), sql
    assert table.history().num_rows == before


WRONG = {
    "select 1": "found Select; call query",
    "": "found nothing",
    "delete from": "which cannot be parsed",
    "update t set i = 1": "expected the path of a table, such as './trips', found 't'",
    "update './t' set i = 'x'": "column 'i': expected a value of type int32, found x",
    "update './t' set i = true": "found True",
    "update './t' set i = 1, i = 2": "expected one value, found two",
    "update './t' set gone = 1": "gone",
    "update './t' set i = gone": "gone",
    "update './t' set i = 3000000000": "3000000000",
    "insert into './t' (k) values (1, 2)": "expected values of the columns k, found 2 values",
    "insert into './t' (k, p, i) values ('q', 'x', 1.5)": "expected values of the table's columns",
    "merge into './t' t using './t' s on k = s.k when matched then delete": "expected the name of its table before it",
    "delete from './t' where length(k) > 1": "expected the name of a column",
}


def test_what_is_wrong_is_said(table: hf.Table) -> None:
    for sql, what in WRONG.items():
        with pytest.raises(hf.HudiFormatError) as error:
            execute(sql)
        assert what in str(error.value), sql


def test_a_merge_needs_on(table: hf.Table) -> None:
    with pytest.raises(hf.HudiFormatError):  # older releases of sqlglot cannot parse it
        execute("merge into './t' t using './t' s using (k, p) when matched then delete")


def test_what_changes_a_table_is_known_by_its_first_word() -> None:
    changes = [
        "delete from x",
        " -- a\n/* b */ update x set a = 1",
        "with a as (select 1) insert into x select * from a",
    ]
    assert [is_change(sql) for sql in changes] == [True] * 3
    assert [is_change(sql) for sql in ("", "from x", "with a as (select 1) from a", "with a", "updates")] == [False] * 5


def test_an_overflow_is_an_error(table: hf.Table) -> None:
    with pytest.raises(hf.SchemaError, match="update"):
        execute("update './t' set i = i * 9223372036854775807 + 9223372036854775807")
