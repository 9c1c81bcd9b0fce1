"""Queries of tables that real Hudi 1.2.0 wrote for one feature each: its answers, text for text."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import Table, open_table
from tests.effort import sample
from tests.tables import multiset

pytestmark = pytest.mark.unmeasured

ARCHIVES = sorted(Path(__file__).with_name("hudi").glob("*.zip"))


OF_THE_PATH = {
    "partitions-str-hive-enc": ("incremental",),
    "partitions-str": ("",),
    "partitions-timestamp": ("",),
    "partitions-ts-double": ("",),
    "partitions-ts-ts": ("",),
    "partitions-two-levels-dropped-hive-enc": ("incremental",),
    "partitions-v6-ts": ("",),
}
"""Queries, by their first letters, in which Hudi shows texts of the path that are not the values of the columns."""


@pytest.fixture(params=sample(ARCHIVES, of=2), ids=lambda archive: archive.stem)
def answered(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of an archive."""
    target = tmp_path / str(request.param.stem)
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(target)
    return target


def ask(table: Table, question: str) -> pa.Table:
    kind, *moments = question.split("_")
    queries: dict[str, Callable[[], pa.Table]] = {
        "snapshot": table.snapshot,
        "read": table.read_optimized,
        "incremental": lambda: table.incremental("000"),
        "inc": lambda: table.incremental("earliest"),
        "cdc": lambda: table.cdc(moments[0], moments[1] if len(moments) > 1 else None),
    }
    return queries[kind]()


@pytest.mark.slow
def test_every_answer_is_hudis(answered: Path) -> None:
    table = open_table(answered / "table")
    for path in sorted((answered / "expected").iterdir()):
        found, expected = ask(table, path.stem), pq.read_table(path)
        if path.stem.startswith(OF_THE_PATH.get(answered.name, "-")):
            fields = list(table._context.state().config.partition_fields)
            found, expected = found.drop_columns(fields), expected.drop_columns(fields)
        assert multiset(found) == multiset(expected), path.stem
        for field in expected.schema:
            assert found.schema.field(field.name).type == field.type, (path.stem, field.name)
