"""Instants, their file names and states, and the active timeline."""

from __future__ import annotations

import contextlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import CommitError, NameFormatError, StorageError
from hudiformat.storage.local import LocalStorage
from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.cleans import ActionInstant, CleanerPlan, CleanMetadata
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.contents import (
    complete_instant,
    create_requested,
    read_content,
    remove_pending,
    transition_inflight,
)
from hudiformat.timeline.plans import CompactionPlan
from hudiformat.timeline.rollbacks import SavepointMetadata, SavepointPartitionMetadata
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import (
    _BY_EXTENSION,
    Action,
    Instant,
    State,
    Timeline,
    load_timeline,
    parse_instant_name,
    read_metadata,
)

T, C = "20240229120000007", "20240229120001000"
BOTH_LAYOUTS = [
    (f"{T}.commit.requested", Action.COMMIT, State.REQUESTED),
    (f"{T}.inflight", Action.COMMIT, State.INFLIGHT),
    (f"{T}.commit", Action.COMMIT, State.COMPLETED),
    (f"{T}.deltacommit.requested", Action.DELTA_COMMIT, State.REQUESTED),
    (f"{T}.deltacommit.inflight", Action.DELTA_COMMIT, State.INFLIGHT),
    (f"{T}.deltacommit", Action.DELTA_COMMIT, State.COMPLETED),
    (f"{T}.compaction.requested", Action.COMPACTION, State.REQUESTED),
    (f"{T}.compaction.inflight", Action.COMPACTION, State.INFLIGHT),
    (f"{T}.logcompaction.requested", Action.LOG_COMPACTION, State.REQUESTED),
    (f"{T}.replacecommit.inflight", Action.REPLACE_COMMIT, State.INFLIGHT),
    (f"{T}.clean", Action.CLEAN, State.COMPLETED),
    (f"{T}.rollback.inflight", Action.ROLLBACK, State.INFLIGHT),
    (f"{T}.restore", Action.RESTORE, State.COMPLETED),
    (f"{T}.savepoint.inflight", Action.SAVEPOINT, State.INFLIGHT),
    (f"{T}.savepoint", Action.SAVEPOINT, State.COMPLETED),
    (f"{T}.indexing.requested", Action.INDEXING, State.REQUESTED),
    ("00000000000000010.deltacommit", Action.DELTA_COMMIT, State.COMPLETED),
]
NO_INSTANTS = [
    "",
    "hoodie.properties",
    f"{T}",
    f"{T}.",
    f"{T}.commits",
    f"{T}.commit.inflight",  # commits have a plain .inflight
    f"{T}.commit.completed",
    f"{T}.commit.crc",
    f".{T}.commit.crc",
    f"{T}.requested",
    f"{T}.compaction",  # completes as a commit
    f"{T}.logcompaction",
    f"{T}.clustering",
    f"{T}.savepoint.requested",
    f"{T}_.commit",
    f"_{C}.commit",
    f"{T}_{C}_{C}.commit",
    f"{T}.Commit",
    f"x{T}.commit",
    f"{T}.commit\n",
    f"{'٣' * 17}.commit",
]


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize(("name", "action", "state"), BOTH_LAYOUTS)
def test_the_names_of_both_layouts(name: str, action: Action, state: State, layout: int) -> None:
    instant = parse_instant_name(name, layout=layout)
    assert instant == Instant(name.split(".", maxsplit=1)[0], action, state)
    assert instant.file_name == name


@pytest.mark.parametrize("action", ["commit", "deltacommit", "replacecommit", "clean", "rollback", "indexing"])
def test_completed_files_of_layout_2_have_their_completion_time(action: str) -> None:
    name = f"{T}_{C}.{action}"
    instant = parse_instant_name(name, layout=2)
    assert instant == Instant(T, Action(action), State.COMPLETED, C)
    assert instant.file_name == name


@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize("name", NO_INSTANTS)
def test_other_files_are_refused(name: str, layout: int) -> None:
    with pytest.raises(NameFormatError, match="expected a timeline file"):
        parse_instant_name(name, layout=layout)


@pytest.mark.parametrize("name", [f"{T}_{C}.commit.requested", f"{T}_{C}.inflight", f"{T}_{C}.compaction.inflight"])
def test_a_pending_file_with_a_completion_time_is_refused(name: str) -> None:
    with pytest.raises(NameFormatError, match="has a completion time"):
        parse_instant_name(name, layout=2)


