"""What the record index is given of an action."""

from __future__ import annotations

from datetime import timezone
from typing import Any

import pyarrow as pa

from hudiformat.codec.avro.values import decode_value, parse_value_schema
from hudiformat.metadata_table.changes import Change, KeyedRecords, Stored
from hudiformat.metadata_table.kinds.record_index import (
    PartitionedRecordIndexKind,
    RecordIndexKind,
    group_of_path,
    path_of_group,
)
from hudiformat.timeline.commit_metadata import IndexedFile, WriteStat
from tests.metadata_table.statistics import SCHEMA

KIND = RecordIndexKind(SCHEMA, timezone.utc)
TIME = "20261123000237074"
GROUP = "25df968d-4770-400a-b8a4-abfe40525311-0"


def stat(file_id: str, *keys: str, dropped: tuple[str, ...] = ()) -> WriteStat:
    written, lost = (pa.array(names, pa.string()) for names in (keys, dropped))
    return WriteStat(file_id=file_id, indexed=IndexedFile({}, None, written, lost))


def found(records: KeyedRecords) -> dict[str, Any]:
    schema = parse_value_schema(SCHEMA)
    decoded = [decode_value(value, schema)["recordIndexMetadata"] for value in records.values.to_pylist()]
    return dict(zip(records.keys.to_pylist(), decoded, strict=True))


def test_a_key_has_the_partition_the_file_group_and_the_moment() -> None:
    """As in a table of Hudi's."""
    records = KIND.records(Change(time=TIME, written={"p1": (stat(GROUP, "k"), WriteStat(file_id="other"))}))
    assert found(records) == {
        "k": {
            "partitionName": "p1",
            "fileIdHighBits": 2729065432742903818,
            "fileIdLowBits": -5141795766061083887,
            "fileIndex": 0,
            "fileId": "",
            "instantTime": 1795392157074,
            "fileIdEncoding": 0,
            "position": None,
        }
    }


def test_a_file_id_without_a_uuid_is_a_text() -> None:
    for name in ("group", "25df968d-4770-400a-b8a4-abfe40525311", f"{GROUP}x"):
        (record,) = found(KIND.records(Change(time=TIME, written={"": (stat(name, "k"),)}))).values()
        assert (record["fileId"], record["fileIdEncoding"], record["fileIndex"]) == (name, 1, -1)


def test_the_last_group_of_a_key_counts_and_keys_that_went_are_dropped_once() -> None:
    stats = (stat(GROUP, "a", "b", dropped=("c",)), stat("other", "a", dropped=("c", "d")))
    change = Change(time=TIME, written={"p": stats}, replaced_keys=lambda: [("q", pa.array(["d", "e"]))])
    records = KIND.records(change)
    assert {key: record["fileId"] for key, record in found(records).items()} == {"a": "other", "b": ""}
    assert sorted(records.dropped.to_pylist()) == ["c", "d", "e"]
    assert not KIND.records(Change(time=TIME))


def test_the_newest_record_counts_and_a_local_time_is_the_machines() -> None:
    one, other = Stored(b"1", SCHEMA), Stored(b"2", SCHEMA)
    assert KIND.is_plain
    assert KIND.merge("key", one, other) == other
    assert KIND.encode_base_record("key", other) == b"2"
    assert KIND.name == "record_index"
    local = RecordIndexKind(SCHEMA, None).records(Change(time=TIME, written={"p": (stat(GROUP, "k"),)}))
    assert abs(found(local)["k"]["instantTime"] - 1795392157074) <= 86_400_000


def test_a_partitioned_index_has_records_of_each_partition() -> None:
    change = Change(
        time=TIME,
        written={"p": (stat(GROUP, "a"),), "q": (stat(GROUP, "a", dropped=("b",)),), "new": (WriteStat(file_id="f"),)},
        replaced_keys=lambda: [("p", pa.array(["c"])), ("r", pa.array(["d"]))],
    )
    records = PartitionedRecordIndexKind(KIND).records(change)
    parts = {
        path: (
            part.keys.to_pylist(),
            [record["partitionName"] for record in found(part).values()],
            part.dropped.to_pylist(),
        )
        for path, part in records.parts.items()
    }
    assert parts == {"p": (["a"], ["p"], ["c"]), "q": (["a"], ["q"], ["b"]), "new": ([], [], []), "r": ([], [], ["d"])}
    assert records
    assert not PartitionedRecordIndexKind(KIND).records(Change())


def test_the_file_groups_of_a_partition_have_its_path_in_their_ids() -> None:
    assert group_of_path("p9/a b") == "record-index-p9%2Fa b-"
    for path in ("", "day=2024-02-29/x_1"):
        assert path_of_group(f"{group_of_path(path)}0000-0") == path
