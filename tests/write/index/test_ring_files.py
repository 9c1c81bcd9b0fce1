"""The files of rings: which of them counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from hudiformat import CorruptTableError, StorageError
from hudiformat.file_group.slices import Visibility
from hudiformat.storage.local import LocalStorage
from hudiformat.write.index.hash_ring import HashRing, Node, first_ring, mark_committed, ring_of, save_ring
from tests.faults import READS, FaultyStorage

T = TypeVar("T")

FIRST = HashRing.first("x", 2)
_FOLDER = ".hoodie/.bucket_index/consistent_hashing_metadata/x"


def later(instant: str, prefix: str = "n") -> HashRing:
    return FIRST.after([Node(FIRST.nodes[0].value, f"{prefix}{instant}", "REPLACE")], instant)


def seen(*completed: str, first: str = "10", pending: tuple[str, ...] = ()) -> Visibility:
    return Visibility({time: time for time in completed}, first, frozenset(pending))


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    found = LocalStorage(tmp_path)
    assert first_ring(found, "x", 2) == FIRST
    return found


def names(storage: LocalStorage) -> list[str]:
    return [one.name for one in storage.list(_FOLDER)]


def test_a_partition_has_none_at_first(tmp_path: Path) -> None:
    assert ring_of(LocalStorage(tmp_path), "x", seen()) is None


def test_another_writers_first_ring_is_taken(storage: LocalStorage) -> None:
    assert first_ring(storage, "x", 5) == FIRST
    assert ring_of(storage, "x", seen()) == FIRST
    assert names(storage) == ["00000000000000.hashing_meta"]


def test_a_change_counts_once_its_clustering_is_completed(storage: LocalStorage) -> None:
    assert save_ring(storage, later("20"))
    assert not save_ring(storage, replace(later("20"), sequence=9))
    assert ring_of(storage, "x", seen(pending=("20",))) == FIRST
    assert ring_of(storage, "x", seen()) == FIRST  # rolled back
    assert "20.commit" not in names(storage)
    assert ring_of(storage, "x", seen("20")) == later("20")
    assert "20.commit" in names(storage)


def test_of_an_archived_change_the_empty_file_says_that_it_counts(storage: LocalStorage) -> None:
    save_ring(storage, later("20"))
    assert ring_of(storage, "x", seen(first="30")) == FIRST
    mark_committed(storage, "x", "20")
    assert ring_of(storage, "x", seen(first="30")) == later("20")
    assert ring_of(storage, "x", seen(first="30", pending=("20",))) == FIRST


def test_an_archived_change_without_it_counts_where_its_file_groups_are_there(storage: LocalStorage) -> None:
    save_ring(storage, later("20"))
    storage.create(f"x/{FIRST.nodes[1].file_id}_0-0-0_10.parquet", b"")  # which the ring before had, too
    assert ring_of(storage, "x", seen(first="30")) == FIRST
    storage.create("x/n20-0_0-0-0_20.parquet", b"")
    assert ring_of(storage, "x", seen(first="30")) == later("20")
    assert "20.commit" in names(storage)


def test_the_newest_of_several_counts(storage: LocalStorage) -> None:
    for instant in ("20", "30", "40"):
        save_ring(storage, later(instant))
    assert ring_of(storage, "x", seen("20", "30", pending=("40",))) == later("30")


def test_a_damaged_ring_is_named(storage: LocalStorage) -> None:
    storage.create(f"{_FOLDER}/00000000000000.hashing_meta", b"{", overwrite=True)
    with pytest.raises(CorruptTableError, match=r"00000000000000.hashing_meta: expected the buckets"):
        ring_of(storage, "x", seen())


class Refusal:
    """Nothing can be changed."""

    def run(self, what: str, action: Callable[[], T]) -> T:
        if what.partition(" ")[0] in READS:
            return action()
        raise StorageError(f"cannot {what}")


def test_a_ring_that_cannot_be_stored_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot create"):
        save_ring(FaultyStorage(LocalStorage(tmp_path), Refusal()), FIRST)
