"""Tables with all that can be wrong, whose names are HTML and scripts."""

from __future__ import annotations

import os
from pathlib import Path

from hudiformat import Table, open_table
from hudiformat.timeline.table_config import table_checksum
from tests.tables import Clock, edit, make_partition, new_table, rows

SCRIPT = "</script><img src=x onerror=alert(1)><!--"
PARTITION = "<img src=x onerror=alert(1)>"
QUOTES = "'\"&lt;{{data}}\u2028${alert(1)}"
OPTIONS = {"hoodie.index.type": "INMEMORY", "hoodie.clean.automatic": "false"}


def hostile_table(folder: Path) -> Table:
    """A table with hostile names, a pending compaction, a dead write, a write that was rolled back, and damage."""
    path = folder / "</title><script>alert(1)</script>" / "t"
    new_table(path, options=OPTIONS)
    edit(path, "hoodie.table.name", SCRIPT)
    edit(path, "hoodie.table.checksum", str(table_checksum(SCRIPT)))
    table = open_table(path, options=OPTIONS, clock=Clock())
    for partition in (PARTITION, QUOTES):
        make_partition(path, partition)
    table.bulk_insert(rows(("a", 1, PARTITION, 1), ("b", 1, QUOTES, 1), ("c", 1, "plain", 1)))
    for step in range(2, 6):
        table.upsert(rows(("a", step, PARTITION, step), ("b", step, QUOTES, step)))
    table.rollback(table.timeline.completed_writes[-1])
    table.schedule_compaction()
    for step in range(6, 9):
        table.upsert(rows(("c", step, "plain", step), ("a", step, PARTITION, step)))
    _leave_a_dead_write(table)
    root = Path(table.path)
    (log, *_) = sorted((root / PARTITION).glob(".*.log*"))
    log.write_bytes(log.read_bytes()[:-9])
    (base,) = (root / "plain").glob("*.parquet")
    base.write_bytes(b"PAR1 no longer")
    (root / PARTITION / f"orphan-0_0-1-2_{'2' * 17}.parquet").write_bytes(b"an orphan")
    temporary = root / PARTITION / ".hudiformat-<svg onload=alert(1)>"
    temporary.write_bytes(b"a temporary file")
    os.utime(temporary, (0, 0))
    return table


def _leave_a_dead_write(table: Table) -> None:
    """Requested and begun, by a writer that nothing is heard of any more."""
    timeline = Path(table.path) / table.config.timeline_folder
    time = str(int(table.timeline.latest_instant_time or "0") + 1000)
    for state in ("requested", "inflight"):
        (timeline / f"{time}.deltacommit.{state}").touch()
