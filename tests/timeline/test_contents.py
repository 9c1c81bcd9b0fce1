"""Plans and metadata of all actions: what Hudi wrote, what comes back, and what is refused."""

from __future__ import annotations

import io
import re
import types
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.errors import CorruptTableError, EncodeError
from hudiformat.storage import LocalStorage
from hudiformat.timeline import (
    Action,
    ActionInstant,
    CleanerPlan,
    CleanFileInfo,
    CleanMetadata,
    CommitMetadata,
    CompactionPlan,
    IndexCommitMetadata,
    IndexPlan,
    Instant,
    InstantInfo,
    RequestedReplaceMetadata,
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    RollbackPartitionMetadata,
    RollbackPlan,
    RollbackRequest,
    SavepointMetadata,
    State,
    decode_content,
    encode_content,
    instant_path,
    list_instants,
    load_table_config,
    new_table_config,
    read_content,
)
from hudiformat.timeline.contents import content_kind
from hudiformat.timeline.records import decode_record_file, encode_record_file, schema_text
from tests.effort import examples

PATH = "/table/.hoodie/timeline/1.rollback.requested"
KINDS = (
    CleanerPlan,
    CleanMetadata,
    CompactionPlan,
    IndexCommitMetadata,
    IndexPlan,
    RequestedReplaceMetadata,
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    RollbackPlan,
    SavepointMetadata,
)


def test_every_file_of_the_golden_timelines_comes_back(golden_tables: dict[str, Path]) -> None:
    found: Counter[type] = Counter()
    for folder in golden_tables.values():
        storage = LocalStorage(folder / "table")
        config = load_table_config(storage)
        for instant in list_instants(storage, config.timeline_folder, layout=config.layout_version):
            content = read_content(storage, config, instant)
            if content is None:
                continue
            found[type(content)] += 1
            encoded = encode_content(content, config)
            assert decode_content(encoded, instant, path=PATH) == content
            theirs = storage.read(instant_path(config, instant))
            if not isinstance(content, CommitMetadata):
                assert_same_records(encoded, theirs)
    assert set(found) == {CommitMetadata, *KINDS} - {IndexPlan, IndexCommitMetadata}


def assert_same_records(ours: bytes, theirs: bytes) -> None:
    """Equal, but that Hudi 0.15 does not know every field that ours has."""
    (our,), (their,) = fastavro.reader(io.BytesIO(ours)), fastavro.reader(io.BytesIO(theirs))
    assert isinstance(our, dict)
    assert isinstance(their, dict)
    assert {key: our[key] for key in their} == their
    assert all(our[key] is None for key in our.keys() - their.keys())


def test_a_rollback_of_hudis_says_what_it_deletes(golden_tables: dict[str, Path]) -> None:
    storage = LocalStorage(golden_tables["v9-mor-failed-write-h120"] / "table")
    plan = read_content(
        storage, load_table_config(storage), Instant("20261121055543330", Action.ROLLBACK, State.REQUESTED)
    )
    log = "/tmp/w/gold/v9-mor-failed-write-h120/table/.c1d90134-28e4-4d0c-bde4-f3755990782c-0_20261121055541856.log.1_0-1502-2654"  # noqa: E501, S108
    assert plan == RollbackPlan(
        InstantInfo("20261121055541856", "deltacommit"),
        (RollbackRequest("", "c1d90134-28e4-4d0c-bde4-f3755990782c-0", "20261121055541856", (log,), {}),),
    )


def test_a_clean_of_hudis_says_how_far_it_went(golden_tables: dict[str, Path]) -> None:
    storage = LocalStorage(golden_tables["v6-mor-archived-h0150"] / "table")
    plan = read_content(
        storage, load_table_config(storage), Instant("20261121060654627", Action.CLEAN, State.REQUESTED)
    )
    assert isinstance(plan, CleanerPlan)
    assert plan.earliest_instant_to_retain == ActionInstant("20261121060653393", "deltacommit", "COMPLETED")
    assert plan.policy == "KEEP_LATEST_COMMITS"
    files = (plan.file_paths_to_be_deleted_per_partition or {})[""]
    assert len(files) == 2
    assert isinstance(files[0], CleanFileInfo)


def test_the_schemas_are_hudis_but_for_their_comments(golden_tables: dict[str, Path]) -> None:
    for table, name, record in (
        ("v9-mor-failed-write-h120", "20261121055543330_20261121055543472.rollback", "HoodieRollbackMetadata"),
        ("v9-mor-archived-h120", "20261121060124282_20261121060124368.clean", "HoodieCleanMetadata"),
    ):
        path = golden_tables[table] / "table" / ".hoodie" / "timeline" / name
        with path.open("rb") as file:
            assert fastavro.reader(file).metadata["avro.schema"] == schema_text(record)


