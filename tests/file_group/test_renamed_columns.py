"""Files whose columns have other names than the query's: Hudi's own tables, and what cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import open_table
from tests.tables import new_table, rows

ANSWER = [
    {"id": 1, "a2": 1, "b": "u", "z": None, "n": {"x2": 1, "y": "p"}, "q": 1, "ts": 10},
    {"id": 2, "a2": 2, "b": "v2", "z": None, "n": {"x2": 2, "y": "q"}, "q": 2, "ts": 11},
    {"id": 3, "a2": 3, "b": "w", "z": None, "n": None, "q": 3, "ts": 10},
]
"""What Hudi 1.2.0 reads of these tables with hoodie.schema.on.read.enable."""


def own(table: pa.Table) -> list[dict[str, Any]]:
    return [{k: v for k, v in one.items() if k[0] != "_"} for one in table.sort_by("id").to_pylist()]


@pytest.mark.parametrize("name", ["renamed-mor9", "renamed-cow9", "renamed-mor6"])
def test_hudis_tables_are_read_as_hudi_reads_them(own_golden: Callable[[str], Path], name: str) -> None:
    table = open_table(own_golden(name))
    assert own(table.snapshot()) == ANSWER
    assert own(table.snapshot(columns=["id", "a2"])) == [{"id": one["id"], "a2": one["a2"]} for one in ANSWER]
    assert own(table.snapshot(filter=pc.field("a2") == 2)) == ANSWER[1:2]
    assert own(table.snapshot(filter=pc.field("_hoodie_record_key") == "2")) == ANSWER[1:2]
    assert own(table.incremental("000")) == ANSWER
    assert [one["a2"] for one in own(table.read_optimized())] == [1, 2, 3]
    first = table.timeline.completed_writes[0].time
    assert [(one["a"], one["d"]) for one in own(table.snapshot(as_of=first))] == [(1, 0.5), (2, 1.5), (3, 1.5)]


@pytest.mark.parametrize("name", ["renamed-mor9", "renamed-cow9", "renamed-mor6"])
def test_hudis_tables_are_written_on(own_golden: Callable[[str], Path], name: str) -> None:
    table = open_table(own_golden(name), options={"hudiformat.sync": "false"})
    new = {"id": 3, "a2": 2**40, "b": "w3", "z": "z", "n": {"x2": 3, "y": "r"}, "q": None, "ts": 12}
    table.upsert(pa.Table.from_pylist([new], table.schema))
    assert own(table.snapshot()) == [*ANSWER[:2], new]
    table.evolve(rename={"a2": "a3"})
    assert [one["a3"] for one in own(table.snapshot())] == [1, 2, 2**40]


def test_blocks_in_parquet_have_their_names_in_themselves(tmp_path: Path) -> None:
    options = {
        "hoodie.schema.on.read.enable": "true",
        "hoodie.logfile.data.block.format": "parquet",
        "hoodie.parquet.small.file.limit": "0",
    }
    table = new_table(tmp_path / "t", options=options)
    table.upsert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    table.evolve(add={"w": pa.int32()})
    assert table.snapshot(columns=["v", "w"]).to_pylist() == [{"v": 2, "w": None}]
    table.evolve(rename={"v": "vv"}, drop=["w"])
    assert table.snapshot(columns=["k", "ts", "vv"]).to_pylist() == [{"k": "a", "ts": 2, "vv": 2}]
