"""SQL queries over the rows before and after a write, which can refuse it."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import HudiFormatWarning, OptionError, UnsupportedFeatureError, ValidationError, open_table
from hudiformat.table.options.validation import Validator
from tests.tables import SCHEMA, content, new_table, rows, tree

PACKAGE = "org.apache.hudi.client.validator."
KEY = "hoodie.precommit.validators"
ALWAYS = "select count(*) from <TABLE_NAME>"


def validated(path: Path, table_type: str, **queries: str) -> Any:
    """A table with the rows a and b in partition x, and with validators whose *queries* are given by their members."""
    table = new_table(path, table_type=table_type)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)))
    return open_table(path, options=options_of(**queries))


def options_of(**queries: str) -> dict[str, str]:
    asked = {Validator[name]: query for name, query in queries.items()}
    names = ", ".join(f"{PACKAGE}{one.value}" for one in asked)
    return {KEY: names, **{one.option: query for one, query in asked.items()}}


@pytest.mark.all_sets
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        ({"SINGLE_RESULT": f"{ALWAYS} where v is null#0"}, "expected '0' after the write, found '1'"),
        ({"SINGLE_RESULT": f"{ALWAYS} where v = 2#1"}, "expected '1' after the write, found '0'"),
        ({"EQUALITY": "select k, v from <TABLE_NAME>"}, "expected all of its 2 rows of before .*, found 1"),
        ({"INEQUALITY": "select count(*) from <TABLE_NAME>"}, "expected other rows after the write, found all 1"),
    ],
)
def test_a_refused_write_leaves_nothing(tmp_path: Path, table_type: str, queries: dict[str, str], reason: str) -> None:
    table = validated(tmp_path / "t", table_type, **queries)
    before = tree(tmp_path)
    with pytest.raises(ValidationError, match=reason) as caught:
        table.upsert(rows(("b", 2, "x", None)))
    assert len(caught.value.failures) == 1
    assert tree(tmp_path) == before


@pytest.mark.all_sets
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_write_that_every_validator_passes_commits(tmp_path: Path, table_type: str) -> None:
    table = validated(
        tmp_path / "t",
        table_type,
        SINGLE_RESULT=f"{ALWAYS}#2;select max(v) from <TABLE_NAME>#7;",
        EQUALITY=ALWAYS,
        INEQUALITY="select sum(v) from <TABLE_NAME>",
    )
    table.upsert(rows(("b", 2, "x", 7)))
    assert content(table) == [("a", 1, "x", 1), ("b", 2, "x", 7)]


def test_only_partitions_that_the_write_changes_are_looked_at(tmp_path: Path) -> None:
    table = validated(tmp_path / "t", "COPY_ON_WRITE", SINGLE_RESULT=f"{ALWAYS}#1")
    table.insert(rows(("c", 1, "y", 3)))
    with pytest.raises(ValidationError, match="found '0'"):
        table.delete_partitions(["y"])
    assert len(content(table)) == 3


def test_a_write_that_changes_no_partition_is_not_validated(tmp_path: Path) -> None:
    table = validated(tmp_path / "t", "COPY_ON_WRITE", SINGLE_RESULT=f"{ALWAYS}#5")
    table.delete(where="k = 'none'")
    assert len(content(table)) == 2


def test_the_first_write_has_no_rows_before_it(tmp_path: Path) -> None:
    options = options_of(EQUALITY="select k from <TABLE_NAME>", SINGLE_RESULT=f"{ALWAYS}#1")
    table = new_table(tmp_path / "t", options=options)
    table.insert(rows(("a", 1, "x", 1)))
    assert content(table) == [("a", 1, "x", 1)]


def test_a_new_column_is_null_before_the_write(tmp_path: Path) -> None:
    table = validated(tmp_path / "t", "COPY_ON_WRITE", INEQUALITY="select count(w) from <TABLE_NAME>")
    with_column = SCHEMA.append(pa.field("w", pa.string()))
    table.upsert(rows(("b", 2, "x", 7, "new"), schema=with_column))
    assert table.count("w = 'new'") == 1


def test_a_clustering_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    small = {"hoodie.clustering.plan.strategy.small.file.limit": "999999999"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.bulk_insert(rows(("a", 1, "x", 1)))
    table.bulk_insert(rows(("b", 1, "x", 1)))
    strict = open_table(table.path, options={**small, **options_of(INEQUALITY="select k from <TABLE_NAME>")})
    before = tree(tmp_path / "t")
    with pytest.raises(ValidationError):
        strict.cluster()
    assert tree(tmp_path / "t").items() - before.items() == {(".hoodie/.heartbeat/", b"")}
    assert open_table(table.path, options=small | options_of(EQUALITY="select k from <TABLE_NAME>")).cluster()
    assert len(content(table)) == 2


def test_by_the_policy_a_failure_is_a_warning(tmp_path: Path) -> None:
    table = new_table(
        tmp_path / "t", options={**options_of(SINGLE_RESULT=f"{ALWAYS}#5"), f"{KEY}.failure.policy": "warn_log"}
    )
    with pytest.warns(HudiFormatWarning, match="expected '5' after the write, found '1'"):
        table.insert(rows(("a", 1, "x", 1)))
    assert len(content(table)) == 1


@pytest.mark.all_sets
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("true", "true"),
        ("avg(v)", "1.5"),
        ("1e7 * max(v)", "2.0E7"),
        ("cast(0.1 as float)", "0.1"),
        ("cast(1.50 as decimal(4,2))", "1.50"),
        ("sum(v)", "3"),
        ("min(k)", "a"),
        ("date '2024-02-29'", "2024-02-29"),
        ("timestamp '2024-02-29 12:00:00.250'", "2024-02-29 12:00:00.25"),
        ("timestamp '2024-02-29 12:00:00'", "2024-02-29 12:00:00.0"),
    ],
)
def test_results_have_the_texts_of_spark(tmp_path: Path, value: str, text: str) -> None:
    table = validated(
        tmp_path / "t", "COPY_ON_WRITE", SINGLE_RESULT=f"select {value} from <TABLE_NAME> group by p#{text}"
    )
    table.upsert(rows(("b", 2, "x", 2)))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("select max(v) from <TABLE_NAME> where v > 5#0", "expected '0' after the write, found None"),
        ("select k, v from <TABLE_NAME> limit 1#a", "expected a single value, found 1 rows of 2 columns"),
        ("select nothing from <TABLE_NAME>#a", "cannot be run"),
        ("select from where#a", "cannot be run"),
    ],
)
def test_a_query_without_one_value_is_an_error(tmp_path: Path, query: str, found: str) -> None:
    table = validated(tmp_path / "t", "COPY_ON_WRITE", SINGLE_RESULT=query)
    with pytest.raises(ValidationError, match=found):
        table.upsert(rows(("b", 2, "x", 2)))


def test_other_classes_are_refused_by_name(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    with pytest.raises(UnsupportedFeatureError, match="expected some of") as caught:
        open_table(tmp_path / "t", options={KEY: "org.example.Mine"})
    assert caught.value.feature == "pre-commit validator org.example.Mine"


@pytest.mark.parametrize("query", ["select 1", "select 1#", "select 1#2#3"])
def test_a_query_without_a_result_is_refused(tmp_path: Path, query: str) -> None:
    new_table(tmp_path / "t")
    with pytest.raises(OptionError, match="expected a query, # and the value"):
        open_table(tmp_path / "t", options=options_of(SINGLE_RESULT=query))


def test_a_validator_without_queries_is_refused(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    with pytest.raises(OptionError, match="expected at least one query"):
        open_table(tmp_path / "t", options=options_of(EQUALITY=" ; "))


def test_without_duckdb_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *others: Any, **more: Any) -> Any:
        if name == "duckdb":
            raise ImportError(name=name)
        return imported(name, *others, **more)

    table = new_table(tmp_path / "t", options=options_of(EQUALITY=ALWAYS))
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnsupportedFeatureError, match="package duckdb to be installed"):
        table.insert(rows(("a", 1, "x", 1)))
    assert table.timeline.instants == ()