def test_layout_1_has_neither_completion_times_nor_clusterings() -> None:
    with pytest.raises(NameFormatError, match="has a completion time"):
        parse_instant_name(f"{T}_{C}.commit", layout=1)
    with pytest.raises(NameFormatError, match="calls clustering a replacecommit"):
        parse_instant_name(f"{T}.clustering.requested", layout=1)


def test_an_instant_that_has_no_file_has_no_name() -> None:
    for instant in (
        Instant(T, Action.COMPACTION, State.COMPLETED, C),
        Instant(T, Action.SAVEPOINT, State.REQUESTED),
        Instant(T, Action.COMMIT, State.INFLIGHT, C),
    ):
        with pytest.raises(NameFormatError, match="there is no file name"):
            _ = instant.file_name


def test_a_pending_action_may_complete_as_another() -> None:
    assert Action.COMPACTION.completed_as is Action.COMMIT
    assert Action.LOG_COMPACTION.completed_as is Action.DELTA_COMMIT
    assert Action.CLUSTERING.completed_as is Action.REPLACE_COMMIT
    assert Action.CLEAN.completed_as is Action.CLEAN


def test_the_text_of_an_instant() -> None:
    assert str(Instant(T, Action.DELTA_COMMIT, State.INFLIGHT)) == f"{T} deltacommit (inflight)"


DIGITS = st.text("0123456789", min_size=1)


@given(DIGITS, st.none() | DIGITS, st.sampled_from(sorted(_BY_EXTENSION.values())))
def test_an_instant_survives_its_file_name(time: str, completion: str | None, kind: tuple[Action, State]) -> None:
    action, state = kind
    instant = Instant(time, action, state, completion if state is State.COMPLETED else None)
    assert parse_instant_name(instant.file_name, layout=2) == instant
    assert pickle.loads(pickle.dumps(instant)) == instant


@given(st.text() | st.from_regex(r"[0-9]{1,3}(_[0-9]{1,3})?\.(commit|inflight|clean)(\.requested|\.inflight)?"))
def test_any_name_is_accepted_exactly_or_refused(name: str) -> None:
    for layout in (1, 2):
        with contextlib.suppress(NameFormatError):
            assert parse_instant_name(name, layout=layout).file_name == name


T1, T2, T3, T4 = ("20240229120000001", "20240229120000002", "20240229120000003", "20240229120000004")


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path)


@pytest.fixture
def config() -> TableConfig:
    return new_table_config(name="t", record_key_fields=["k"], ordering_fields=["ts"])


def done(time: str, completion: str | None, action: Action = Action.DELTA_COMMIT) -> Instant:
    return Instant(time, action, State.COMPLETED, completion)


def test_the_golden_timelines_are_those_that_hudi_reported(
    golden_tables: dict[str, Path], manifests: dict[str, Any]
) -> None:
    for name, folder in golden_tables.items():
        storage = LocalStorage(folder / "table")
        timeline = load_timeline(storage, load_table_config(storage))
        manifest = manifests[name]
        assert [(i.time, i.action.value, i.completion_time) for i in timeline.completed] == [
            (i["instant"], i["action"], i.get("completion")) for i in manifest["completed_instants"]
        ]
        assert {(i.time, i.action.value) for i in timeline.pending} == {
            (i["instant"], i["action"]) for i in manifest["pending_instants"]
        }


def test_a_pending_compaction_has_its_plan_in_the_requested_file(golden_tables: dict[str, Path]) -> None:
    for name in ("v9-mor-compaction-pending-h120", "v6-mor-compaction-pending-h120"):
        storage = LocalStorage(golden_tables[name] / "table")
        config = load_table_config(storage)
        (pending,) = load_timeline(storage, config).pending
        assert pending.action is Action.COMPACTION
        plan = read_content(storage, config, Instant(pending.time, pending.action, State.REQUESTED))
        assert isinstance(plan, CompactionPlan)
        assert plan.operations


def test_an_instant_is_in_its_newest_state() -> None:
    states = [Instant(T1, Action.COMPACTION, State.REQUESTED), Instant(T1, Action.COMPACTION, State.INFLIGHT)]
    completed = done(T1, T2, Action.COMMIT)
    assert Timeline.of([states[1], states[0]]).instants == (states[1],)
    assert Timeline.of([completed, *states]).instants == (completed,)


def test_two_actions_may_share_a_time() -> None:
    both = (done(T1, None), Instant(T1, Action.SAVEPOINT, State.INFLIGHT))
    assert Timeline.of(reversed(both)).instants == both


