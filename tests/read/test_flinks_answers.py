"""Tables that Flink wrote, read as Flink and as Hudi on Spark read them (tests/golden/flink/README.md)."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import Table, open_table

pytestmark = pytest.mark.unmeasured

ARCHIVES = sorted((Path(__file__).parents[1] / "golden" / "flink").glob("*.zip"))
WRONG = {
    ("f-v9-cow-types-batch", "flink-incremental-2"): "Flink reads a null ARRAY<ROW> as one row of nulls",
    ("f-v9-mor-cdc-stream", "flink-changes"): "Flink's own stream has no changes",
}
"""Answers that are wrong."""
CHANGES = ("flink-changes",)
"""Answers of Flink's stream: not rows, but what was done to them."""


@pytest.fixture(params=ARCHIVES, ids=lambda archive: archive.stem)
def answered(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of an archive, named like it."""
    folder: Path = tmp_path / request.param.stem
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.slow
def test_every_answer_is_flinks_and_sparks(answered: Path) -> None:
    table, meta = open_table(answered / "table"), json.loads((answered / "meta.json").read_text())
    for path in sorted((answered / "answers").iterdir()):
        name = path.stem
        if (answered.name, name) in WRONG or name in CHANGES or name in meta["errors"]:
            continue
        expected = [json.loads(line) for line in path.read_text().splitlines()]
        engine, _, question = name.partition("-")
        found = ask(table, question, meta["windows"])
        rows = [row["row"] for row in expected] if engine == "flink" else expected
        moments = [field.name for field in found.schema if engine == "flink" and pa.types.is_timestamp(field.type)]
        for row in rows:
            row.update({column: without_zone(row[column]) for column in moments if row[column] is not None})
        if rows:
            found = found.select([column for column in found.column_names if column in rows[0]])
            assert engine == "flink" or found.column_names == list(rows[0]), name
        assert counted(in_words_of(engine, found)) == counted(rows), name


def ask(table: Table, question: str, windows: Mapping[str, tuple[str, str | None]]) -> pa.Table:
    if question.startswith("incremental"):
        begin, end = windows[f"flink-{question}"]
        return table.incremental(begin, end)
    queries: dict[str, Callable[[], pa.Table]] = {
        "snapshot": table.snapshot,
        "read-optimized": table.read_optimized,
        "cdc": lambda: table.cdc("000"),
    }
    return queries[question]()


def counted(rows: list[Any]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


def without_zone(text: str) -> str:
    """A moment: Flink ends those in local time with a Z, and cuts zeros off."""
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=None).isoformat(timespec="microseconds")


def in_words_of(engine: str, rows: pa.Table) -> list[Any]:
    """The rows as the answers of an engine spell them."""
    spell = flinks if engine == "flink" else sparks
    return [
        {field.name: plain(row[field.name], field.type, spell) for field in rows.schema} for row in rows.to_pylist()
    ]


def plain(value: Any, kind: pa.DataType, spell: Callable[[Any, pa.DataType], Any]) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: plain(value[field.name], field.type, spell) for field in kind}
    if pa.types.is_list(kind):
        return [plain(item, kind.value_type, spell) for item in value]
    if pa.types.is_map(kind):
        return spell(sorted((key, plain(item, kind.item_type, spell)) for key, item in value), kind)
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if pa.types.is_decimal(kind) else spell(value, kind)


def flinks(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_map(kind):
        return [list(item) for item in value]
    if pa.types.is_timestamp(kind):
        return without_zone(str(value))
    return str(value) if pa.types.is_temporal(kind) else value


def sparks(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_map(kind):
        return dict(value)
    if pa.types.is_time(kind):  # an int, for Spark has no such type
        return pa.scalar(value, kind).cast(pa.int32()).as_py()
    if pa.types.is_timestamp(kind):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds")
    return str(value) if pa.types.is_temporal(kind) else value
