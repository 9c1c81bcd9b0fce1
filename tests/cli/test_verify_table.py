"""``hudiformat verify TABLE``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.support import Command
from tests.tables import new_table, rows


def test_on_the_command_line(command: Command, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "y", 1)))
    assert command("verify", table.path).lines == ["nothing is wrong"]
    (base,) = (tmp_path / "t" / "y").glob("*.parquet")
    base.unlink()
    result = command("verify", table.path)
    assert result.code == 1
    assert result.lines[1].split()[0] == "missing"
    (said,) = command("verify", "--json", "--no-contents", table.path).json
    assert (said["kind"], said["path"]) == ("MISSING", f"y/{base.name}")
