"""Whatever comes upon a damaged log block says in which file it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import DecodeError, Table, open_table
from hudiformat.codec.log.damaged import add_log_file_to_errors
from hudiformat.storage.opening import open_storage
from tests.effort import sample
from tests.tables import data_files, new_table, rows

INDEXES = ("SIMPLE", "INMEMORY", "BUCKET", "GLOBAL_SIMPLE")
ACTIONS: dict[str, Callable[[Table], object]] = {
    "snapshot": lambda table: table.snapshot(),
    "filter": lambda table: table.snapshot(filter="v = 3"),
    "count": lambda table: table.count(),
    "incremental": lambda table: table.incremental("0"),
    "insert": lambda table: table.insert(rows(("new", 9, "x", 9))),
    "upsert": lambda table: table.upsert(rows(("aa", 9, "x", 9), ("bb", 9, "x", 9))),
    "delete": lambda table: table.delete(rows(("bb", 9, "x", 9)).select(["k", "p"])),
    "update": lambda table: table.update(set={"v": 7}, where="k = 'bb'"),
    "delete where": lambda table: table.delete(where="v = 3"),
    "compact": lambda table: table.compact(),
    "log_compact": lambda table: table.log_compact(),
    "cluster": lambda table: table.cluster(),
    "column_stats": lambda table: table.create_index("column_stats"),
    "record_index": lambda table: table.create_index("record_index"),
}


NEED_NOT_READ = ("insert", "upsert", "delete", "count", "column_stats", "record_index")
"""Actions that need not read a record whose position in the base file is known."""
BY_INDEX = ("upsert", "delete", "compact", "log_compact")
CASES = [(index, action) for index in INDEXES for action in ACTIONS if index == "SIMPLE" or action in BY_INDEX]


@pytest.mark.parametrize(("index", "action"), sample(CASES, of=3))
@pytest.mark.parametrize("key", [b"\x04bb", b"\x04cc"], ids=["record", "delete"])
def test_errors_name_the_file(tmp_path: Path, index: str, action: str, key: bytes) -> None:
    options = {"hoodie.index.type": index, "hoodie.log.compaction.blocks.threshold": "1"}
    table = new_table(tmp_path / "t", options=options)
    table.upsert(rows(("aa", 1, "x", 1), ("bb", 1, "x", 1), ("cc", 1, "x", 1)))
    table.upsert(rows(("aa", 2, "x", 2)))
    table.upsert(rows(("bb", 3, "x", 3)))
    table.delete(rows(("cc", 4, "x", 4)).select(["k", "p"]))
    logs = [tmp_path / "t" / path for path in data_files(tmp_path / "t") if ".log." in path]
    damaged = [path for path in logs if key in path.read_bytes()]
    for path in damaged:
        path.write_bytes(path.read_bytes().replace(key, b"\x04\xff\xff"))
    try:
        ACTIONS[action](open_table(tmp_path / "t", options=options))
    except DecodeError as error:
        assert any(str(error).startswith(f"{path}: at byte ") for path in damaged)
    else:
        assert action in NEED_NOT_READ


def test_an_error_that_no_block_explains_is_left_as_it_is(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    [log] = [path for path in data_files(tmp_path / "t") if ".log." in path]
    with (
        pytest.raises(DecodeError, match=r"^at byte 3: who knows$"),
        add_log_file_to_errors(open_storage(table.path), [log]),
    ):
        raise DecodeError("who knows", offset=3)
