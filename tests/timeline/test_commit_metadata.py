from __future__ import annotations

import contextlib
import io
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import CorruptTableError, EncodeError
from hudiformat.timeline.commit_metadata import (
    CommitMetadata,
    RuntimeStats,
    WriteStat,
    decode_commit_metadata,
    encode_commit_json,
    encode_commit_metadata,
)
from hudiformat.timeline.plans import CompactionOperation, decode_compaction_plan
from hudiformat.timeline.records import schema_text

PATH = "/table/.hoodie/timeline/1_2.deltacommit"
SYNC = 16

LOG_STAT = WriteStat(
    file_id="a-0",
    path="p/.a-0_20240229120000007.log.1_0-1-2",
    prev_commit="20240229120000007",
    num_writes=3,
    num_update_writes=2,
    num_inserts=1,
    total_write_bytes=900,
    file_size_in_bytes=900,
    partition_path="p",
    log_version=1,
    log_offset=0,
    base_file="",
    log_files=(".a-0_20240229120000007.log.1_0-1-2",),
    runtime_stats=RuntimeStats(total_upsert_time=86),
)


def test_a_delta_commit_encodes_field_by_field() -> None:
    metadata = CommitMetadata("UPSERT", {"p": (LOG_STAT,)}, {"schema": "{}"})
    data = encode_commit_metadata(metadata)
    expected = b"".join(
        (
            b"Obj\x01\x02\x16avro.schema",  # one entry, whose key has 11 characters
            b"\xba\x33" + schema_text("HoodieCommitMetadata").encode() + b"\x00",  # 3293 characters; no more entries
        )
    )
    assert data.startswith(expected)
    body = data[len(expected) + SYNC : -SYNC]
    sync = data[-SYNC:]
    assert data[len(expected) : len(expected) + SYNC] == sync
    no, yes = b"\x00", b"\x02"  # branches of a union with null
    zero = yes + b"\x00"
    record = b"".join(
        (
            yes + b"\x02" + b"\x02p" + b"\x02",  # a map of one entry, its key, an array of one item
            yes + b"\x06a-0",
            yes + b"\x48p/.a-0_20240229120000007.log.1_0-1-2",
            yes + b"\x2220240229120000007",
            yes + b"\x06" + zero + yes + b"\x04" + yes + b"\x88\x0e" + zero,  # writes, deletes, updates, bytes
            yes + b"\x02p",
            zero + no + zero + yes + b"\x02",  # log records, log files, compacted, 1 insert
            zero * 3 + yes + b"\x88\x0e",  # blocks, corrupt, rollback, file size
            yes + b"\x02" + zero + yes + b"\x00",  # log version 1, offset 0, base file ""
            yes + b"\x02\x44.a-0_20240229120000007.log.1_0-1-2\x00",  # one log file
            no * 4,  # CDC, previous base file, event times
            yes + zero + zero + yes + b"\xac\x01",  # times: scan, create, upsert 86
            zero * 3 + no + zero,  # compacted logs, temporary path, updates
            b"\x00\x00",  # end of array and map
            yes + b"\x00",  # not compacted
            yes + b"\x02\x0cschema\x04{}\x00",
            b"\x02",  # no version: the union is the other way round
            yes + b"\x0cUPSERT",
        )
    )
    assert body == b"\x02" + bytes([(len(record) << 1 & 0x7F) | 0x80, len(record) >> 6]) + record
    assert decode_commit_metadata(data, path=PATH) == metadata
    assert encode_commit_metadata(metadata) == data


def timeline_files(golden_tables: dict[str, Path], *names: str) -> list[Path]:
    folders = (folder / "table" / ".hoodie" for folder in golden_tables.values())
    return [path for folder in folders for path in sorted(folder.rglob("*")) if path.name.split(".", 1)[-1] in names]


@pytest.mark.slow
def test_every_commit_of_the_golden_tables_comes_back(golden_tables: dict[str, Path]) -> None:
    same = json_files = 0
    pending = ("inflight", "deltacommit.inflight", "replacecommit.inflight")
    for path in timeline_files(golden_tables, "commit", "deltacommit", "replacecommit", *pending):
        data = path.read_bytes()
        metadata = decode_commit_metadata(data, path=str(path))
        encoded = encode_commit_metadata(metadata)
        if data.startswith(b"Obj\x01"):
            header = data.index(b"}\x00") + 2
            assert encoded[:header] == data[:header]
            assert encoded[header + SYNC : -SYNC] == data[header + SYNC : -SYNC]
            same += 1
        elif data:
            assert_the_same_json(json.loads(encode_commit_json(metadata)), json.loads(data))
            assert not metadata.extra
            # All that JSON holds and Avro does not.
            assert {key for stat in metadata.write_stats for key in stat.extra} <= {
                "recordsStats",
                "totalLogBlocksScanTimeMs",
                "totalLogBlocksSize",
                "totalValidLogBlocks",
            }
            again = decode_commit_metadata(encoded, path=str(path))
            assert again.operation_type == metadata.operation_type
            assert again.extra_metadata == metadata.extra_metadata
            assert [stat.path for stat in again.write_stats] == [stat.path for stat in metadata.write_stats]
            json_files += 1
    assert same > 200
    assert json_files > 100


