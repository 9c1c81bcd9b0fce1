"""Building a partition of the metadata table: a base file for each file group that is given records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.errors import StorageError
from hudiformat.metadata_table.changes import KeyedRecords
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.records import metadata_record_schema
from hudiformat.timeline.timeline import load_timeline
from hudiformat.write.metadata.building import NewPartition, build_partition
from hudiformat.write.metadata.setting_up import make_metadata_table
from tests.tables import Clock, new_table


def build(path: Path, count: int, records: Iterable[KeyedRecords]) -> dict[str, dict[bytes, bytes]]:
    """The entries of each base file of a partition of *count* file groups, by its file id."""
    table = new_table(path)
    own, config = make_metadata_table(LocalStorage(path), table.config)
    schema = TableSchema(metadata_record_schema())
    partition = NewPartition.of("some", "some", count)
    build_partition(own, config, partition, records, time="20240101000000000", clock=Clock(), schema=schema)
    assert [str(one) for one in load_timeline(own, config).completed] == ["20240101000000000 deltacommit (completed)"]
    folder = path / ".hoodie/metadata/some"
    assert len(list(folder.glob(".some-*.log.1_0-0-0"))) == count
    return {file.name.partition("_")[0]: dict(HFileReader(file.read_bytes())) for file in folder.glob("*.hfile")}


def records(**found: str) -> KeyedRecords:
    return KeyedRecords.of({key: value.encode() for key, value in found.items()})


def test_the_last_record_of_a_key_counts(tmp_path: Path) -> None:
    found = build(tmp_path / "t", 1, [records(b="1", a="2"), records(), records(b="3")])
    assert found == {"some-0000-0": {b"a": b"2", b"b": b"3"}}


@pytest.mark.parametrize("count", [3, 300])
def test_records_go_to_the_file_group_of_their_key(tmp_path: Path, count: int) -> None:
    keys = [f"key {number}" for number in range(500)]
    batches = [records(**dict.fromkeys(keys[start : start + 50], "x")) for start in range(0, 500, 50)]
    found = build(tmp_path / "t", count, batches)
    assert sorted(key.decode() for entries in found.values() for key in entries) == sorted(keys)
    # Java: Math.abs("key 7".hashCode()) % 3 is 0, of "key 8" 1
    if count == 3:
        by_key = {key: file_id for file_id, entries in found.items() for key in entries}
        assert (by_key[b"key 7"], by_key[b"key 8"]) == (expected("key 7"), expected("key 8"))


def expected(key: str) -> str:
    number = 0
    for char in key:
        number = (number * 31 + ord(char)) & 0xFFFFFFFF
    signed = number - 2**32 if number >= 2**31 else number
    return f"some-{abs(signed) % 3:04d}-0"


def test_no_records_leave_file_groups_without_a_base_file(tmp_path: Path) -> None:
    assert build(tmp_path / "t", 2, []) == {}


def test_a_full_disk_is_an_error_of_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(pa.ipc, "new_stream", full)
    with pytest.raises(StorageError, match="no space left"):
        build(tmp_path / "t", 1, [records(a="1")])
