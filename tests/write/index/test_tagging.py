"""Which file group a record belongs to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.schema.table_schema import RowKeys
from hudiformat.storage.threads import WorkThreads
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.plan import write_plan
from hudiformat.write.index.known_keys import GroupKeys, KnownKeys
from hudiformat.write.index.tagging import PartitionIndex, Tagger, merge_locations
from hudiformat.write.rows import NEW, NOT_IN_BASE_FILE, KeyedRows, LocatedRows, Locations
from hudiformat.write.write import TaskLimits
from tests.tables import new_table, rows
from tests.write.support import write_within


def places(tags: Locations) -> list[tuple[int, str | None]]:
    """Each record with a file group it is tagged with."""
    return [
        (row, None if code == NEW else tags.file_ids[code])
        for row, code in zip(tags.rows.tolist(), tags.codes.tolist(), strict=True)
    ]


def group_keys(base: pa.Array, logged: pa.Array, among: pa.Array | None = None) -> GroupKeys:
    found = GroupKeys(among=among)
    for start in range(0, len(base), 2):
        found.add_base(base[start : start + 2])
    found.add_logged(logged)
    return found


def known_keys(groups: dict[str, pa.Array], base_rows: dict[str, int] | None = None) -> KnownKeys:
    """The keys of file groups; *base_rows* says how many of them are in the base file, if not all."""
    rows = {name: len(keys) for name, keys in groups.items()} if base_rows is None else base_rows
    return KnownKeys({name: group_keys(keys[: rows[name]], keys[rows[name] :]) for name, keys in groups.items()})


def test_a_key_is_looked_up_in_every_file_group() -> None:
    known = {"f": pa.array(["a", "b"]), "g": pa.array([], pa.string()), "h": pa.array(["c"])}
    tags = known_keys(known).locate(pa.array(["c", "new", "a", "c"]))
    assert places(tags) == [(0, "h"), (1, None), (2, "f"), (3, "h")]
    assert tags.existing == (True, True, True)


def test_a_key_in_several_file_groups_belongs_to_each() -> None:
    known = {"f": pa.array(["a", "b", "a"]), "g": pa.array(["a"])}
    assert places(known_keys(known).locate(pa.array(["b", "a", "new"]))) == [(0, "f"), (1, "f"), (1, "g"), (2, None)]


def test_without_file_groups_every_record_is_new() -> None:
    assert places(known_keys({}).locate(pa.array(["a"]))) == [(0, None)]
    assert places(known_keys({"f": pa.array([], pa.string())}).locate(pa.array(["a"]))) == [(0, None)]


def test_no_records_to_look_up() -> None:
    assert places(known_keys({"f": pa.array(["a"])}).locate(pa.array([], pa.string()))) == []
    assert places(known_keys({}).locate(pa.array([], pa.string()))) == []


KEYS = st.lists(st.sampled_from("abcdef"), max_size=8)


@settings(deadline=None)
@given(KEYS, st.lists(KEYS, max_size=4))
def test_looking_up_is_looking_through_every_list(keys: list[str], groups: list[list[str]]) -> None:
    known = {f"g{i}": pa.array(group, pa.string()) for i, group in enumerate(groups)}
    expected: list[tuple[int, str | None]] = []
    for row, key in enumerate(keys):
        owners = [f"g{i}" for i, group in enumerate(groups) if key in group]
        expected += [(row, owner) for owner in owners] or [(row, None)]
    assert places(known_keys(known).locate(pa.array(keys, pa.string()))) == expected


@settings(deadline=None)
@given(KEYS, st.lists(KEYS, max_size=5), st.integers(0, 5))
def test_several_look_ups_say_what_one_says(keys: list[str], groups: list[list[str]], cut: int) -> None:
    known = {f"g{i}": pa.array(group, pa.string()) for i, group in enumerate(groups)}
    names = list(known)
    parts = [{name: known[name] for name in some} for some in (names[:cut], names[cut:], names[:1])]
    wanted = pa.array(keys, pa.string())
    tags = merge_locations([known_keys(part).locate(wanted) for part in parts], len(keys))
    assert places(tags) == places(known_keys(known).locate(wanted))
    assert all(tags.existing)


def test_no_look_up_finds_nothing() -> None:
    assert places(merge_locations([], 2)) == [(0, None), (1, None)]


def test_a_key_has_its_row_in_the_base_file_of_each_group() -> None:
    known = {"f": pa.array(["a", "b", "log"]), "g": pa.array(["c", "a"])}
    tags = known_keys(known, {"f": 2, "g": 2}).locate(pa.array(["log", "b", "new", "a"]))
    assert places(tags) == [(0, "f"), (1, "f"), (2, None), (3, "f"), (3, "g")]
    assert tags.positions is not None
    assert tags.positions.tolist() == [NOT_IN_BASE_FILE, 1, NOT_IN_BASE_FILE, 0, 1]


def test_of_several_rows_with_one_key_the_first_counts() -> None:
    tags = known_keys({"f": pa.array(["b", "a", "b", "a", "b"])}, {"f": 4}).locate(pa.array(["a", "b"]))
    assert tags.positions is not None
    assert tags.positions.tolist() == [1, 0]


def test_positions_of_several_look_ups() -> None:
    wanted = pa.array(["c", "a", "new"])
    every = [known_keys({"f": pa.array(["a"])}, {"f": 1}), known_keys({"g": pa.array(["b", "c", "a"])}, {"g": 3})]
    tags = merge_locations([known.locate(wanted) for known in every], 3)
    assert places(tags) == [(0, "g"), (1, "f"), (1, "g"), (2, None)]
    assert tags.positions is not None
    assert tags.positions.tolist() == [1, 0, 2, NOT_IN_BASE_FILE]


@settings(deadline=None)
@given(KEYS, KEYS, KEYS)
def test_keys_that_are_searched_for_have_the_rows_of_a_full_look_up(
    keys: list[str], base: list[str], logged: list[str]
) -> None:
    chunks = (pa.array(base, pa.string()), pa.array(logged, pa.string()))
    full, some = group_keys(*chunks), group_keys(*chunks, among=pa.array(keys, pa.string()))
    every = zip(full.keys.to_pylist(), full.positions.tolist(), strict=True)
    found = list(zip(some.keys.to_pylist(), some.positions.tolist(), strict=True))
    assert found == [one for one in every if one[0] in keys]


@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM"])
def test_a_slice_is_kept_once_a_second_batch_asks_for_it(tmp_path: Path, index: str) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": index})
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "x", 1)))
    table.upsert(rows(("b", 2, "x", 2)))
    state = table._context.state()
    plan = write_plan(state, Operation.UPSERT, "20991231000000000")
    partition = PartitionIndex(table._context.storage, plan, "x")
    asked = [["a", "new"], ["b", "c"], ["c"], ["new"]]
    found = [partition.locate_keys(pa.array(keys)) for keys in asked]
    assert [[None if code == NEW else 0 for code in tags.codes] for tags in found] == [[0, None], [0, 0], [0], [None]]
    assert [tags.positions.tolist() for tags in found if tags.positions is not None] == [[0, -1], [1, 2], [2], [-1]]


@pytest.mark.parametrize("in_one", [True, False])
def test_the_rows_of_a_piece_are_copied_in_one_or_for_each_partition(tmp_path: Path, in_one: bool) -> None:
    table = new_table(tmp_path)
    table.insert(rows(("a", 1, "p0", 5)))
    state = table._context.state_with_schema()
    given = [(f"k{number}", number, f"p{number % 3}", 5) for number in range(9)]
    data = rows(*given).combine_chunks()
    keyed = KeyedRows.of(RowKeys.of(state.config), data.to_batches()[0])
    found = list(
        Tagger(state.storage, write_plan(state, Operation.INSERT, "20260101000000000")).locate(keyed, in_one=in_one)
    )
    assert {one.path: one.keys.to_pylist() for one in found} == {
        f"p{place}": [f"k{number}" for number in range(place, 9, 3)] for place in range(3)
    }
    assert all(one.rows.column(0).to_pylist() == one.keys.to_pylist() for one in found)
    assert len({one.rows.column(0).buffers()[2].address for one in found}) == (1 if in_one else 3)


@pytest.mark.parametrize(("partitions", "in_one", "apart"), [(3, True, True), (1, True, False), (3, False, False)])
def test_keys_of_several_partitions_are_looked_up_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int, in_one: bool, apart: bool
) -> None:
    table = new_table(tmp_path, options={"hoodie.index.type": "SIMPLE"})
    given = rows(*((f"k{number}", number, f"p{number % partitions}", 5) for number in range(9)))
    table.insert(given)
    state = table._context.state_with_schema()
    keyed = KeyedRows.of(RowKeys.of(state.config), given.combine_chunks().to_batches()[0])
    seen: set[int] = set()
    look_up = PartitionIndex.locate_keys

    def noting(index: PartitionIndex, keys: pa.Array) -> Locations:
        seen.add(threading.get_ident())
        return look_up(index, keys)

    monkeypatch.setattr(PartitionIndex, "locate_keys", noting)
    workers = WorkThreads(2)
    tagger = Tagger(state.storage, write_plan(state, Operation.UPSERT, "20260101000000000"), threads=workers)
    found = list(tagger.locate(keyed, in_one=in_one))
    workers.stop()
    assert [one.path for one in found] == [f"p{place}" for place in range(partitions)]
    assert all(one.positions is not None and one.positions.tolist() == [*range(len(one))] for one in found)
    assert (threading.get_ident() not in seen) is apart


def test_a_write_that_does_not_fit_in_memory_copies_the_rows_of_each_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    locate = Tagger.locate

    def noting(tagger: Tagger, piece: KeyedRows, *, in_one: bool = False) -> Iterator[LocatedRows]:
        asked.append(in_one)
        return locate(tagger, piece, in_one=in_one)

    monkeypatch.setattr(Tagger, "locate", noting)
    table = new_table(tmp_path)
    data = rows(*((f"k{number}", 1, f"p{number % 3}", 5) for number in range(90)))
    for most in (data.nbytes, data.nbytes - 1):
        write_within(TaskLimits(max_buffered=most, batch_rows=10, batches=16), table, Operation.UPSERT, data)
    assert asked == [True] * 9 + [False] * 9
