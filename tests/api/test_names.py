"""Wherever several names are taken, a text is one name: never its letters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.sink import TaskWriter
from tests.effort import sample
from tests.tables import SCHEMA, content, new_table, rows

SEVERAL = ("Sequence[str]", "list[str]", "Iterable[str]")
CHANGES = {"hoodie.table.cdc.enabled": "true"}


def adopted(call: str, more: Mapping[str, Any], table: hf.Table) -> bool:
    folder = Path(table.path).parent / "files"
    (folder / "p=x").mkdir(parents=True)
    pq.write_table(rows(("a", 1, "x", 2)), folder / "p=x" / "a.parquet")
    given: dict[str, Any] = {"record_key": ["k"], "partition_by": ["p"], **more}
    return (hf.adopt(folder, **given) if call == "adopt" else hf.plan_adoption(folder, **given).run()).count() == 1


CALLS: dict[tuple[str, str], Callable[[hf.Table], Any]] = {
    ("Table.snapshot", "columns"): lambda table: table.snapshot(columns="ts").column_names == ["ts"],
    ("Table.read_optimized", "columns"): lambda table: table.read_optimized(columns="ts").column_names == ["ts"],
    ("Table.scan", "columns"): lambda table: table.scan(columns="ts").schema.names == ["ts"],
    ("Table.head", "columns"): lambda table: table.head(columns="ts").column_names == ["ts"],
    ("Table.unset_properties", "keys"): lambda table: (
        bool(table.set_properties({"owner": "me"})) and bool(table.unset_properties("owner"))
    ),
    ("Table.to_pandas", "columns"): lambda table: list(table.to_pandas(columns="ts").columns) == ["ts"],
    ("Table.to_polars", "columns"): lambda table: table.to_polars(columns="ts").columns == ["ts"],
    ("Table.to_duckdb", "columns"): lambda table: table.to_duckdb(columns="ts").columns == ["ts"],
    ("TableDataset.scanner", "columns"): lambda table: (
        table.dataset().scanner(columns="ts").projected_schema.names == ["ts"]
    ),
    ("TableDataset.to_table", "columns"): lambda table: table.dataset().to_table(columns="ts").column_names == ["ts"],
    ("TableDataset.to_batches", "columns"): lambda table: (
        table.dataset().to_batches(columns="ts").schema.names == ["ts"]
    ),
    ("TableDataset.head", "columns"): lambda table: table.dataset().head(1, columns="ts").column_names == ["ts"],
    ("Table.incremental", "columns"): lambda table: table.incremental("0", columns="ts").column_names == ["ts"],
    ("Table.cdc", "columns"): lambda table: table.cdc("0", columns="op").column_names == ["op"],
    ("Table.delete_partitions", "partitions"): lambda table: (
        table.delete_partitions("12") and content(table) == [("b", 1, "x", 2)]
    ),
    ("Table.evolve", "nullable"): lambda table: table.evolve(nullable="ts"),
    ("Table.evolve", "drop"): lambda table: table.evolve(add={"more": pa.int64()}) and table.evolve(drop="more"),
    ("Table.create_index", "columns"): lambda table: table.create_index("column_stats", columns="ts"),
    ("Table.maintain", "only"): lambda table: [one.service for one in table.maintain(only="clean")] == ["clean"],
    ("create_table", "record_key"): lambda table: made(table, record_key="ts").config.record_key_fields == ("ts",),
    ("create_table", "ordering"): lambda table: made(table, ordering="ts").config.ordering_fields == ("ts",),
    ("create_table", "partition_by"): lambda table: made(table, partition_by="ts").config.partition_fields == ("ts",),
    **{
        (call, name): partial(adopted, call, {name: "p" if name == "partition_by" else "ts"})
        for call in ("adopt", "plan_adoption")
        for name in ("record_key", "ordering", "partition_by")
    },
    ("LogReader.to_arrow", "columns"): lambda table: log(table).to_arrow(columns="ts").column_names == ["ts"],
    ("LogBlock.to_arrow", "columns"): lambda table: (
        next(iter(log(table))).to_arrow(columns="ts").schema.names == ["ts"]
    ),
    ("delete_block", "keys"): lambda _table: (
        hf.delete_block("key", instant="1").deletes()["record_key"].to_pylist() == ["key"]
    ),
}


@pytest.fixture
def several(tmp_path: Path) -> hf.Table:
    options = {"hoodie.index.type": "INMEMORY", "hoodie.schema.on.read.enable": "true", **CHANGES}
    table = new_table(tmp_path / "t", options=options)
    table.upsert(rows(("a", 1, "12", 1), ("b", 1, "x", 2)))
    return table


def made(table: hf.Table, **more: Any) -> hf.Table:
    path = Path(table.path).parent / "made"
    return hf.create_table(path, **{"name": "made", "schema": SCHEMA, "record_key": ["k"], **more})


def log(table: hf.Table) -> hf.LogReader:
    [one, *_] = table.file_slices()
    return hf.LogReader(f"{table.path}/{one.partition_path}/{one.log_files[0].name}")


def named_parameters() -> Iterator[tuple[str, str]]:
    """The public functions and methods that take several names, with the parameters."""
    for name in hf.__all__:
        one = getattr(hf, name)
        every = inspect.getmembers(one, inspect.isfunction) if inspect.isclass(one) else [("", one)]
        for method, function in every:
            if method.startswith("_") or not inspect.isfunction(function):
                continue
            for parameter in inspect.signature(function).parameters.values():
                if any(kind in str(parameter.annotation) for kind in SEVERAL):
                    yield f"{name}.{method}".strip("."), parameter.name


def test_all_that_take_names_are_tried() -> None:
    assert set(named_parameters()) == set(CALLS)


@pytest.mark.parametrize("where", sample(CALLS, of=6), ids=" ".join)
def test_a_text_is_one_name(several: hf.Table, where: tuple[str, str]) -> None:
    assert CALLS[where](several)


def test_a_sink_has_one_partition_column(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.string())])
    with TaskWriter(hf.open_storage(str(tmp_path)), schema, task=0, partition_by="day") as writer:
        writer.write(pa.RecordBatch.from_pydict({"id": [1], "day": ["x"]}, schema=schema))
        assert writer.finish(None).files
