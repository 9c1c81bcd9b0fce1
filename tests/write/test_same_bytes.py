"""The same rows, instants and options give the same files, byte for byte, as when ``same_bytes.json`` was made.

Where bytes have to change, ``python -m tests.write.test_same_bytes`` records them anew.  What a base file's bytes are
depends on pyarrow: with another version than that of the records, each table is only written twice and compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudiformat import Table, create_table, open_table
from hudiformat.api import streaming, table
from hudiformat.storage.local import LocalStorage
from hudiformat.table.options.keys import TABLE_KEYS
from hudiformat.table.options.values import IndexType
from hudiformat.timeline.table_config import TableType
from hudiformat.write.handles import base_files
from hudiformat.write.write import TaskLimits, write_rows
from tests.effort import sample
from tests.tables import FLAGGED, Clock, tree

pytestmark = pytest.mark.unmeasured

RECORDS = Path(__file__).with_name("same_bytes.json")
_INDEXED = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}
_BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
_KEPT_SHORT = {
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "5",
}
TABLES: dict[str, dict[str, Any]] = {
    "mor 8": {"table_type": "MERGE_ON_READ", "version": 8},
    "mor 6": {"table_type": "MERGE_ON_READ", "version": 6},
    "cow 9": {"table_type": "COPY_ON_WRITE"},
    "cow 6": {"table_type": "COPY_ON_WRITE", "version": 6},
    "mor 9, simple": {"table_type": "MERGE_ON_READ", "options": {"hoodie.index.type": "SIMPLE"}},
    "mor 9, buckets": {"table_type": "MERGE_ON_READ", "options": _BUCKETS},
    "mor 6, buckets": {"table_type": "MERGE_ON_READ", "version": 6, "options": _BUCKETS},
    "cow 9, buckets": {"table_type": "COPY_ON_WRITE", "options": _BUCKETS},
    "mor 9, record index": {
        "table_type": "MERGE_ON_READ",
        "options": {**_INDEXED, "hoodie.index.type": "RECORD_INDEX"},
    },
    "mor 6, metadata table": {"table_type": "MERGE_ON_READ", "version": 6, "options": _INDEXED},
    "cow 9, metadata table": {"table_type": "COPY_ON_WRITE", "options": _INDEXED},
    "mor 9, change data": {"table_type": "MERGE_ON_READ", "options": {"hoodie.table.cdc.enabled": "true"}},
    "mor 9, global": {"table_type": "MERGE_ON_READ", "options": {"hoodie.index.type": "GLOBAL_SIMPLE"}},
}


_SAVED = re.compile(rb"#Properties saved .*\n")


class _SomewhereFixed(LocalStorage):
    """A folder whose path in the table's files is always the same."""

    @property
    def root(self) -> str:
        return f"/tables{super().root.removeprefix(str(Path(super().root).parent))}"


def batch(number: int, count: int = 60) -> pa.Table:
    """Rows of the write *number*: some keys again, some new, one in seven flagged as a delete."""
    chosen = np.random.default_rng(number)
    keys = chosen.integers(0, 200, count)
    return pa.table(
        {
            "k": [f"key{key}" for key in keys],
            "ts": chosen.integers(0, 5, count) + number,
            "p": [f"p{key % 2}" for key in keys],
            "v": pa.array(chosen.integers(0, 1000, count), pa.int32()),
            "_hoodie_is_deleted": [number > 1 and int(key) % 7 == number % 7 for key in keys],
        },
        FLAGGED,
    )


def write_everything(table: Table) -> None:
    """Use every way in which a table is written."""
    table.insert(batch(0))
    for number in range(1, 4):
        table.upsert(batch(number))
    table.delete(batch(5, 10))
    if table._context.config.table_type is TableType.MERGE_ON_READ:
        table.compact()
    table.upsert(batch(6))
    if table._context.options.index_type is not IndexType.BUCKET:
        table.bulk_insert(batch(7))
        table.cluster()
    table.insert_overwrite(batch(8, 5))
    for number in range(9, 13):
        table.upsert(batch(number, 20))
    table.clean()


def digest(name: str, folder: Path) -> str:
    """The hash of all files of the table *name*, written in *folder*."""
    changes = dict(TABLES[name])
    options = {"hudiformat.sync": "False", **_KEPT_SHORT, **changes.pop("options", {})}
    storage, clock = _SomewhereFixed(folder / "t"), Clock()
    create_table(
        storage,
        name="t",
        schema=FLAGGED,
        record_key=["k"],
        ordering=["ts"],
        partition_by=["p"],
        options=options,
        clock=clock,
        **changes,
    )
    chosen = {key: value for key, value in options.items() if key not in TABLE_KEYS}
    write_everything(open_table(storage, options=chosen, clock=clock))
    content = hashlib.sha256()
    for path, data in tree(folder / "t").items():
        if path.endswith(".properties"):
            data = _SAVED.sub(b"", data)  # noqa: PLW2901 - the moment, by the machine's clock
        content.update(f"{path} {len(data)} ".encode() + hashlib.sha256(data).digest())
    return content.hexdigest()


@pytest.fixture(autouse=True)
def _few_files_are_left_to_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_files, "_LEAST_FILES", 8)


@pytest.fixture(autouse=True)
def nothing_takes_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cleans and rollbacks record how many milliseconds they took."""
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)


@pytest.mark.slow
@pytest.mark.all_sets
@pytest.mark.parametrize("name", sample(TABLES, of=4))
def test_the_same_rows_and_instants_give_the_same_files(name: str, tmp_path: Path) -> None:
    recorded = json.loads(RECORDS.read_text())
    found = digest(name, tmp_path / "one")
    is_comparable = recorded["pyarrow"] == pa.__version__
    assert found == (recorded["tables"][name] if is_comparable else digest(name, tmp_path / "two"))


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(TABLES, of=16))
def test_rows_that_come_in_many_parts_are_written_as_if_each_part_were_for_itself(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest_within(limits: TaskLimits, path: Path) -> str:
        for module in (table, streaming):
            monkeypatch.setattr(module, "write_rows", partial(write_rows, limits=limits))
        return digest(name, path)

    in_parts = TaskLimits(batch_rows=7, batches=1000)
    together = digest_within(in_parts, tmp_path / "one")
    assert digest_within(replace(in_parts, parts_of_a_block=1 << 40), tmp_path / "two") == together


def record() -> None:
    """Record what all tables are now."""
    time.monotonic = lambda: 0.0
    os.environ["TZ"] = "UTC"
    time.tzset()
    with TemporaryDirectory() as folder:
        found = {name: digest(name, Path(folder) / str(number)) for number, name in enumerate(TABLES)}
    RECORDS.write_text(json.dumps({"pyarrow": pa.__version__, "tables": found}, indent=1) + "\n")


if __name__ == "__main__":
    record()
