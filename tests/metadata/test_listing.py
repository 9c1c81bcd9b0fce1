"""Listings out of metadata tables that are made here: which instants count, and every way in which one is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.blocks import data_block as any_block
from hudiformat.blocks import delete_block, encode_block, rollback_block
from hudiformat.errors import (
    CorruptBlockError,
    CorruptTableError,
    HudiFormatError,
    StorageError,
    TruncatedBlockError,
    UnsupportedFeatureError,
)
from tests.effort import examples
from tests.metadata.tables import ALL, GONE, MadeTable, data_block, restore_metadata, rollback_metadata, sizes

FIRST = "00000000000000000"
T1, T2, T3, T4, T5 = (f"202601010000{second:02d}000" for second in range(1, 6))


@pytest.fixture
def table(tmp_path: Path) -> MadeTable:
    """One that was set up, and has a file of one write."""
    made = MadeTable(tmp_path)
    made.base(FIRST, {ALL: {}})
    made.commit(T1, {ALL: {"p": 0}, "p": {"a": 1}})
    return made


def version_6(path: Path) -> MadeTable:
    """The same of version 6, where all log files carry the instant of their slice."""
    made = MadeTable(path, version=6)
    made.base(FIRST, {ALL: {}})
    made.log(FIRST, data_block(T1, {ALL: {"p": 0}, "p": {"a": 1}}))
    made.complete(T1)
    made.complete(T1, own=True)
    return made


# What is listed


def test_a_table_without_a_write_has_no_partitions(tmp_path: Path) -> None:
    made = MadeTable(tmp_path)
    made.base(FIRST, {ALL: {}})
    assert made.listing().partitions() == []
    assert made.listed() == {}


def test_partitions_and_files_are_sorted_and_known_by_their_size(table: MadeTable) -> None:
    table.commit(T2, {ALL: {"o": 0, "p": 0}, "o": {"z": 3, "y": 4}, "p": {"b": 2}})
    found = table.listing()
    assert found.partitions() == ["o", "p"]
    assert [(file.name, file.size, file.is_dir) for file in found.files("o")] == [("y", 4, False), ("z", 3, False)]
    assert table.listed() == {"o": {"y": 4, "z": 3}, "p": {"a": 1, "b": 2}}


def test_no_such_partition_has_no_files(table: MadeTable) -> None:
    assert table.listing().files("q") == []


def test_a_table_without_partitions_has_one(tmp_path: Path) -> None:
    made = MadeTable(tmp_path)
    made.base(FIRST, {ALL: {}})
    made.commit(T1, {ALL: {".": 0}, ".": {"a": 1}})
    assert made.listing().partitions() == [""]
    assert sizes(made.listing().files("")) == {"a": 1}
    assert made.listed() == {"": {"a": 1}}


def test_what_was_deleted_is_gone(table: MadeTable) -> None:
    table.commit(T2, {ALL: {"q": 0}, "p": {"a": GONE, "b": 2}, "q": {"c": 3}})
    table.commit(T3, {ALL: {"q": GONE}, "q": {"c": GONE}})
    assert table.listed() == {"p": {"b": 2}}
    assert table.listing().files("q") == []


def test_a_file_stays_gone_whose_size_was_told_twice(table: MadeTable) -> None:
    """Hudi merges the log blocks first, in which the file then leaves no trace, and finds it again in the base file."""
    table.base(T2, {ALL: {"p": 0}, "p": {"a": 1}})
    table.commit(T3, {"p": {"a": 5}})
    table.commit(T4, {"p": {"a": GONE}})
    assert table.listed() == {"p": {}}


def test_a_compaction_takes_the_place_of_what_was_before(table: MadeTable) -> None:
    table.base(T3, {ALL: {"p": 0}, "p": {"b": 2}})
    table.commit(T4, {"p": {"c": 3}})
    assert table.listed() == {"p": {"b": 2, "c": 3}}


def test_log_files_may_stand_without_a_base_file(tmp_path: Path) -> None:
    made = MadeTable(tmp_path)
    made.commit(T1, {ALL: {"p": 0}, "p": {"a": 1}})
    made.commit(T2, {"p": {"b": 2}})
    assert made.listed() == {"p": {"a": 1, "b": 2}}


def test_a_delete_block_takes_a_key_out_until_it_comes_again(table: MadeTable) -> None:
    table.log(T2, encode_block(delete_block(["p", "x"], instant=T2)))
    table.complete(T2, own=True)
    assert table.listing().files("p") == []
    assert table.listed() == {"p": {}}
    table.commit(T3, {"p": {"b": 2}})
    assert sizes(table.listing().files("p")) == {"b": 2}
    assert table.listed() == {"p": {"b": 2}}


# Which instants count


def test_what_is_pending_on_the_tables_own_timeline_does_not_count(table: MadeTable) -> None:
    table.log(T2, data_block(T2, {"p": {"b": 2}}))
    table.complete(T2, own=True)
    table.instant(table.path, f"{T2}.deltacommit.inflight")
    assert table.listed() == {"p": {"a": 1}}
    table.complete(T2)
    assert table.listed() == {"p": {"a": 1, "b": 2}}


def test_what_is_pending_on_the_metadata_tables_timeline_does_not_count(table: MadeTable) -> None:
    table.log(T2, data_block(T2, {"p": {"b": 2}}))
    table.instant(table.own, f"{T2}.deltacommit.inflight")
    assert table.listed() == {"p": {"a": 1}}


def test_a_write_and_its_rollback_both_count(table: MadeTable) -> None:
    table.log(T2, data_block(T2, {"p": {"b": 2}}))
    table.complete(T2, own=True)  # completed here, and then taken off the table's timeline
    assert table.listed() == {"p": {"a": 1, "b": 2}}
    table.log(T3, data_block(T3, {"p": {"b": GONE}}))
    table.complete(T3, own=True)
    table.complete(T3, "rollback", data=rollback_metadata(T2))
    assert table.listed() == {"p": {"a": 1}}


@pytest.mark.parametrize(
    ("action", "data"),
    [("rollback", rollback_metadata(T2)), ("restore", restore_metadata(T1, T2))],
    ids=["rollback", "restore"],
)
def test_an_archived_write_counts_when_it_was_rolled_back(tmp_path: Path, action: str, data: bytes) -> None:
    made = MadeTable(tmp_path)
    made.write(made.files / f"files-0000-0_0-0-0_{T1}.hfile").write_bytes(
        MadeTable(tmp_path / "other").base(T1, {ALL: {"p": 0}, "p": {"a": 1}}).read_bytes()
    )
    made.log(T2, data_block(T2, {"p": {"b": 2}}))
    made.commit(T3, {"p": {"c": 3}})
    assert made.listed() == {"p": {"a": 1, "c": 3}}
    made.complete(T5, action, data=data)
    assert made.listed() == {"p": {"a": 1, "b": 2, "c": 3}}


def test_rollbacks_before_the_last_compaction_are_not_read(table: MadeTable) -> None:
    table.complete(T2, "rollback", data=b"no Avro")
    table.base(T3, {ALL: {"p": 0}, "p": {"b": 2}})
    assert table.listed() == {"p": {"b": 2}}


def test_version_6_asks_for_the_instant_of_each_block(tmp_path: Path) -> None:
    made = version_6(tmp_path)
    made.log(FIRST, data_block(T2, {"p": {"b": 2}}), data_block(T3, {"p": {"c": 3}}), version=2)
    made.complete(T3)
    made.complete(T3, own=True)
    assert made.listed() == {"p": {"a": 1, "c": 3}}
    made.complete(T2)
    made.instant(made.own, f"{T2}.deltacommit.inflight")
    assert made.listed() == {"p": {"a": 1, "c": 3}}
    made.complete(T2, own=True)
    assert made.listed() == {"p": {"a": 1, "b": 2, "c": 3}}


def test_version_6_rolls_back_by_a_block(tmp_path: Path) -> None:
    made = version_6(tmp_path)
    made.log(FIRST, data_block(T2, {"p": {"b": 2}}), version=2)
    made.log(FIRST, encode_block(rollback_block(instant=T3, target=T2)), version=3)
    for time in (T2, T3):
        made.complete(time, own=True)
    assert made.listed() == {"p": {"a": 1}}


# What is refused


def no_properties(table: MadeTable) -> None:
    (table.own / ".hoodie" / "hoodie.properties").unlink()


def damaged_properties(table: MadeTable) -> None:
    (table.own / ".hoodie" / "hoodie.properties").write_text("hoodie.table.version=9")


def no_files(table: MadeTable) -> None:
    for path in table.files.iterdir():
        path.unlink()


def base_file_of_parquet(table: MadeTable) -> None:
    next(table.files.glob("*.hfile")).rename(table.files / f"files-0000-0_0-0-0_{FIRST}.parquet")


def base_file_without_schema(table: MadeTable) -> None:
    table.base(T2, {ALL: {}}, info={})


def base_file_that_breaks_off(table: MadeTable) -> None:
    path = table.base(T2, {ALL: {}})
    path.write_bytes(path.read_bytes()[:-1000])


def corrupt_block(table: MadeTable) -> None:
    table.log(T2, b"#HUDI#junk")
    table.complete(T2, own=True)


def block_of_avro(table: MadeTable) -> None:
    table.log(T2, encode_block(any_block(pa.record_batch({"key": ["p"]}), instant=T2)))
    table.complete(T2, own=True)


def no_list_of_partitions(table: MadeTable) -> None:
    table.base(T2, {"p": {"a": 1}})


def damaged_rollback(table: MadeTable) -> None:
    table.complete(T3, "rollback", data=b"no Avro")


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (no_properties, StorageError, "No such file"),
        (damaged_properties, CorruptTableError, "hoodie.table.name is missing"),
        (no_files, CorruptTableError, "metadata/files: expected a file slice, found none"),
        (base_file_of_parquet, UnsupportedFeatureError, r"\.parquet: expected an HFile"),
        (base_file_without_schema, CorruptTableError, "expected a schema in its file info"),
        (base_file_that_breaks_off, TruncatedBlockError, "an HFile ends with 4096 bytes"),
        (corrupt_block, CorruptBlockError, r"\.log\.1_0-0-0: "),
        (block_of_avro, UnsupportedFeatureError, "AVRO_DATA block in a metadata table: expected HFILE_DATA"),
        (no_list_of_partitions, CorruptTableError, "expected the key __all_partitions__"),
        (damaged_rollback, CorruptTableError, "expected an Avro file"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_damage_is_named(
    table: MadeTable, damage: Callable[[MadeTable], None], error: type[HudiFormatError], message: str
) -> None:
    assert table.listed() == {"p": {"a": 1}}
    damage(table)
    with pytest.raises(error, match=message):
        table.listing().partitions()


def test_a_pending_compaction_of_version_6_is_refused(tmp_path: Path) -> None:
    made = version_6(tmp_path)
    assert made.listed() == {"p": {"a": 1}}
    made.instant(made.own, f"{T2}.compaction.requested")
    with pytest.raises(UnsupportedFeatureError, match="pending compaction in a metadata table of version 6") as caught:
        made.listing()
    assert caught.value.feature == "pending compaction in a metadata table of version 6"


# Any story

names = st.sampled_from(["a", "b", "c"])
writes = st.dictionaries(st.sampled_from(["p", "q"]), st.dictionaries(names, st.sampled_from([1, 2, 3, GONE])))


@settings(max_examples=examples(40), deadline=None)
@given(history=st.lists(st.tuples(writes, st.booleans()), max_size=5))
def test_any_story_is_listed_as_it_was_told(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[dict[str, dict[str, int]], bool]]
) -> None:
    """Writes add files and delete files that are there; each may be followed by a compaction."""
    made = MadeTable(tmp_path_factory.mktemp("story"))
    made.base(FIRST, {ALL: {}})
    model: dict[str, dict[str, int]] = {}
    for number, (write, compacts) in enumerate(history):
        told: dict[str, dict[str, int]] = {}
        for path, files in write.items():
            now = model.setdefault(path, {})
            told[path] = {name: size for name, size in files.items() if size != GONE or name in now}
            for name, size in told[path].items():
                if size == GONE:
                    del now[name]
                else:
                    now[name] = max(size, now.get(name, 0))
        made.commit(f"202601010000{number * 2:02d}000", {ALL: dict.fromkeys(write, 0), **told})
        if compacts:
            made.base(f"202601010000{number * 2 + 1:02d}000", {ALL: dict.fromkeys(model, 0), **model})
    assert made.listed() == model
    found = made.listing()
    assert {path: sizes(found.files(path)) for path in found.partitions()} == model
