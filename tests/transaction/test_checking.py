"""What a write looks at last: its instant, and its files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hudiformat import CommitError, Table, WriteConflictError, open_storage
from hudiformat.storage import Capabilities, Storage
from hudiformat.timeline import CommitMetadata
from hudiformat.transaction.checking import check_publishable
from tests.tables import content, rows
from tests.transaction.support import begun, shared_table


def test_a_file_that_is_gone_or_has_another_size_is_not_committed(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    before = content(table)
    for damage, message in ((Path.unlink, "it does not exist"), (truncate, "it has 3")):
        write, stats = begun(table, ("a", 2, "x", 2))
        damage(Path(table.path) / str(stats[0].path))
        expected = f"{stats[0].path}: .*{stats[0].file_size_in_bytes} bytes.*{message}"
        with pytest.raises(CommitError, match=expected), write:
            write.commit(stats)
        assert content(table) == before
        assert table.timeline.pending == ()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:3])


def test_an_object_store_is_asked_for_several_files_at_a_time(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    write, stats = begun(table, ("a", 2, "x", 2), ("b", 2, "y", 2))
    state = table.context.state()
    monkeypatch.setattr(type(state.storage), "capabilities", Capabilities(atomic_create=True))
    metadata = CommitMetadata(partition_to_write_stats={"": tuple(stats)})
    check_publishable(state, state, write.instant, metadata)
    wrong = (replace(stats[0], file_size_in_bytes=1), *stats[1:])
    with pytest.raises(CommitError, match="has written 1 bytes"):
        check_publishable(state, state, write.instant, CommitMetadata(partition_to_write_stats={"": wrong}))
    assert isinstance(open_storage(table.path), Storage)


@pytest.mark.parametrize("table_type", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_a_write_that_builds_on_one_that_was_rolled_back_meanwhile_is_not_committed(
    tmp_path: Path, table_type: str
) -> None:
    table = shared_table(tmp_path, table_type=table_type)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    undone = table.delete(rows(("b", 0, "x", 0)))
    write, stats = begun(table, ("a", 2, "x", 2))
    table.rollback(undone.instant)
    with pytest.raises(WriteConflictError, match=f"{undone.instant} .* has been rolled back since it began"), write:
        write.commit(stats)
    assert content(table) == [("a", 1, "x", 1), ("b", 1, "x", 1)]