def test_a_rollback_encodes_as_the_page_in_spec_says() -> None:
    metadata = RollbackMetadata(
        "2",
        5,
        1,
        ("1",),
        {"p": RollbackPartitionMetadata("p", ("f",))},
        instants_rollback=(InstantInfo("1", "commit"),),
    )
    data = encode_record_file(metadata)
    assert data.startswith(b"Obj\x01\x02\x16avro.schema")
    page = (Path(__file__).parents[2] / "spec" / "timeline.md").read_text("utf-8")
    example = page.split("The record's bytes:\n\n```\n", 1)[1].split("```", 1)[0]
    record = b"".join(bytes.fromhex(re.split(r"\s{2,}", line)[0]) for line in example.splitlines())
    assert data[:-16].endswith(b"\x02" + bytes([len(record) * 2]) + record)


@pytest.mark.parametrize(
    ("action", "state", "kind"),
    [
        (Action.COMMIT, State.REQUESTED, CommitMetadata),
        (Action.COMPACTION, State.REQUESTED, CompactionPlan),
        (Action.COMPACTION, State.INFLIGHT, CommitMetadata),
        (Action.CLEAN, State.INFLIGHT, CleanerPlan),
        (Action.REPLACE_COMMIT, State.INFLIGHT, CommitMetadata),
        (Action.REPLACE_COMMIT, State.COMPLETED, CommitMetadata),
        (Action.INDEXING, State.REQUESTED, IndexPlan),
        (Action.INDEXING, State.COMPLETED, IndexCommitMetadata),
        (Action.SAVEPOINT, State.COMPLETED, SavepointMetadata),
        (Action.SCHEMA_COMMIT, State.COMPLETED, CommitMetadata),
    ],
)
def test_action_and_state_say_what_a_file_holds(action: Action, state: State, kind: type) -> None:
    assert content_kind(Instant("1", action, state)) is kind


def container(record: Mapping[str, object], **kinds: object) -> bytes:
    schema = {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in kinds.items()]}
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, [record])
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        (RestorePlan, b"{}", "expected an Avro file"),
        (RestorePlan, container({"a": 1}, a="long"), "expected a RestorePlan: none of its fields is there"),
        (
            SavepointMetadata,
            container({"comments": ""}, comments="string"),
            "SavepointMetadata: there is no savepointedBy",
        ),
        (RestorePlan, container({"version": "1"}, version="string"), "RestorePlan: expected int, found str"),
        (
            RestorePlan,
            container({"instantsToRollback": ["1"]}, instantsToRollback={"type": "array", "items": "string"}),
            "expected dict, found str",
        ),
    ],
)
def test_a_file_of_something_else_is_refused(kind: type, data: bytes, expected: str) -> None:
    with pytest.raises(CorruptTableError, match=expected) as caught:
        decode_record_file(kind, data, path=PATH)
    assert caught.value.path == PATH


def test_a_field_that_a_file_lacks_has_its_default() -> None:
    plan = decode_record_file(RestorePlan, container({"version": 1, "new": 2}, version="int", new="long"), path=PATH)
    assert plan == RestorePlan((), 1, None)


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(EncodeError, match="does not fit Hudi's schema"):
        encode_record_file(RestorePlan(version=2**40))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**31), 2**31 - 1),
    bool: st.booleans(),
    float: st.floats(allow_nan=False),
}


@cache
def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    arguments = get_args(hint)
    if get_origin(hint) is types.UnionType:
        return st.none() | values_of(arguments[0])
    if get_origin(hint) is tuple:
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if get_origin(hint) is Mapping:
        return st.dictionaries(TEXT, values_of(arguments[1]), max_size=2)
    if hint in SCALARS:
        return SCALARS[hint]
    hints = get_type_hints(hint)
    return st.builds(hint, **{field.name: values_of(hints[field.name]) for field in fields(hint)})


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(20))  # of deep values
@given(data=st.data())
def test_contents_survive_their_bytes(kind: Any, data: st.DataObject) -> None:
    content = data.draw(values_of(kind))
    assert decode_record_file(kind, encode_record_file(content), path=PATH) == content


CONFIG = new_table_config(name="t", record_key_fields=[])
SOUND = encode_content(RollbackPlan(InstantInfo("1", "commit"), (RollbackRequest("p", "a", "1", ("f",)),)), CONFIG)


@given(st.integers(0, len(SOUND) - 1), st.integers(0, 255), st.booleans())
def test_damage_is_read_or_refused(position: int, byte: int, cut: bool) -> None:
    data = SOUND[:position] if cut else SOUND[:position] + bytes([byte]) + SOUND[position + 1 :]
    instant = Instant("1", Action.ROLLBACK, State.REQUESTED)
    try:
        found = decode_content(data, instant, path=PATH)
    except CorruptTableError:
        return
    assert found is None or isinstance(found, RollbackPlan)
