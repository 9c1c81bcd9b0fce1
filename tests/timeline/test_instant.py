from __future__ import annotations

import contextlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import NameFormatError
from hudiformat.timeline import Action, Instant, State, parse_instant_name
from hudiformat.timeline.timeline import _BY_EXTENSION

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
def test_completed_files_of_layout_2_carry_their_completion_time(action: str) -> None:
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


def test_what_is_pending_may_complete_under_another_name() -> None:
    assert Action.COMPACTION.completed_as is Action.COMMIT
    assert Action.LOG_COMPACTION.completed_as is Action.DELTA_COMMIT
    assert Action.CLUSTERING.completed_as is Action.REPLACE_COMMIT
    assert Action.CLEAN.completed_as is Action.CLEAN


def test_an_instant_reads_well() -> None:
    assert str(Instant(T, Action.DELTA_COMMIT, State.INFLIGHT)) == f"{T} deltacommit (inflight)"


DIGITS = st.text("0123456789", min_size=1)


@given(DIGITS, st.none() | DIGITS, st.sampled_from(sorted(_BY_EXTENSION.values())))
def test_an_instant_survives_its_file_name(time: str, completion: str | None, kind: tuple[Action, State]) -> None:
    action, state = kind
    instant = Instant(time, action, state, completion if state is State.COMPLETED else None)
    assert parse_instant_name(instant.file_name, layout=2) == instant
    assert pickle.loads(pickle.dumps(instant)) == instant  # noqa: S301


@given(st.text() | st.from_regex(r"[0-9]{1,3}(_[0-9]{1,3})?\.(commit|inflight|clean)(\.requested|\.inflight)?"))
def test_any_name_is_accepted_exactly_or_refused(name: str) -> None:
    for layout in (1, 2):
        with contextlib.suppress(NameFormatError):
            assert parse_instant_name(name, layout=layout).file_name == name
