"""What comes of changes of a table's schema: Hudi's answers, as they are kept, and hudiformat's.

The changes are in ``tests/schema_changes.py``; ``tests/conformance/schema_oracle.py`` asks Hudi.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import hudiformat as hf
from tests.schema_changes import Change, first_rows

ANSWERS = Path(__file__).with_name("schema_answers.json")
NAME = "changes"


@dataclass(frozen=True)
class Answer:
    """What came of a change: the refusal, or the table's columns and rows; or why the rows cannot be read.

    ``rows`` begin with the names of the columns.
    """

    refused: str | None = None
    columns: list[str] | None = None
    rows: list[Any] | None = None
    unreadable: str | None = None


def columns_of(schema: pa.Schema) -> list[str]:
    """The columns of a table, each as a text."""
    return [f"{one.name}: {one.type}{'' if one.nullable else ' not null'}" for one in schema]


def rows_of(table: pa.Table, change: Change) -> list[Any]:
    """The rows of a table by key, as JSON has them: the columns that a change is about."""
    names = [name for name in dict.fromkeys(("id", *change.shown)) if name in table.column_names]
    rows = [[_plain(row[name]) for name in names] for row in table.select(names).to_pylist()]
    return [names, *sorted(rows, key=lambda row: str(row[0]))]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, (Decimal, date)) else value


def key_of(kind: str, version: int) -> str:
    """The name of a kind of table among the answers."""
    return f"{'MOR' if kind.startswith('MERGE') else 'COW'} {version}"


def our_table(path: Path, kind: str, version: int) -> None:
    """The table before the changes, made by hudiformat."""
    hf.create_table(
        path,
        name=NAME,
        schema=first_rows().schema,
        record_key=["id"],
        ordering=["ts"],
        partition_by=["p"],
        table_type=kind,
        version=version,
    ).upsert(first_rows())


def our_answer(path: Path, change: Change) -> Answer:
    """What hudiformat does with a change of the table at *path*."""
    options = {"hoodie.parquet.small.file.limit": "0", "hudiformat.sync": "false", **change.options}
    table = hf.open_table(path, options=options)
    try:
        table.upsert(change.batch())
    except hf.HudiFormatError as error:
        return Answer(refused=f"{type(error).__name__}: {error}")
    found = hf.open_table(path)
    return Answer(columns=columns_of(found.schema), rows=rows_of(found.snapshot(), change))


def compact(answers: Mapping[str, Mapping[str, Answer]]) -> dict[str, list[dict[str, Any]]]:
    """The answers by change, one for all the kinds of table that share it; columns that are as before are left out."""
    before = columns_of(first_rows().schema)
    found: dict[str, list[dict[str, Any]]] = {}
    for change, by_kind in answers.items():
        grouped: dict[str, list[str]] = {}
        for kind, answer in by_kind.items():
            content: dict[str, Any] = {"refused": answer.refused, "unreadable": answer.unreadable, "rows": answer.rows}
            if answer.columns is not None:
                content["columns"] = [one for one in answer.columns if one not in before]
                content["order"] = _order(answer.columns)
            text = json.dumps({key: value for key, value in content.items() if value}, sort_keys=True)
            grouped.setdefault(text, []).append(kind)
        found[change] = [{"kinds": kinds, **json.loads(text)} for text, kinds in grouped.items()]
    return found


def written(answers: Mapping[str, Mapping[str, Answer]]) -> str:
    """The content of the file of answers: a line for each."""
    lines = []
    for change, found in compact(answers).items():
        each = ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in found)
        lines.append(f" {json.dumps(change)}: [\n{each}\n ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _order(columns: list[str]) -> list[str]:
    """The names of the columns, where they are others than before and new ones at the end."""
    names, known = [one.partition(":")[0] for one in columns], first_rows().schema.names
    return names if names[: len(known)] != known else []


def known_answers() -> dict[str, dict[str, dict[str, Any]]]:
    """Hudi's answers as :func:`compact` has them, by change and kind of table."""
    answers = json.loads(ANSWERS.read_text())
    return {
        change: {kind: {**one, "kinds": None} for one in found for kind in one["kinds"]}
        for change, found in answers.items()
    }
