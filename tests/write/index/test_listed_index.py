"""The partitioned record index says which file group a key belongs to."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudiformat import HudiFormatWarning, Table, open_table
from hudiformat.write.index.tagging import PartitionIndex
from tests.effort import BUSY, examples
from tests.metadata_statistics import check_record_index
from tests.tables import FLAGGED, content, new_table, rows
from tests.write.index.test_existing import STEPS, Steps

pytestmark = pytest.mark.unmeasured

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


@pytest.mark.slow
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[*BUSY, HealthCheck.function_scoped_fixture])
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
    arguments: dict[str, Any] = {"table_type": kind, "schema": FLAGGED}
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
