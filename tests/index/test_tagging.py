"""Which file group a record belongs to."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudiformat import HudiFormatWarning, Table, open_table
from hudiformat.index.rows import NOT_IN_BASE_FILE
from hudiformat.index.tagging import NEW, KnownKeys, PartitionIndex, Tags, bucket_tags, merged_tags
from tests.effort import examples
from tests.index.test_existing import STEPS, Steps
from tests.metadata_statistics import check_record_index
from tests.tables import FLAGGED, content, new_table, rows


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


PARTITIONED = {
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "false",
    "hudiformat.sync": "false",
}


class LaterSteps(Steps):
    """Steps whose rows are never older than a delete of their keys, which a row that is new to the index may be."""

    def __init__(self, tables: list[Table], random: Random) -> None:
        super().__init__(tables, random)
        self._deleted: set[tuple[str, str]] = set()

    def some(self) -> list[tuple[Any, ...]]:
        found = super().some()
        late = [
            (key, 4 + value if (key, path) in self._deleted else ts, path, value, gone)
            for key, ts, path, value, gone in found
        ]
        self._deleted.update((key, path) for key, _, path, _, gone in late if gone)
        return late


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    random=st.randoms(use_true_random=False),
    steps=st.lists(st.sampled_from(STEPS), min_size=2, max_size=7),
    kind=st.sampled_from(["MERGE_ON_READ", "COPY_ON_WRITE"]),
    often=st.booleans(),
)
def test_the_record_index_of_partitions_finds_what_reading_them_finds(
    tmp_path_factory: pytest.TempPathFactory, random: Random, steps: list[str], kind: str, often: bool
) -> None:
    path, policy = tmp_path_factory.mktemp("t"), {"hoodie.datasource.insert.dup.policy": "drop"}
    frequent = {"hoodie.metadata.compact.max.delta.commits": "2"} if often else {}
    arguments = {"table_type": kind, "schema": FLAGGED}
    own = new_table(path / "own", options={**PARTITIONED, **policy, **frequent}, **arguments)
    simple = new_table(path / "simple", options={"hoodie.index.type": "SIMPLE", **policy}, **arguments)
    both = LaterSteps([own, simple], random)
    for step in steps:
        if step == "roll back" and often:
            continue  # Hudi refuses a rollback of what a base file of the index has
        both.run(step)
        one, other = (content(table, ("_hoodie_partition_path", "k", "ts", "v")) for table in both.tables)
        assert one == other, step
        check_record_index(Path(own.path))


def test_no_record_key_of_the_table_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "t", options=PARTITIONED)
    table.upsert(rows(("a", 1, "x", 1), ("a", 1, "y/z", 1), ("b", 1, "x", 1)))
    monkeypatch.setattr(PartitionIndex, "_keys_of", None)
    commit = table.upsert(rows(("a", 2, "y/z", 2), ("c", 1, "y/z", 1), ("a", 2, "new", 1)))
    assert sum(stat.num_inserts for stat in commit.stats) == 2
    table.delete(rows(("b", 0, "x"), ("b", 0, "y/z"), ("c", 0, "nowhere")))
    assert content(table) == [("a", 1, "x", 1), ("a", 2, "new", 1), ("a", 2, "y/z", 2), ("c", 1, "y/z", 1)]
    check_record_index(tmp_path / "t")


@pytest.mark.parametrize("has_global", [False, True])
def test_without_such_an_index_the_keys_are_read(tmp_path: Path, has_global: bool) -> None:
    made = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": str(has_global).lower()}
    new_table(tmp_path / "t", options=made)
    table = open_table(tmp_path / "t", options={**PARTITIONED, "hoodie.metadata.record.level.index.enable": "false"})
    message = "has no partitioned record index: the keys of the rows' partitions are read, as with SIMPLE; create"
    with pytest.warns(HudiFormatWarning, match=message):
        table.upsert(rows(("a", 1, "x", 1)))
    with pytest.warns(HudiFormatWarning, match=message):
        table.upsert(rows(("a", 2, "x", 2), ("a", 1, "y", 3)))
    assert content(table) == [("a", 1, "y", 3), ("a", 2, "x", 2)]