def test_the_instants_of_a_timeline_by_state_and_action() -> None:
    clean = done(T3, T4, Action.CLEAN)
    pending = Instant(T2, Action.DELTA_COMMIT, State.INFLIGHT)
    timeline = Timeline.of([clean, pending, done(T1, T3)])
    assert timeline.completed == (done(T1, T3), clean)
    assert timeline.completed_writes == (done(T1, T3),)
    assert timeline.pending == (pending,)
    assert timeline.latest_instant_time == T4
    assert timeline.first_active == T1


def test_an_empty_timeline_has_no_times() -> None:
    assert (Timeline().latest_instant_time, Timeline().first_active, Timeline().completed_writes) == (None, None, ())


def test_a_commit_with_a_savepoint_is_not_the_first_active_one() -> None:
    timeline = Timeline.of([done(T1, T2), done(T1, T2, Action.SAVEPOINT), done(T3, T4)])
    assert timeline.first_active == T3


def test_where_all_writes_have_savepoints_the_newest_is_the_first_active_one() -> None:
    saved = [done(T1, T2), done(T1, T2, Action.SAVEPOINT), done(T3, T4), done(T3, T4, Action.SAVEPOINT)]
    assert Timeline.of(saved).first_active == T3


def test_other_files_are_skipped(storage: LocalStorage, config: TableConfig) -> None:
    create_requested(storage, config, T1, Action.DELTA_COMMIT)
    for name in ("notes.txt", f"{T2}.unheardof", f".{T1}.deltacommit.requested.crc", f"history/{T2}.commit"):
        storage.create(f".hoodie/timeline/{name}", b"")
    (Path(storage.root) / ".hoodie" / "timeline" / f"{T3}.commit").mkdir()
    assert load_timeline(storage, config).instants == (Instant(T1, Action.DELTA_COMMIT, State.REQUESTED),)


def test_a_commit_goes_through_its_states(storage: LocalStorage, config: TableConfig) -> None:
    metadata = CommitMetadata("UPSERT", extra_metadata={"schema": "{}"})
    requested = create_requested(storage, config, T1, Action.DELTA_COMMIT)
    inflight = transition_inflight(storage, config, requested)
    assert load_timeline(storage, config).pending == (inflight,)
    assert read_metadata(storage, config, inflight) == CommitMetadata()
    instant = complete_instant(storage, config, inflight, metadata, completion_time=T2)
    assert [info.name for info in storage.list(".hoodie/timeline")] == [
        f"{T1}.deltacommit.inflight",
        f"{T1}.deltacommit.requested",
        f"{T1}_{T2}.deltacommit",
    ]
    timeline = load_timeline(storage, config)
    assert timeline.instants == (instant,)
    assert read_metadata(storage, config, instant) == metadata


def test_a_compaction_completes_as_a_commit(storage: LocalStorage, config: TableConfig) -> None:
    requested = create_requested(storage, config, T1, Action.COMPACTION)
    inflight = transition_inflight(storage, config, requested, CommitMetadata("COMPACT"))
    assert read_metadata(storage, config, inflight).operation_type == "COMPACT"
    instant = complete_instant(storage, config, inflight, CommitMetadata("COMPACT", compacted=True), completion_time=T2)
    assert instant == done(T1, T2, Action.COMMIT)
    assert load_timeline(storage, config).instants == (instant,)


def test_an_instant_can_be_requested_and_begun_only_once(storage: LocalStorage, config: TableConfig) -> None:
    requested = create_requested(storage, config, T1, Action.COMMIT)
    with pytest.raises(StorageError):
        create_requested(storage, config, T1, Action.COMMIT)
    transition_inflight(storage, config, requested)
    with pytest.raises(StorageError):
        transition_inflight(storage, config, requested)


def test_steps_cannot_be_left_out(storage: LocalStorage, config: TableConfig) -> None:
    requested = create_requested(storage, config, T1, Action.COMMIT)
    with pytest.raises(CommitError, match="expected an instant that is inflight, found .* commit \\(requested\\)"):
        complete_instant(storage, config, requested, CommitMetadata(), completion_time=T2)
    inflight = transition_inflight(storage, config, requested)
    with pytest.raises(CommitError, match="expected an instant that is requested"):
        transition_inflight(storage, config, inflight)


def test_a_write_that_was_rolled_back_cannot_complete(storage: LocalStorage, config: TableConfig) -> None:
    inflight = transition_inflight(storage, config, create_requested(storage, config, T1, Action.COMMIT))
    remove_pending(storage, config, inflight)
    assert load_timeline(storage, config).instants == ()
    with pytest.raises(CommitError, match="it has been rolled back"):
        complete_instant(storage, config, inflight, CommitMetadata(), completion_time=T2)


