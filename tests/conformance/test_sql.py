"""What statements of Spark SQL do on Hudi, and functions of ours on a copy of the table."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi

WRITE = {
    "hoodie.table.name": "doubles",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.operation": "bulk_insert",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.metadata.index.column.stats.enable": "false",
}
Row = tuple[Any, ...]


def rows(*values: Row) -> pa.Table:
    columns = zip(*values, strict=True)
    return pa.table(dict(zip(("k", "ts", "p", "v"), map(list, columns), strict=True)))


def content(table: pa.Table) -> list[Row]:
    return sorted((row["k"], row["ts"], row["p"], row["v"]) for row in table.to_pylist())


STATEMENTS: dict[str, tuple[Callable[[hf.Table], hf.Commit], list[Row]]] = {
    "update {0} set v = concat(v, '!')": (
        lambda table: table.update({"v": pc.binary_join_element_wise(pc.field("v"), pc.scalar("!"), "")}),
        # Of the two rows of one file the first is changed, to what the second becomes.
        [("a", 1, "x", "3"), ("a", 1, "x", "3!"), ("a", 2, "x", "4!"), ("b", 1, "x", "2!"), ("c", 2, "x", "5!")],
    ),
    "update {0} set v = 'X' where v = '1'": (
        lambda table: table.update({"v": "X"}, where="v = '1'"),
        [("a", 1, "x", "3"), ("a", 1, "x", "X"), ("a", 2, "x", "4"), ("b", 1, "x", "2"), ("c", 2, "x", "5")],
    ),
    "update {0} set v = 'Y', ts = ts + 10 where k = 'a'": (
        lambda table: table.update({"v": "Y", "ts": pc.field("ts") + 10}, where="k = 'a'"),
        [("a", 1, "x", "3"), ("a", 11, "x", "Y"), ("a", 12, "x", "Y"), ("b", 1, "x", "2"), ("c", 2, "x", "5")],
    ),
    "delete from {0} where v = '1'": (
        lambda table: table.delete(where="v = '1'"),
        [("a", 1, "x", "3"), ("a", 2, "x", "4"), ("b", 1, "x", "2"), ("c", 2, "x", "5")],
    ),
    "delete from {0} where k = 'a'": (
        lambda table: table.delete(where="k = 'a'"),
        [("a", 1, "x", "3"), ("b", 1, "x", "2"), ("c", 2, "x", "5")],
    ),
}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_with_one_key_are_updated_and_deleted_where_they_are(hudi: RealHudi, tmp_path: Path, kind: str) -> None:
    before = tmp_path / "before"
    options = {**WRITE, "hoodie.datasource.write.table.type": kind}
    hudi.write(rows(("a", 1, "x", "1"), ("b", 1, "x", "2"), ("a", 1, "x", "3")), before, options)
    hudi.write(rows(("a", 2, "x", "4"), ("c", 2, "x", "5")), before, options)
    for number, (statement, (change, expected)) in enumerate(STATEMENTS.items()):
        theirs = shutil.copytree(before, tmp_path / f"theirs-{number}")
        name = f"doubles_{kind}_{number}".lower()
        hudi.sql(f"create table {name} using hudi location '{theirs}'")
        hudi.sql(statement.format(name))
        hudi.sql(f"drop table {name}")
        assert content(hudi.read(theirs)) == content(hf.open_table(theirs).snapshot()) == expected, statement
        ours = hf.open_table(shutil.copytree(before, tmp_path / f"ours-{number}"))
        change(ours)
        assert content(hudi.read(ours.path)) == content(ours.snapshot()) == expected, statement
