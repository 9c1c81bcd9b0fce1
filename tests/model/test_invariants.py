"""Each invariant finds what it is there for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudiformat import Table, open_table
from tests.metadata_table.tables import add_metadata_table
from tests.model import invariants
from tests.model.slow_reader import SlowTable
from tests.tables import new_table, rows

pytestmark = pytest.mark.unmeasured

Break = Callable[[Path, Table], None]


def newest_base(path: Path) -> Path:
    return max((path / "x").glob("*.parquet"), key=lambda file: file.name[-25:])


def write_a_key_twice(_path: Path, table: Table) -> None:
    options = {"hudiformat.sync": "false", "hoodie.parquet.small.file.limit": "0"}
    open_table(table.path, options=options, clock=table._context.clock).insert(rows(("a", 9, "x", 9)))


def leave_a_file_of_nobody(path: Path, _table: Table) -> None:
    base = newest_base(path)
    shutil.copy(base, base.with_name(f"{base.stem.rpartition('_')[0]}_20990101000000000.parquet"))


def forget_a_log_file_in_a_plan(path: Path, _table: Table) -> None:
    [log] = sorted((path / "x").glob(".*.log.1_*"))
    shutil.copy(log, log.with_name(log.name.replace(".log.1_", ".log.2_")))


def change_the_size_of_a_file(path: Path, _table: Table) -> None:
    base = newest_base(path)
    base.write_bytes(b"PAR1" + base.read_bytes())


def delete_a_file_that_is_listed(path: Path, _table: Table) -> None:
    newest_base(path).unlink()


BROKEN: dict[Break, Callable[[SlowTable], None]] = {
    write_a_key_twice: lambda table: invariants.each_key_is_in_one_group(table, is_global=False),
    leave_a_file_of_nobody: invariants.no_file_is_of_an_unknown_instant,
    forget_a_log_file_in_a_plan: invariants.no_base_file_drops_log_files,
    change_the_size_of_a_file: invariants.statistics_equal_contents,
    delete_a_file_that_is_listed: invariants.the_metadata_table_lists_the_files,
}


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("fault", BROKEN, ids=lambda fault: fault.__name__)
def test_what_is_broken_is_found(fault: Break, version: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = new_table(path, version=version, options={"hoodie.clean.automatic": "false"})
    add_metadata_table(path)
    table = open_table(path, options={"hudiformat.sync": "false"}, clock=table._context.clock)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    assert table.compact()
    invariants.check_files(SlowTable(path), is_global=False)
    fault(path, table)
    with pytest.raises(AssertionError):
        BROKEN[fault](SlowTable(path))
