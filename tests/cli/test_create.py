"""``hudiformat create``."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import open_table
from tests.cli.support import Command
from tests.tables import SCHEMA, rows

COLUMNS = ["--column", "id=string", "--column", "ts=bigint", "--column", "p=string", "--column", "price=decimal(10,2)"]


def test_a_table_of_named_columns(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "rides"
    given = [
        "--record-key",
        "id",
        "--ordering",
        "ts",
        "--partition-by",
        "p",
        "--type",
        "COPY_ON_WRITE",
        "--version",
        "8",
    ]
    result = command("create", path, *COLUMNS, *given, "-o", "hoodie.datasource.write.hive_style_partitioning=true")
    assert (result.code, result.out, result.err) == (0, f"COPY_ON_WRITE table rides of 4 columns at {path}\n", "")
    config = open_table(path).config
    assert (config.record_key_fields, config.ordering_fields, config.partition_fields) == (("id",), ("ts",), ("p",))
    assert (config.version, config.hive_style_partitioning) == (8, True)
    assert open_table(path).schema.field("price").type == pa.decimal128(10, 2)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "avsc"])
def test_a_table_with_the_columns_of_a_file(command: Command, tmp_path: Path, ending: str) -> None:
    source, data = tmp_path / f"in.{ending}", rows(("a", 1, "x", 1))
    if ending == "parquet":
        pq.write_table(data, source)
    elif ending == "csv":
        source.write_text("k,ts,p,v\na,1,x,1\n")
    elif ending == "jsonl":
        source.write_text(json.dumps(data.to_pylist()[0]) + "\n")
    else:
        fields = [{"name": name, "type": "string"} for name in SCHEMA.names]
        source.write_text(json.dumps({"type": "record", "name": "r", "fields": fields}))
    (made,) = command("create", tmp_path / "t", "--name", "other", "--like", source, "--record-key", "k", "--json").json
    assert made == {"path": str(tmp_path / "t"), "name": "other", "columns": ["k", "ts", "p", "v"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--record-key", "id"], "expected either --column or --like"),
        ([*COLUMNS, "--like", "x.csv", "--record-key", "id"], "expected either --column or --like"),
        (COLUMNS, "Missing option '--record-key'"),
        ([*COLUMNS, "--record-key", "idd"], "no column 'idd'; did you mean 'id'?"),
        (["--column", "id", "--record-key", "id"], "--column id: expected two parts with = between them"),
        (["--column", "id=text", "--record-key", "id"], "expected a type of boolean, int"),
        (["--like", "x.xlsx", "--record-key", "id"], "--like x.xlsx: expected a file that ends in .parquet"),
        (["--like", "no.avsc", "--record-key", "id"], "cannot read no.avsc"),
        (["--like", "no.csv", "--record-key", "id"], "cannot read no.csv"),
        ([*COLUMNS, "--record-key", "id", "--version", "7"], "version: expected one of 6, 8, 9, found 7"),
        ([*COLUMNS, "--record-key", "id", "--name", "my table"], "found 'my table'"),
    ],
)
def test_what_makes_no_table(command: Command, tmp_path: Path, arguments: list[str], message: str) -> None:
    result = command("create", tmp_path / "t", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert not (tmp_path / "t").exists()


def test_without_a_record_key_each_row_gets_a_key(command: Command, tmp_path: Path) -> None:
    assert command("create", tmp_path / "t", "--record-key", "", "--column", "v=int").code == 0
    table = open_table(tmp_path / "t")
    table.insert(pa.table({"v": pa.array([1, 1], pa.int32())}))
    assert len(set(table.snapshot()["_hoodie_record_key"].to_pylist())) == 2
