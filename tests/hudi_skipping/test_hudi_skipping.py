"""A sample of the conditions of ``python -m tests.hudi_skipping``, and those that have lost rows."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import create_table, open_table
from tests.conformance.hudi import RealHudi
from tests.effort import LONG, only_long, sample
from tests.hudi_skipping.run import compare, losses
from tests.hudi_skipping.tables import COW, KINDS, MOR, Kind
from tests.hudi_skipping.values import EDGES, array

pytestmark = pytest.mark.hudi

READ_BY_THIS_HUDI = [kind for kind in KINDS if kind.version > 6]  # Hudi 1.2.0 skips no files of version 6


@pytest.mark.parametrize("kind", READ_BY_THIS_HUDI if LONG else READ_BY_THIS_HUDI[2:3], ids=str)
def test_hudi_loses_no_row_by_our_statistics(hudi: RealHudi, tmp_path: Path, kind: Kind) -> None:
    found = losses(hudi, tmp_path, kind, 1, count=40 if LONG else 6)
    assert [loss for loss in found if loss.is_of_statistics] == []


FILES: dict[str, list[list[object]]] = {
    "d": [[11.0, math.nan], [math.nan, None], [1.0, 2.0], [math.inf, math.nan], [None]],
    "day": [[-141_428, -141_427], [-719_162, 5], [99_999_999, 1], [-99_999_999, 2], [7]],
    "bin": [[b"a", b"b"], [b"", b"\xff"], [b"\x80"], [None, b"z"], [b"c"]],
}
CONDITIONS = (
    *(
        "d = 11",
        "d > 10",
        "d >= 11",
        "d < 100",
        "d != 11",
        "isnan(d)",
        "not d <= 10",
        "d in (3.0D, 11.0D)",
        "d is null",
    ),
    *("day = date'1582-10-15'", "day = date'0001-01-01'", "day < date'1970-01-03'", "day > date'1970-01-06'"),
    *("bin = X'61'", "bin > X'70'", "k > '0' and bin >= X'62'"),
)


@only_long
@pytest.mark.parametrize(("table_type", "version"), [(COW, 9), (MOR, 8)] if LONG else [(COW, 9)])
def test_edges_that_hudi_loses_in_its_own_tables(hudi: RealHudi, tmp_path: Path, table_type: str, version: int) -> None:
    schema = pa.schema([("k", pa.string()), ("p", pa.string()), *((name, EDGES[name].kind) for name in FILES)])
    create_table(
        tmp_path / "t",
        name="t",
        schema=schema,
        record_key="k",
        partition_by="p",
        table_type=table_type,
        version=version,
        options={"hoodie.metadata.enable": "true"},
    )
    table = open_table(tmp_path / "t", options={"hoodie.parquet.small.file.limit": "0"})
    for number in range(5):
        rows = max(len(files[number]) for files in FILES.values())
        columns = {name: array(EDGES[name].kind, (files[number] * 2)[:rows]) for name, files in FILES.items()}
        keys = [f"{number}{one}" for one in range(rows)]
        table.insert(pa.table({"k": keys, "p": ["x" if number % 2 else "y"] * rows, **columns}, schema))
    answers = compare(hudi, table.path, sample(CONDITIONS, of=3))
    assert [(condition, found, plain) for condition, _, found, plain in answers if found != plain] == []


@pytest.mark.parametrize("is_anew", [False, True])
def test_a_column_that_is_newer_than_files(hudi: RealHudi, tmp_path: Path, is_anew: bool) -> None:
    """Hudi loses rows of its own tables so: files written before a column have no record of it."""
    old = pa.schema([("k", pa.string()), ("p", pa.string()), ("small", pa.int32())])
    new = old.append(pa.field("f", pa.float64()))
    options = {"hoodie.metadata.enable": "true"}
    create_table(tmp_path / "t", name="t", schema=old, record_key="k", partition_by="p", options=options)
    table = open_table(tmp_path / "t", options={"hoodie.parquet.small.file.limit": "0"})
    table.insert(pa.table({"k": ["a", "b"], "p": ["x", "y"], "small": [11, 11]}, old))
    table.insert(pa.table({"k": ["c", "d"], "p": ["y", "z"], "small": [11, 12], "f": [2.5, None]}, new))
    if is_anew:
        table.drop_index("partition_stats")
        table.drop_index("column_stats")
        table.create_index("column_stats")
        table.create_index("partition_stats")
    conditions = ("f is null", "small = 11 and f is null", "k = 'a' and f is null", "small = 12 or f is null", "f > 2")
    answers = compare(hudi, table.path, conditions)
    assert [(condition, found, plain) for condition, _, found, plain in answers if found != plain] == []
