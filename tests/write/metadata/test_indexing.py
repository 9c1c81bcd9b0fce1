"""The records that an index begins with; that they are right is seen in tests/services/test_indexing.py."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hudiformat.services.indexing import create_index
from hudiformat.table.executor import Given, Result, TaskAttempt
from hudiformat.write.metadata.indexing import BuildLimits, IndexBuild
from tests.effort import sample
from tests.metadata_statistics import check_bloom_filters, check_metadata_table, check_record_index, check_statistics
from tests.tables import new_table, rows


def test_an_index_gets_more_file_groups_where_it_is_larger(tmp_path: Path) -> None:
    """The records of one file group are in memory at a time."""
    table = new_table(tmp_path / "t")
    table.upsert(rows(*((f"k{number}", 1, "x", 1) for number in range(100))))
    create_index(table._context, "record_index", limits=BuildLimits(group_bytes=1000))
    folder = tmp_path / "t/.hoodie/metadata/record_index"
    assert len(list(folder.glob(".record-index-*"))) == 13  # 128 bytes a row
    check_record_index(tmp_path / "t")
    table.upsert(rows(("k7", 2, "x", 1), ("new", 1, "y", 1)))
    check_record_index(tmp_path / "t")


def test_only_column_statistics_have_columns_in_their_definition(tmp_path: Path) -> None:
    state = new_table(tmp_path / "t")._context.state()
    found = {name: IndexBuild(state, name, state.options.indexing).definition for name in ("files", "column_stats")}
    assert found["files"] is None
    assert found["column_stats"] is not None
    assert found["column_stats"].fields[-4:] == ("k", "ts", "p", "v")


@pytest.mark.parametrize(
    ("name", "check"),
    sample(
        [
            ("files", check_metadata_table),
            ("column_stats", check_statistics),
            ("partition_stats", check_statistics),
            ("bloom_filters", check_bloom_filters),
            ("record_index", check_record_index),
        ],
        of=5,
    ),
)
@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_files_are_read_by_tasks_where_there_are_some(
    tmp_path: Path, name: str, check: Callable[[Path], None], at_once: int
) -> None:
    """What goes to tasks and comes back travels as bytes."""
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "SIMPLE"})
    table.insert(rows(*((f"k{number}", 1, f"p{number % 5}", number) for number in range(40))))
    table.upsert(rows(*((f"k{number}", 2, f"p{number % 5}", number) for number in range(0, 40, 3))))
    calls: list[int] = []

    class Elsewhere:
        def map(
            self, function: Callable[[Given, TaskAttempt], Result], given: Sequence[Given], *, name: str, alone: bool
        ) -> Iterator[Result]:
            assert (name, alone) == ("read files of t for an index", False)
            calls.append(len(given))
            sent = pickle.dumps((function, given))
            there, received = pickle.loads(sent)
            return iter([pickle.loads(pickle.dumps(there(one, TaskAttempt(0, 0)))) for one in received])

    limits = BuildLimits(portion_bytes=at_once)
    create_index(replace(table._context, executor=Elsewhere()), name, limits=limits)
    check(tmp_path / "t")
    reads = [] if name == "files" else [5] if at_once > 1 else []
    estimates = [5] if name in ("bloom_filters", "record_index") else []
    assert calls == [*estimates, *reads]