def assert_the_same_json(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Equal but for counters that Hudi 0.15 does not write where they are 0."""
    our_stats, their_stats = ours.pop("partitionToWriteStats"), theirs.pop("partitionToWriteStats")
    assert ours == theirs
    assert our_stats.keys() == their_stats.keys()
    for partition, found in our_stats.items():
        for our, their in zip(found, their_stats[partition], strict=True):
            assert our == {"numUpdates": 0, "prevBaseFile": None, "totalLogReadTimeMs": 0, **their}


def test_replace_commits_name_the_groups_they_take_away(golden_tables: dict[str, Path]) -> None:
    files = timeline_files(golden_tables, "replacecommit")
    found = {path.name: decode_commit_metadata(path.read_bytes(), path=str(path)) for path in files}
    assert len(found) == 7
    assert all(metadata.partition_to_replace_file_ids for metadata in found.values())
    overwrite = found["20261121060641902.replacecommit"]  # JSON
    assert overwrite.partition_to_replace_file_ids == {"north": ("3761f2eb-1090-47d4-8bf8-f57eba96b4f1-0",)}
    clustering = found["20261121060111751_20261121060112360.replacecommit"]  # Avro
    assert (clustering.partition_to_replace_file_ids or {})["east"] == (
        "97ab7681-d1dd-473b-a4b3-21f9ed30ed76-2",
        "f729950f-b571-4df4-a418-8b8c4846b8f1-2",
    )


def test_the_replace_schema_is_hudis_too(golden_tables: dict[str, Path]) -> None:
    (path, *_) = timeline_files({"": golden_tables["v9-mor-clustered-h120"]}, "replacecommit")
    with path.open("rb") as file:
        assert fastavro.reader(file).metadata["avro.schema"] == schema_text("HoodieReplaceCommitMetadata")


def test_compaction_plans_name_what_they_merge(golden_tables: dict[str, Path]) -> None:
    (path,) = timeline_files({"": golden_tables["v9-mor-compaction-pending-h120"]}, "compaction.requested")
    group = "aac15a8f-77a0-4cd5-b43b-96af88e25cd9-0"
    (operation,) = decode_compaction_plan(path.read_bytes(), path=str(path)).operations or ()
    assert operation.metrics is not None
    assert operation == CompactionOperation(
        base_instant_time="20261121055648018",
        delta_file_paths=(f".{group}_20261121055648548.log.1_0-2864-5162",),
        data_file_path=f"{group}_0-2846-5145_20261121055648018.parquet",
        file_id=group,
        partition_path="",
        metrics=operation.metrics,
    )
    for other in timeline_files(golden_tables, "compaction.requested", "logcompaction.requested"):
        assert decode_compaction_plan(other.read_bytes(), path=str(other)).operations


def avro(record: Mapping[str, object], *fields: str, kind: object = "long", count: int = 1) -> bytes:
    schema = {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name in fields]}
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, [record] * count)
    return buffer.getvalue()


def test_a_plan_of_version_1_names_files_with_their_folder() -> None:
    operation = {
        "type": "record",
        "name": "o",
        "fields": [
            *({"name": name, "type": ["null", "string"]} for name in ("partitionPath", "fileId", "baseInstantTime")),
            {"name": "dataFilePath", "type": ["null", "string"]},
            {"name": "deltaFilePaths", "type": {"type": "array", "items": "string"}},
        ],
    }
    paths = {"dataFilePath": None, "deltaFilePaths": ["file:/t/p/.a_1.log.1"]}
    record = {"operations": [{"partitionPath": "p", "fileId": "a", "baseInstantTime": "1", **paths}]}
    data = avro(record, "operations", kind={"type": "array", "items": operation})
    expected = CompactionOperation("1", (".a_1.log.1",), None, "a", "p")
    assert decode_compaction_plan(data, path=PATH).operations == (expected,)


def test_an_empty_file_holds_no_metadata() -> None:
    assert decode_commit_metadata(b"", path=PATH) == CommitMetadata()
    assert CommitMetadata().schema is None


@pytest.mark.parametrize("data", [avro({"a": 1}, "a"), b"Obj\x01", b"", b"{}"])
def test_what_is_no_compaction_plan_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptTableError, match=f"{PATH}: expected"):
        decode_compaction_plan(data, path=PATH)


def test_a_container_without_a_record_is_refused() -> None:
    with pytest.raises(CorruptTableError, match="expected an Avro file with a record"):
        decode_commit_metadata(avro({}, "a", count=0), path=PATH)


@pytest.mark.parametrize("data", [b"Obj\x01", b"Obj\x01" + b"\xff" * 40, b"{", b"\xff", b"[" * 200_000])
def test_bytes_that_are_neither_avro_nor_json_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptTableError, match=PATH) as caught:
        decode_commit_metadata(data, path=PATH)
    assert caught.value.path == PATH


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ([], "expected a JSON object"),
        ({"partitionToWriteStats": []}, "expected dict for partitionToWriteStats"),
        ({"partitionToWriteStats": {"p": {}}}, "expected list for p"),
        ({"partitionToWriteStats": {"p": [1]}}, "expected dict for p"),
        ({"partitionToWriteStats": {"p": [{"fileId": 1}]}}, "expected str for file_id"),
        ({"partitionToWriteStats": {"p": [{"numWrites": "1"}]}}, "expected int for num_writes"),
        ({"partitionToWriteStats": {"p": [{"numWrites": True}]}}, "expected a number for num_writes"),
        ({"partitionToWriteStats": {"p": [{"logFiles": [1]}]}}, "expected str for log_files"),
        ({"partitionToWriteStats": {"p": [{"cdcStats": {"a": "b"}}]}}, "expected int for a"),
        ({"partitionToWriteStats": {"p": [{"runtimeStats": 1}]}}, "expected dict for runtime_stats"),
        ({"extraMetadata": {"a": 1}}, "expected str for a"),
        ({"operationType": 1}, "expected str for operationType"),
        ({"partitionToReplaceFileIds": {"p": "a"}}, "expected list for p"),
    ],
)
def test_values_of_another_type_than_hudis_are_refused(record: object, expected: str) -> None:
    with pytest.raises(CorruptTableError, match=expected):
        decode_commit_metadata(json.dumps(record).encode(), path=PATH)


def test_unknown_fields_of_json_are_kept() -> None:
    stat: dict[str, object] = {
        "fileId": "a",
        "numWrites": None,
        "path": None,
        "cdcStats": "p/x.cdc",
        "runtimeStats": {},
        "new": [1],
    }
    record = {
        "partitionToWriteStats": {"p": [stat]},
        "operationType": None,
        "extraMetadata": {"a": None},
        "more": {"b": 2},
    }
    metadata = decode_commit_metadata(json.dumps(record).encode(), path=PATH)
    assert metadata.extra == {"more": {"b": 2}}
    assert metadata.extra_metadata == {}
    assert metadata.operation_type is None
    expected = WriteStat("a", cdc_stats={"p/x.cdc": 0}, runtime_stats=RuntimeStats(), extra={"new": [1]})
    assert metadata.write_stats == (expected,)
    again = json.loads(encode_commit_json(metadata))
    assert again["more"] == {"b": 2}
    assert again["partitionToWriteStats"]["p"][0]["new"] == [1]


def test_a_number_that_avro_cannot_hold_is_refused() -> None:
    with pytest.raises(EncodeError, match="does not fit Hudi's schema"):
        encode_commit_metadata(CommitMetadata(partition_to_write_stats={"p": (WriteStat(num_writes=2**63),)}))


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
LONG = st.integers(-(2**63), 2**63 - 1)
NAME = TEXT.map(lambda text: f"x{text.replace('/', '').replace(chr(0), '')}")
PATH_OF_FILE = st.lists(NAME, min_size=1, max_size=3).map("/".join)
PARTITION = st.just("") | PATH_OF_FILE
STATS = st.builds(
    WriteStat,
    file_id=TEXT | st.none(),
    path=PATH_OF_FILE | st.none(),
    num_writes=LONG,
    total_log_files=LONG | st.none(),
    log_version=st.none() | st.integers(-(2**31), 2**31 - 1),
    log_files=st.none() | st.lists(TEXT).map(tuple),
    cdc_stats=st.none() | st.dictionaries(PATH_OF_FILE, LONG),
    runtime_stats=st.none() | st.builds(RuntimeStats, LONG, LONG, LONG),
)
METADATA = st.builds(
    CommitMetadata,
    TEXT | st.none(),
    st.dictionaries(PARTITION, st.lists(STATS, max_size=3).map(tuple), max_size=3),
    st.dictionaries(TEXT, TEXT, max_size=3),
    st.booleans(),
    st.none() | st.dictionaries(PARTITION, st.lists(TEXT, max_size=3).map(tuple), max_size=3),
)


@given(METADATA)
def test_metadata_survives_its_bytes(metadata: CommitMetadata) -> None:
    assert decode_commit_metadata(encode_commit_metadata(metadata), path=PATH) == metadata
    assert decode_commit_metadata(encode_commit_json(metadata), path=PATH) == metadata
    assert pickle.loads(pickle.dumps(metadata)) == metadata


SOUND = encode_commit_metadata(CommitMetadata("UPSERT", {"p": (LOG_STAT,)}, {"schema": "{}"}))


@given(st.integers(0, len(SOUND) - 1), st.integers(0, 255), st.booleans())
def test_damage_is_read_or_refused(position: int, byte: int, cut: bool) -> None:
    data = SOUND[:position] if cut else SOUND[:position] + bytes([byte]) + SOUND[position + 1 :]
    with contextlib.suppress(CorruptTableError):
        decode_commit_metadata(data, path=PATH)
