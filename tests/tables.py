"""Tables and rows for the tests of several rooms: tables that a test makes, and golden ones that real Hudi wrote."""

from __future__ import annotations

import json
import os
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import Table, create_table, open_table
from hudiformat.table.options.keys import TABLE_KEYS

SCHEMA = pa.schema(
    [
        pa.field("k", pa.string(), nullable=False),
        pa.field("ts", pa.int64()),
        pa.field("p", pa.string()),
        pa.field("v", pa.int32()),
    ]
)
PARTITION_METADATA = b"commitTime=20200101000000000\npartitionDepth=1\n"
"""What makes a folder a partition."""
FLAGGED = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
Row = tuple[Any, ...]

GOLDEN = Path(__file__).with_name("golden")
NAMES = sorted(archive.stem for archive in GOLDEN.glob("v*.zip"))
"""The golden tables; :func:`unpack` unpacks one."""

OF_AN_OLDER_HUDI = {
    "v6-mor-default-payload-h0150": "late rows and deletes, which Hudi 0.15.0 merges otherwise than 1.2.0",
    "v6-mor-latest-payload-h0150": "the same",
    "v6-mor-parquetlog-h0150": "the same",
    "v6-mor-failed-write-h0150": "a rolled-back block at the instant that it was rolled back at",
}
"""Tables that Hudi 0.15.0 answered for, some queries otherwise than 1.2.0 (tests/conformance/test_queries.py)."""


class Clock:
    """A clock that goes on by ten milliseconds whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now = datetime(2024, 2, 29, 12)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=10)
        return self.now


@pytest.fixture(scope="package", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """For the ``conftest.py`` of a room whose tests never look at power cuts: a third of their time was ``fsync``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _handle: None)
        yield


def create(path: Path, **changes: Any) -> Table:
    """A table as :func:`new_table` makes it, with no options but those that *changes* name."""
    arguments = {"name": "t", "schema": SCHEMA, "record_key": ["k"], "ordering": ["ts"], "partition_by": ["p"]}
    return create_table(path, **{**arguments, **changes})


def edit(path: Path, key: str, value: str | None) -> None:
    """Set a property of the table at *path*, or take it out."""
    file = path / ".hoodie" / "hoodie.properties"
    lines = [line for line in file.read_text().splitlines() if not line.startswith(f"{key}=")]
    file.write_text("\n".join(lines + ([] if value is None else [f"{key}={value}"])) + "\n")


def make_partition(table: Path, path: str) -> None:
    """Make the folder *path* a partition, as Hudi does with some that we do not begin."""
    if path:
        (table / path).mkdir(parents=True)
        (table / path / ".hoodie_partition_metadata").write_bytes(PARTITION_METADATA)


def new_table(path: Path, *, clock: Clock | None = None, sync: bool = False, **changes: Any) -> Table:
    """A table of SCHEMA, partitioned by p and ordered by ts unless *changes* say otherwise."""
    options = {"hudiformat.sync": str(sync), **changes.pop("options", {})}
    create(path, **changes, options=options)
    chosen = {key: value for key, value in options.items() if key not in TABLE_KEYS}
    return open_table(path, options=chosen, clock=clock or Clock())


def table_to_merge(path: Path) -> Table:
    """A merge-on-read table with log files alone: the keys a (changed to 10), b and c, in two partitions."""
    made = new_table(path, options={"hoodie.index.type": "INMEMORY"})
    made.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    made.upsert(rows(("c", 2, "y", 3), ("a", 2, "x", 10)))
    return made


def rows(*values: Row, schema: pa.Schema = SCHEMA) -> pa.Table:
    """Rows of *schema*; columns that a tuple is too short for are null."""
    width = len(schema.names)
    padded = [(*value, *(None,) * (width - len(value))) for value in values]
    return pa.Table.from_pylist([dict(zip(schema.names, value, strict=True)) for value in padded], schema)


def content(table: Table, columns: Sequence[str] = ("k", "ts", "p", "v"), **query: Any) -> list[Row]:
    """The table's rows, sorted."""
    found = table.snapshot(columns=list(columns), **query)
    return sorted(zip(*(found[name].to_pylist() for name in columns), strict=True), key=repr)


def tree(root: Path) -> dict[str, bytes]:
    """Every file below *root* and its bytes; folders end in ``/``."""
    return {
        str(path.relative_to(root)) + ("/" if path.is_dir() else ""): b"" if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }


def data_files(root: Path) -> list[str]:
    return [path for path in tree(root) if not path.startswith(".hoodie") and not path.endswith(("/", "_metadata"))]


def base_files_of(root: Path) -> dict[str, tuple[pa.Table, dict[bytes, bytes]]]:
    """The rows of each Parquet base file, and the texts of its footer."""
    found = {}
    for name in data_files(root):
        footer = pq.read_metadata(root / name)
        found[name] = (pq.read_table(root / name, partitioning=None), dict(footer.metadata or {}))
    return found


def multiset(table: pa.Table) -> Counter[str]:
    """The rows of *table*, whatever the order of rows, columns and struct fields."""
    names = sorted(table.column_names)
    return Counter(repr([_plain(row[name]) for name in names]) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted((key, _plain(item)) for key, item in value.items())
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class GoldenTable:
    """A folder with ``table/``, ``manifest.json`` and ``expected/``."""

    root: Path

    @property
    def table(self) -> Path:
        return self.root / "table"

    @property
    def manifest(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.root / "manifest.json").read_text())
        return content

    def answer(self, path: str) -> pa.Table:
        return pq.read_table(self.root / path)


def unpack(name: str, root: Path) -> GoldenTable:
    """The golden table *name*, unpacked in a folder of its own below *root* unless it is there already."""
    target = root / name
    if not target.exists():
        with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
            archive.extractall(target)
        for heartbeat in target.glob("table/.hoodie/.heartbeat/*"):
            os.utime(heartbeat, (0, 0))  # its writer has died since
    return GoldenTable(target)


def base_files(name: str) -> dict[str, pq.ParquetFile]:
    """The base files of a golden table's data, by their path."""
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        paths = [
            path
            for path in archive.namelist()
            if path.startswith("table/") and "/.hoodie" not in path and path.endswith(".parquet")
        ]
        return {path: pq.ParquetFile(pa.BufferReader(archive.read(path))) for path in paths}
