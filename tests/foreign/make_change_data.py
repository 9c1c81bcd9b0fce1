"""Make tables shaped like change data: ``python -m tests.foreign.make_change_data``; kinds are in tests/change_data.py.

Each is written by the newest Hudi that makes tables of its version, and read by Hudi 1.2.0, whose rules hudiformat has.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from random import Random

from tests.change_data import KINDS, random_batch, table_of
from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import pack
from tests.turns.change_data import ChangeKind
from tests.turns.kinds import COW, MOR
from tools.environments import HUDI

HUDIS = {6: "0.15.0", 8: "1.0.2", 9: HUDI}
CASES = [
    (name, table_type, version)
    for name in ("partial", "non-defaults", "dms", "mysql", "postgres", "marker")
    for version in HUDIS
    for table_type in (COW, MOR)
]
_MORE = {
    "hoodie.table.cdc.enabled": "true",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.upsert.shuffle.parallelism": "1",
}
CHANGES = {
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.query.incremental.format": "cdc",
    "hoodie.datasource.read.begin.instanttime": "0",
}
QUERIES = {"snapshot": {}, "read_optimized": {"hoodie.datasource.query.type": "read_optimized"}, "cdc": CHANGES}


def name_of(name: str, table_type: str, version: int) -> str:
    """The name of the archive."""
    short = {COW: "cow", MOR: "mor"}[table_type]
    return f"change-data-{name}-{short}{version}-h{HUDIS[version].replace('.', '')}"


def make(hudi: RealHudi, path: Path, kind: ChangeKind) -> None:
    """Write inserts, updates with late rows and unset values, deletes by marker and by key."""
    chance = Random(str(kind))
    for step in range(4):
        rows = {row["id"]: row for row in random_batch(kind.name, chance.randrange, 10)}
        marker = KINDS[kind.name].marker
        if step == 0:
            rows = {key: row for key, row in rows.items() if marker is None or row[marker[0]] != marker[1]}
            known = set(rows)
        given = [row for key, row in rows.items() if key in known]
        operation = "delete" if step == 2 else "upsert"
        options = {**kind.hudis, "hoodie.datasource.write.operation": operation}
        hudi.write(table_of(kind.name, given[:1] if step == 2 else given), path, options)


def main() -> None:
    """Make all of them."""
    with ExitStack() as stack:
        running = {version: stack.enter_context(RealHudi(hudi)) for version, hudi in HUDIS.items()}
        for name, table_type, version in CASES:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "t"
            make(running[version], path, ChangeKind(name, table_type, version, _MORE, {}))
            pack(running[9], path, name_of(name, table_type, version), QUERIES)


if __name__ == "__main__":
    main()
