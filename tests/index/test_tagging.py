"""Which file group a record belongs to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.index.rows import NOT_IN_BASE_FILE
from hudiformat.index.tagging import NEW, KnownKeys, Tags, bucket_tags, merged_tags


def places(tags: Tags) -> list[tuple[int, str | None]]:
    """Each record with a file group it is tagged with."""
    return [
        (row, None if code == NEW else tags.file_ids[code])
        for row, code in zip(tags.rows.tolist(), tags.codes.tolist(), strict=True)
    ]


def test_a_bucket_has_the_file_group_that_is_there_or_a_new_one() -> None:
    groups = {3: ("three", True), 0: ("zero", False), 7: ("seven", False)}
    tags = bucket_tags(np.array([7, 3, 7, 0], np.int32), groups.__getitem__)
    assert places(tags) == [(0, "seven"), (1, "three"), (2, "seven"), (3, "zero")]
    assert dict(zip(tags.file_ids, tags.existing, strict=True)) == {"zero": False, "three": True, "seven": False}


def test_no_records_in_buckets() -> None:
    tags = bucket_tags(np.array([], np.int32), lambda bucket: (str(bucket), True))
    assert (places(tags), tags.file_ids, tags.existing) == ([], (), ())


def test_a_key_is_looked_up_in_every_file_group() -> None:
    known = {"f": pa.array(["a", "b"]), "g": pa.array([], pa.string()), "h": pa.array(["c"])}
    tags = KnownKeys(known).tag(pa.array(["c", "new", "a", "c"]))
    assert places(tags) == [(0, "h"), (1, None), (2, "f"), (3, "h")]
    assert tags.existing == (True, True, True)


def test_a_key_in_several_file_groups_belongs_to_each() -> None:
    known = {"f": pa.array(["a", "b", "a"]), "g": pa.array(["a"])}
    assert places(KnownKeys(known).tag(pa.array(["b", "a", "new"]))) == [(0, "f"), (1, "f"), (1, "g"), (2, None)]


def test_without_file_groups_every_record_is_new() -> None:
    assert places(KnownKeys({}).tag(pa.array(["a"]))) == [(0, None)]
    assert places(KnownKeys({"f": pa.array([], pa.string())}).tag(pa.array(["a"]))) == [(0, None)]


def test_no_records_to_look_up() -> None:
    assert places(KnownKeys({"f": pa.array(["a"])}).tag(pa.array([], pa.string()))) == []
    assert places(KnownKeys({}).tag(pa.array([], pa.string()))) == []


KEYS = st.lists(st.sampled_from("abcdef"), max_size=8)


@settings(deadline=None)
@given(KEYS, st.lists(KEYS, max_size=4))
def test_looking_up_is_looking_through_every_list(keys: list[str], groups: list[list[str]]) -> None:
    known = {f"g{i}": pa.array(group, pa.string()) for i, group in enumerate(groups)}
    expected: list[tuple[int, str | None]] = []
    for row, key in enumerate(keys):
        owners = [f"g{i}" for i, group in enumerate(groups) if key in group]
        expected += [(row, owner) for owner in owners] or [(row, None)]
    assert places(KnownKeys(known).tag(pa.array(keys, pa.string()))) == expected


@settings(deadline=None)
@given(KEYS, st.lists(KEYS, max_size=5), st.integers(0, 5))
def test_several_look_ups_say_what_one_says(keys: list[str], groups: list[list[str]], cut: int) -> None:
    known = {f"g{i}": pa.array(group, pa.string()) for i, group in enumerate(groups)}
    names = list(known)
    parts = [{name: known[name] for name in some} for some in (names[:cut], names[cut:], names[:1])]
    wanted = pa.array(keys, pa.string())
    tags = merged_tags([KnownKeys(part).tag(wanted) for part in parts], len(keys))
    assert places(tags) == places(KnownKeys(known).tag(wanted))
    assert all(tags.existing)


def test_no_look_up_finds_nothing() -> None:
    assert places(merged_tags([], 2)) == [(0, None), (1, None)]


def test_a_key_has_its_row_in_the_base_file_of_each_group() -> None:
    known = {"f": pa.array(["a", "b", "log"]), "g": pa.chunked_array([["c"], ["a"]])}
    tags = KnownKeys(known, {"f": 2, "g": 2}).tag(pa.array(["log", "b", "new", "a"]))
    assert places(tags) == [(0, "f"), (1, "f"), (2, None), (3, "f"), (3, "g")]
    assert tags.positions is not None
    assert tags.positions.tolist() == [NOT_IN_BASE_FILE, 1, NOT_IN_BASE_FILE, 0, 1]


def test_of_several_rows_with_one_key_the_first_counts() -> None:
    tags = KnownKeys({"f": pa.array(["b", "a", "b", "a", "b"])}, {"f": 4}).tag(pa.array(["a", "b"]))
    assert tags.positions is not None
    assert tags.positions.tolist() == [1, 0]


def test_positions_of_several_look_ups() -> None:
    wanted = pa.array(["c", "a", "new"])
    every = [KnownKeys({"f": pa.array(["a"])}, {"f": 1}), KnownKeys({"g": pa.array(["b", "c", "a"])}, {"g": 3})]
    tags = merged_tags([known.tag(wanted) for known in every], 3)
    assert places(tags) == [(0, "g"), (1, "f"), (1, "g"), (2, None)]
    assert tags.positions is not None
    assert tags.positions.tolist() == [1, 0, 2, NOT_IN_BASE_FILE]


def test_buckets_say_nothing_of_positions() -> None:
    assert bucket_tags(np.array([3], np.int32), lambda _: ("three", True)).positions is None
