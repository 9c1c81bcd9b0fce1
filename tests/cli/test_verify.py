"""``hudiformat verify``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.support import SOUND, UNDECODABLE, Command
from tests.tables import new_table, rows

Log = Callable[[bytes], Path]


def test_an_intact_file_is_reported_as_such(command: Command, log: Log) -> None:
    result = command("verify", log(SOUND))
    assert (result.code, result.out, result.err) == (0, f"nothing is wrong, in {len(SOUND)} bytes\n", "")
    assert command("verify", "--json", log(SOUND)).out == ""


def test_contents_are_checked_unless_requested_otherwise(command: Command, log: Log) -> None:
    path = log(UNDECODABLE)
    assert [finding["kind"] for finding in command("verify", "--json", path).json] == ["CONTENT"]
    assert command("verify", "--no-contents", path).code == 0


def test_a_table_is_verified(command: Command, tmp_path: Path) -> None:
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
