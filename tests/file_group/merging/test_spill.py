"""Merges that do not fit into memory give the same rows, by way of files."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import DecodeError, StorageError, Table, open_table
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockHeader, HeaderKey
from hudiformat.file_group.base_file.read import to_base_rows
from hudiformat.file_group.merging.candidates import memory_of, read_candidates
from hudiformat.file_group.merging.rule import MergeRule, PartialUpdate
from hudiformat.file_group.merging.slice import merge_log_entries, merge_slice
from hudiformat.file_group.merging.spill import KeyParts, merge_on_disk
from hudiformat.timeline.table_config import MergeMode
from tests.file_group.merging.blocks import KEY, data, deletes, keys_of
from tests.tables import GoldenTable, multiset, new_table, rows


class Sum:
    """Adds what comes to what is there."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        return newer.set_column(newer.schema.names.index("n"), "n", pc.add(older["n"], newer["n"]))


SCHEMA = pa.schema([KEY, ("o", pa.int64()), ("n", pa.int64())])
EVENT = MergeMode.EVENT_TIME_ORDERING
RULES = {
    "event time": MergeRule(EVENT, keys_of, ("o",)),
    "commit time": MergeRule(MergeMode.COMMIT_TIME_ORDERING, keys_of),
    "partial": MergeRule(EVENT, keys_of, ("o",), partial=PartialUpdate(frozenset("n"))),
    "custom": MergeRule(MergeMode.CUSTOM, keys_of, merger=Sum()),
}


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def log(chance: random.Random, *, partial: bool) -> Iterator[LogBlock]:
    for _ in range(6):
        block = data([row(chance) for _ in range(20)], SCHEMA)
        yield block
        yield deletes([f"k{chance.randrange(60)}" for _ in range(3)], pa.array([None, 3, 9], pa.int64()))
        if partial:
            some = data([(key, o) for key, o, _ in (row(chance) for _ in range(9))], pa.schema(list(SCHEMA)[:2]))
            yield some._replace(header=BlockHeader({**some.header, HeaderKey.IS_PARTIAL: "true"}))


def row(chance: random.Random) -> tuple[str, int, int | None]:
    return f"k{chance.randrange(60)}", chance.randrange(9), chance.choice([None, 1, 2, 3])


def counted(batches: Iterator[pa.RecordBatch]) -> Counter[str]:
    return Counter(repr(found) for batch in batches for found in batch.to_pylist())


@pytest.mark.parametrize("partial", [False, True], ids=["whole", "partial records"])
@pytest.mark.parametrize("name", RULES)
def test_the_rows_are_the_same(name: str, scratch: Path, *, partial: bool) -> None:
    rule = RULES[name]
    chance = random.Random(f"{name}{partial}")
    blocks = list(log(chance, partial=partial and name != "custom"))
    base = pa.Table.from_pylist([dict(zip("kon", row(chance), strict=True)) for _ in range(50)], SCHEMA).to_batches(20)
    expected = counted(
        merge_slice(to_base_rows(base), merge_log_entries(read_candidates(blocks, SCHEMA, rule), rule), rule)
    )
    for memory in (1, memory_of(blocks) // 3, 10**9):
        assert (
            counted(merge_on_disk(to_base_rows(base), blocks, SCHEMA, rule, size=memory_of(blocks), memory=memory))
            == expected
        )
    assert list(scratch.iterdir()) == []


def test_files_are_taken_away_when_nobody_reads_on(scratch: Path) -> None:
    blocks = [data([(f"k{i}", 1, 1) for i in range(99)], SCHEMA)]
    batches = merge_on_disk([], blocks, SCHEMA, RULES["event time"], size=99, memory=1)
    next(batches)
    assert len(list(scratch.iterdir())) == 1
    batches.close()  # type: ignore[attr-defined]  # a generator
    assert list(scratch.iterdir()) == []


def test_files_are_taken_away_after_an_error(scratch: Path) -> None:
    block = data([("a", 1, 1)], SCHEMA)
    broken = block._replace(content=bytes(block.content)[:-1])
    with pytest.raises(DecodeError):
        list(merge_on_disk([], [block, broken], SCHEMA, RULES["event time"], size=99, memory=1))
    assert list(scratch.iterdir()) == []


def small_memory(path: str | Path) -> Table:
    return open_table(path, options={"hoodie.memory.merge.max.size": "1"})


@pytest.mark.parametrize("name", ["v9-mor-avro-h120", "v9-mor-parquetlog-h120", "v9-mor-partial-update-h120"])
def test_golden_tables_are_merged_on_disk_too(name: str, golden: Callable[[str], GoldenTable], scratch: Path) -> None:
    case = golden(name)
    assert multiset(small_memory(case.table).snapshot()) == multiset(case.answer("expected/snapshot.parquet"))


def test_the_option_says_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "t", partition_by=[])
    table.insert(rows(("a", 1), ("b", 1)))
    table.upsert(rows(("a", 2)))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert open_table(tmp_path / "t").snapshot(columns=["k", "ts"]).num_rows == 2
    with pytest.raises(StorageError, match="cannot keep rows that do not fit into memory"):
        small_memory(tmp_path / "t").snapshot()


def test_a_full_disk_is_a_storage_error(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    parts = KeyParts(tmp_path, 1)
    (tmp_path / "base-0").symlink_to("/dev/full")
    rows = pa.record_batch({"k": [f"key-{number}" * 100 for number in range(1000)]})
    with pytest.raises(StorageError, match=r"cannot keep rows .*No space left"):
        parts.add("base", rows, rows["k"])
