"""The table's own rules for the number of buckets."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import CorruptTableError, OptionError, Table, UnsupportedFeatureError, open_table
from tests.tables import content, edit, new_table, rows

KEY = "hoodie.bucket.index.partition.expressions"
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
CONFIGS = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"


def some(count: int) -> pa.Table:
    return rows(*((f"k{number}", 1, "xyz"[number % 3], number) for number in range(count)))


def ruled(path: Path) -> Table:
    return new_table(path, options={**BUCKETS, KEY: "^x,4;y$,1"})


def change(table: Table, name: str, **changes: object) -> None:
    folder = Path(table.path, CONFIGS)
    found = json.loads((folder / "00000000000000.hashing_config").read_text())
    (folder / name).write_text(json.dumps(found | changes))


def counts(table: Table) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in table.file_slices():
        found[one.partition_path] = found.get(one.partition_path, 0) + 1
    return found


def test_every_writer_follows_them(tmp_path: Path) -> None:
    table = ruled(tmp_path / "t")
    table.upsert(some(100))
    open_table(table.path).upsert(some(200))
    assert counts(table) == {"x": 4, "y": 1, "z": 2}
    assert len(content(table)) == 200


def test_the_newest_that_is_not_pending_counts(tmp_path: Path) -> None:
    table = ruled(tmp_path / "t")
    change(table, "00000000000001.hashing_config", expressions="z,4", defaultBucketNumber=1)
    edit(Path(table.path), KEY, None)
    open_table(table.path).upsert(some(100))
    assert counts(table) == {"x": 1, "y": 1, "z": 4}


def test_other_rules_than_the_tables_are_refused(tmp_path: Path) -> None:
    table = ruled(tmp_path / "t")
    change(table, "00000000000001.hashing_config", expressions="z,3")
    with pytest.raises(OptionError, match=r"expected 'z,3', as the table has it, found '\^x,4;y\$,1'"):
        table.upsert(some(5))
    assert not table.timeline.instants


@pytest.mark.parametrize("damage", [{"expressions": "z"}, {"defaultBucketNumber": "two"}])
def test_damaged_rules_are_named(tmp_path: Path, damage: dict[str, object]) -> None:
    table = ruled(tmp_path / "t")
    change(table, "00000000000001.hashing_config", **damage)
    with pytest.raises(CorruptTableError, match=r"000001.hashing_config: expected rules for the number of buckets"):
        table.upsert(some(5))


def test_rules_of_another_kind_are_refused(tmp_path: Path) -> None:
    table = ruled(tmp_path / "t")
    change(table, "00000000000001.hashing_config", rule="RANGE")
    with pytest.raises(UnsupportedFeatureError, match="expected rules of the kind .*, found RANGE"):
        table.upsert(some(5))
