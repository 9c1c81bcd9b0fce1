"""Each command that docs/hudi-cli.md names runs on a table that Hudi wrote, and on what it leaves."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import hudiformat as hf
from tests.cli.support import ROOT, Command
from tests.tables import unpack

NEEDS_A_CATALOG = {"sync"}  # tests/catalogs has it
NAMED = set(re.findall(r"`hudiformat ([^`]+)`", (ROOT / "docs" / "hudi-cli.md").read_text("utf-8"))) - NEEDS_A_CATALOG
LOOKS = {
    "--help": "--help",
    "timeline": "timeline TABLE",
    "timeline --archived": "timeline --archived TABLE",
    "history": "history TABLE",
    "history --missing-in COPY": "history TABLE --missing-in COPY",
    "show": "show TABLE FIRST",
    "show --json": "show --json TABLE FIRST",
    "show TABLE INSTANT": "show TABLE LAST",
    "diff": "diff TABLE FIRST",
    "slices": "slices TABLE",
    "stats": "stats TABLE",
    "report": "report TABLE -o OUT.html",
    "schema": "schema TABLE",
    "doctor": "doctor TABLE",
    "verify": "verify TABLE",
    "verify --keys": "verify --keys TABLE",
    "blocks": "blocks LOG",
    "records": "records LOG",
    "read -o FILE": "read TABLE -o OUT.parquet",
}
"""Commands that change nothing, by what the page calls them."""
CHANGES = {
    "savepoint": "savepoint TABLE LAST",
    "restore": "restore TABLE LAST",
    "write": "write TABLE ROWS",
    "rollback": "rollback TABLE NEWEST",
    "index --create files": "index TABLE --create files",
    "metadata stats": "metadata stats TABLE",
    "metadata list-files": "metadata list-files TABLE",
    "index --drop record_index": "index TABLE --drop record_index",
    "index --drop files": "index TABLE --drop files",
    "compact --schedule": "compact --schedule TABLE",
    "unschedule": "unschedule TABLE NEWEST",
    "compact": "compact TABLE",
    "cluster --schedule": "cluster --schedule TABLE",
    "cluster": "cluster TABLE",
    "clean": "clean TABLE",
    "maintain --only archive": "maintain --only archive TABLE",
    "maintain --only ttl": "maintain --only ttl TABLE",
    "repair": "repair TABLE",
    "set": "set TABLE owner=data",
    "unset": "unset TABLE owner",
    "set TABLE hoodie.table.type=...": "set TABLE hoodie.table.type=COPY_ON_WRITE",
    "version --to": "version TABLE --to 8",
    "create": "create NEW --column id=string --record-key id",
    "adopt": "adopt PLAIN --record-key id",
}
"""Commands that change the table, in the order in which they run."""


def test_each_command_of_the_page_is_run_here() -> None:
    assert LOOKS.keys() | CHANGES.keys() == NAMED


def test_each_command_runs_on_a_table_of_hudi(command: Command, tmp_path: Path) -> None:
    golden = unpack("v9-mor-avro-h120", tmp_path)
    table = hf.open_table(golden.table)
    plain = tmp_path / "plain"
    plain.mkdir()
    pq.write_table(pa.table({"id": ["a", "b"]}), plain / "a.parquet")
    pq.write_table(table.snapshot().slice(0, 3), tmp_path / "rows.parquet")
    [first, *_, last] = [one.time for one in table.timeline.completed_writes]
    log = next(Path(table.path, name) for name in table.files() if ".log." in name)
    words = {
        "TABLE": table.path,
        "COPY": table.path,
        "FIRST": first,
        "LAST": last,
        "LOG": log,
        "ROWS": tmp_path / "rows.parquet",
        "NEW": tmp_path / "new",
        "PLAIN": plain,
        "OUT.html": tmp_path / "out.html",
        "OUT.parquet": tmp_path / "out.parquet",
    }
    for line in (*LOOKS.values(), *CHANGES.values()):
        words["NEWEST"] = hf.open_table(golden.table).timeline.instants[-1].time
        result = command(*(words.get(word, word) for word in line.split()))
        assert result.code == 0, (line, result.err)
        assert result.out, line
    assert hf.open_table(golden.table).verify() == []
