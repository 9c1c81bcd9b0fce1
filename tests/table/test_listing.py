"""A listing that shows less than the commits say is an error, in queries and in writes, and never fewer rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hudiformat import StorageError, Table, create_table, open_storage, open_table
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.protocol import Capabilities, FileInfo, Storage
from tests.tables import SCHEMA, Clock, rows

Hides = Callable[[str, FileInfo], bool]


class HidingStorage(FolderStorage):
    """A remote storage whose listings leave out some entries, which are there all the same."""

    hides: Hides

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(atomic_create=True, rename=True, append=True)

    def list(self, path: str) -> list[FileInfo]:
        return [entry for entry in super().list(path) if not self.hides(path, entry)]


def hiding(path: Path, hides: Hides) -> Storage:
    storage = HidingStorage(open_storage(path), "t")
    object.__setattr__(storage, "hides", hides)
    return storage


def is_data(entry: FileInfo) -> bool:
    return not entry.is_dir and not entry.name.startswith(".hoodie")


HIDDEN: dict[str, Hides] = {
    "folders": lambda path, entry: not path and entry.is_dir and not entry.name.startswith("."),
    "one folder": lambda path, entry: not path and entry.name == "y",
    "data files": lambda path, entry: path in ("x", "y") and is_data(entry),
    "base files": lambda path, entry: path == "y" and entry.name.endswith(".parquet") and is_data(entry),
}
WITHOUT = {"hoodie.metadata.enable": "false"}
TYPES = ("MERGE_ON_READ", "COPY_ON_WRITE")
QUERIES: Mapping[str, Callable[[Table], object]] = {
    "snapshot": lambda table: table.snapshot(),
    "count": lambda table: table.count(),
    "filter": lambda table: table.snapshot(filter="k = 'b'"),
    "scan": lambda table: table.scan().read_all(),
    "incremental": lambda table: table.incremental("000"),
    "delete": lambda table: table.delete(where="k = 'b'"),
    "update": lambda table: table.update({"v": "v + 1"}, where="k = 'b'"),
    "upsert": lambda table: table.upsert(rows(("b", 9, "y", 9))),
    "compact": lambda table: table.compact(),
}


@pytest.fixture(params=TYPES)
def table(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Table:
    made = create_table(
        tmp_path / "t",
        name="t",
        schema=SCHEMA,
        record_key="k",
        ordering="ts",
        partition_by="p",
        table_type=request.param,
        options=WITHOUT,
        clock=clock,
    )
    made.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    made.upsert(rows(("a", 2, "x", 2), ("b", 2, "y", 2)))
    made.upsert(rows(("a", 3, "x", 3)))
    return made


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("query", QUERIES)
def test_no_operation_passes_over_what_a_listing_hides(table: Table, tmp_path: Path, hidden: str, query: str) -> None:
    if query == "compact" and table.config.table_type.value == "COPY_ON_WRITE":
        pytest.skip("nothing to compact")
    before = table.snapshot().num_rows
    opened = open_table(hiding(tmp_path, HIDDEN[hidden]), options=WITHOUT, clock=table._context.clock)
    try:
        QUERIES[query](opened)
    except StorageError as error:
        assert "which a commit names, is there, but was not listed" in str(error)
    else:
        assert query in ("incremental", "upsert")  # they list single partitions, or none
    assert open_table(table.path).snapshot().num_rows == before
