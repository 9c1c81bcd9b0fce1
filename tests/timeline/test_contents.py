"""Plans and metadata of all actions: what Hudi wrote, what comes back, and what is refused."""

from __future__ import annotations

import io
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

from hudiformat.errors import CorruptTableError
from hudiformat.naming.checks import check_data_file, check_file_id, check_instant, check_partition_path
from hudiformat.storage.local import LocalStorage
from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.cleans import CleanerPlan, CleanMetadata
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.contents import content_kind, decode_content, encode_content, read_content
from hudiformat.timeline.plans import CompactionPlan, IndexCommitMetadata, IndexPlan, RequestedReplaceMetadata
from hudiformat.timeline.records import CHECK, decode_record_file, encode_record_file
from hudiformat.timeline.rollbacks import (
    InstantInfo,
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    RollbackPlan,
    RollbackRequest,
    SavepointMetadata,
)
from hudiformat.timeline.timeline import Action, Instant, State, instant_path, list_instants
from tests.effort import examples

pytestmark = pytest.mark.unmeasured

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


@pytest.mark.slow
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


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**31), 2**31 - 1),
    bool: st.booleans(),
    float: st.floats(allow_nan=False),
}
CHECKED: dict[Any, st.SearchStrategy[str]] = {
    check_instant: st.from_regex("[0-9]{1,20}", fullmatch=True),
    check_partition_path: st.sampled_from(["", "p", "year=2024/month=1", "%2F ü"]),
    check_data_file: st.sampled_from([".f-0_1.log.1_0-0-0", "f-0_0-0-0_1.parquet", "file:/a/b/f-0_0-0-0_1.parquet"]),
    check_file_id: st.sampled_from(["", "f-0", "00000001-0-0"]),
    None: TEXT,
}
"""Texts that pass a field's check."""


@cache
def values_of(hint: Any, check: Any = None) -> st.SearchStrategy[Any]:
    """Values of a field's type, with texts that pass its *check*."""
    arguments = get_args(hint)
    if get_origin(hint) is types.UnionType:
        return st.none() | values_of(arguments[0], check)
    if get_origin(hint) is tuple:
        return st.lists(values_of(arguments[0], check), max_size=2).map(tuple)
    if get_origin(hint) is Mapping:
        return st.dictionaries(CHECKED[check], values_of(arguments[1]), max_size=2)
    if hint is str:
        return CHECKED[check]
    if hint in SCALARS:
        return SCALARS[hint]
    hints = get_type_hints(hint)
    return st.builds(
        hint, **{field.name: values_of(hints[field.name], field.metadata.get(CHECK)) for field in fields(hint)}
    )


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