@pytest.mark.parametrize("completion_time", [T1, "", "20240229120000000"])
def test_nothing_completes_before_it_began(storage: LocalStorage, config: TableConfig, completion_time: str) -> None:
    inflight = transition_inflight(storage, config, create_requested(storage, config, T1, Action.COMMIT))
    with pytest.raises(CommitError, match="expected a time after"):
        complete_instant(storage, config, inflight, CommitMetadata(), completion_time=completion_time)


def test_a_completed_instant_cannot_be_removed(storage: LocalStorage, config: TableConfig) -> None:
    with pytest.raises(CommitError, match="is not pending"):
        remove_pending(storage, config, done(T1, T2))


def test_a_pending_savepoint_has_no_requested_file_to_remove(storage: LocalStorage, config: TableConfig) -> None:
    storage.create(f".hoodie/timeline/{T1}.savepoint.inflight", b"")
    remove_pending(storage, config, Instant(T1, Action.SAVEPOINT, State.INFLIGHT))
    assert load_timeline(storage, config).instants == ()


def test_a_commit_of_version_6_has_no_completion_time_and_is_json(storage: LocalStorage) -> None:
    config = new_table_config(name="t", record_key_fields=["k"], version=6)
    inflight = transition_inflight(storage, config, create_requested(storage, config, T1, Action.COMPACTION))
    instant = complete_instant(storage, config, inflight, CommitMetadata("COMPACT", compacted=True), completion_time=T2)
    assert instant == done(T1, None, Action.COMMIT)
    names = [f"{T1}.commit", f"{T1}.compaction.inflight", f"{T1}.compaction.requested"]
    assert [info.name for info in storage.list(".hoodie")] == names
    assert json.loads(storage.read(f".hoodie/{T1}.commit"))["compacted"] is True
    assert load_timeline(storage, config).by_completion_time == (instant,)


def test_layout_1_has_no_clustering(storage: LocalStorage) -> None:
    config = new_table_config(name="t", record_key_fields=["k"], version=6)
    with pytest.raises(CommitError, match="calls a clustering a replacecommit"):
        create_requested(storage, config, T1, Action.CLUSTERING)


def test_a_clean_has_its_plan_and_its_metadata(storage: LocalStorage, config: TableConfig) -> None:
    plan = CleanerPlan(ActionInstant(T1, "commit", "COMPLETED"), T1)
    requested = create_requested(storage, config, T2, Action.CLEAN, plan)
    metadata = CleanMetadata(T2, 5, 0, T1, T1, {})
    inflight = transition_inflight(storage, config, requested)
    instant = complete_instant(storage, config, inflight, metadata, completion_time=T3)
    found = [read_content(storage, config, each) for each in (requested, inflight, instant)]
    assert found == [plan, None, metadata]


def test_a_savepoint_begins_inflight(storage: LocalStorage, config: TableConfig) -> None:
    inflight = create_requested(storage, config, T1, Action.SAVEPOINT)
    assert inflight.state is State.INFLIGHT
    metadata = SavepointMetadata("me", 1709208000000, "", {"": SavepointPartitionMetadata("", ("a.parquet",))})
    instant = complete_instant(storage, config, inflight, metadata, completion_time=T2)
    assert load_timeline(storage, config).instants == (instant,)
    assert read_content(storage, config, instant) == metadata


def test_the_order_of_completion_is_not_that_of_requests() -> None:
    late, early = done(T1, T4), done(T2, T3)
    timeline = Timeline.of([late, early, Instant(T3, Action.COMMIT, State.INFLIGHT)])
    assert timeline.completed == (late, early)
    assert timeline.by_completion_time == (early, late)


TIMES = st.text("0123456789", min_size=1, max_size=4)
INSTANTS = st.builds(Instant, TIMES, st.sampled_from(Action), st.sampled_from(State))


@given(st.lists(INSTANTS), st.randoms(use_true_random=False))
def test_a_timeline_does_not_depend_on_the_order_of_its_files(instants: list[Instant], random: Any) -> None:
    shuffled = instants.copy()
    random.shuffle(shuffled)
    times = {(i.time, i.action.completed_as, i.state) for i in Timeline.of(instants).instants}
    assert times == {(i.time, i.action.completed_as, i.state) for i in Timeline.of(shuffled).instants}
