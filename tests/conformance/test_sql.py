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
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.effort import LONG, every, only_long

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


@only_long
@pytest.mark.parametrize("kind", ["MERGE_ON_READ", *(["COPY_ON_WRITE"] if LONG else [])])
def test_rows_with_one_key_are_updated_and_deleted_where_they_are(hudi: RealHudi, tmp_path: Path, kind: str) -> None:
    before = tmp_path / "before"
    options = {**WRITE, "hoodie.datasource.write.table.type": kind}
    hudi.write(rows(("a", 1, "x", "1"), ("b", 1, "x", "2"), ("a", 1, "x", "3")), before, options)
    hudi.write(rows(("a", 2, "x", "4"), ("c", 2, "x", "5")), before, options)
    for number, (statement, (change, expected)) in enumerate(list(STATEMENTS.items())[:: every(3)]):
        theirs = shutil.copytree(before, tmp_path / f"theirs-{number}")
        name = f"doubles_{kind}_{number}".lower()
        hudi.sql(f"create table {name} using hudi location '{theirs}'")
        hudi.sql(statement.format(name))
        hudi.sql(f"drop table {name}")
        assert content(hudi.read(theirs)) == content(hf.open_table(theirs).snapshot()) == expected, statement
        ours = hf.open_table(shutil.copytree(before, tmp_path / f"ours-{number}"))
        change(ours)
        assert content(hudi.read(ours.path)) == content(ours.snapshot()) == expected, statement


def conditions(hudi: RealHudi, path: str, condition: str) -> Any:
    code = f"spark.read.format('hudi').load({path!r}).where({condition!r}).orderBy('k').collect()"
    return hudi.eval_(f"result = [(row.k, row.p) for row in {code}]")


def test_null_and_empty_partition_values_are_null(hudi: RealHudi, tmp_path: Path) -> None:
    options = {**WRITE, "hoodie.datasource.write.table.type": "COPY_ON_WRITE"}
    hudi.write(rows(("a", 1, "", "1"), ("b", 1, None, "2"), ("c", 1, "x", "3")), tmp_path / "t", options)
    table = hf.open_table(tmp_path / "t")
    assert table.partitions() == ["__HIVE_DEFAULT_PARTITION__", "x"]
    for condition, found in {
        "p is null": [["a", None], ["b", None]],
        "p is not null": [["c", "x"]],
        "p <> 'x'": [],
        "p = 'x'": [["c", "x"]],
    }.items():
        assert conditions(hudi, table.path, condition) == found, condition
        ours = table.snapshot(columns=["k", "p"], filter=condition).sort_by("k")
        assert [list(row.values()) for row in ours.to_pylist()] == found, condition
    for text in ("", "__HIVE_DEFAULT_PARTITION__"):  # Hudi makes a path of the condition, and asks no row
        assert conditions(hudi, table.path, f"p = '{text}'") == [["a", text], ["b", text]]
        assert table.snapshot(filter=f"p = '{text}'").num_rows == 0


def test_a_required_partition_column_with_an_empty_text(hudi: RealHudi, tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("ts", pa.int64()), pa.field("p", pa.string(), nullable=False)])
    columns: dict[str, Any] = {"record_key": "k", "ordering": "ts", "partition_by": "p", "table_type": "COPY_ON_WRITE"}
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, options={"hoodie.index.type": "SIMPLE"}, **columns)
    table.insert(pa.table({"k": ["a"], "ts": [1], "p": [""]}, schema=schema))
    assert table.snapshot()["p"].to_pylist() == [None]
    with pytest.raises(RealHudiError, match="NullPointerException"):
        hudi.read(table.path)
    table.evolve(nullable="p")
    assert hudi.read(table.path)["p"].to_pylist() == hf.open_table(table.path).snapshot()["p"].to_pylist() == [None]


@pytest.mark.parametrize("column", ["k", "ts", "p", "v"])
def test_rows_whose_columns_differ_in_case_only_are_refused(hudi: RealHudi, tmp_path: Path, column: str) -> None:
    options = {**WRITE, "hoodie.datasource.write.table.type": "COPY_ON_WRITE"}
    hudi.write(rows(("a", 1, "x", "1")), tmp_path / "t", options)
    others = rows(("a", 2, "x", "2"))
    others = others.rename_columns([name.upper() if name == column else name for name in others.column_names])
    with pytest.raises(RealHudiError, match="MissingSchemaFieldException"):
        hudi.write(others, tmp_path / "t", {**options, "hoodie.datasource.write.operation": "upsert"})
    table = hf.open_table(tmp_path / "t", options={"hoodie.index.type": "SIMPLE"})
    with pytest.raises((hf.SchemaError, hf.DataError)):
        table.upsert(others)
    assert content(table.snapshot()) == [("a", 1, "x", "1")]
