"""Flink's key groups: which task a file id or a record key belongs to."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from hudiformat import OptionError
from hudiformat.sizing import Parallelism, Task
from hudiformat.sizing.key_groups import murmur_hashes

HASHES = [
    (0, 593689054),
    (1, 68075478),
    (0xFFFFFFFF, 1982413648),
    (42, 1134849565),
    (123456789, 1088346449),
    (0xFFFFFFFF - 123456788, 1470798557),
    (0x7FFFFFFF, 1653689534),
    (0x80000000, 1718298732),
]
OWNERS = [  # of 4 tasks with 128 key groups, and of 7 with 4096
    ("00000000-0000-0000-0000-000000000000", 3, 6),
    ("00000000-0000-1eef-0000-000000019919", 2, 1),
    ("00000000-0000-3dde-0000-000000033232", 2, 0),
    ("00000000-0000-5ccd-0000-00000004cb4b", 3, 6),
    ("00000000-0000-7bbc-0000-000000066464", 0, 6),
    ("00000000-0000-9aab-0000-00000007fd7d", 1, 1),
    ("00000000-0000-d889-0000-0000000b2faf", 0, 4),
]


@pytest.mark.parametrize(("code", "expected"), HASHES)
def test_flinks_hash_is_what_flink_1_20_computes(code: int, expected: int) -> None:
    assert murmur_hashes(np.array([code], np.uint32)).tolist() == [expected]


@pytest.mark.parametrize(("file_id", "of_four", "of_seven"), OWNERS)
def test_a_file_ids_task_is_the_one_that_flink_1_20_names(file_id: str, of_four: int, of_seven: int) -> None:
    assert [number for number in range(4) if Task(number, 4).owns(file_id)] == [of_four]
    assert [number for number in range(7) if Task(number, 7, 4096).owns(file_id)] == [of_seven]


def test_a_column_of_ids_has_the_owners_of_each() -> None:
    ids = pa.array([file_id for file_id, _, _ in OWNERS])
    assert Parallelism.of(4).owners(ids).tolist() == [four for _, four, _ in OWNERS]
    assert Parallelism(7, 4096).owners(ids).tolist() == [seven for _, _, seven in OWNERS]
    assert [Parallelism(7, 4096).owner(one.as_py()) for one in ids] == [seven for _, _, seven in OWNERS]
    assert Parallelism.of(1).owners(ids).tolist() == [0] * len(ids)
    assert Parallelism.of(3).owners(pa.array([], pa.string())).tolist() == []


def test_a_column_of_hash_codes_has_the_hashes_of_each() -> None:
    assert murmur_hashes(np.array([code for code, _ in HASHES], np.uint32)).tolist() == [one for _, one in HASHES]


@pytest.mark.parametrize(
    ("tasks", "key_groups"), [(1, 128), (85, 128), (86, 256), (128, 256), (200, 512), (32_768, 32_768)]
)
def test_more_tasks_have_more_key_groups_as_flink_computes_them(tasks: int, key_groups: int) -> None:
    assert Parallelism.of(tasks) == Parallelism(tasks, key_groups)


@pytest.mark.parametrize("tasks", [0, -1, 32_769])
def test_a_number_of_tasks_that_cannot_be_is_refused(tasks: int) -> None:
    with pytest.raises(OptionError, match=f"hudiformat.sizing.tasks: expected 1 to 32768 tasks, found {tasks}"):
        Parallelism.of(tasks)


def test_the_number_of_tasks_travels() -> None:
    assert pickle.loads(pickle.dumps(Parallelism.of(4))) == Parallelism.of(4)
