"""``hudiformat salvage``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.support import DAMAGED, DATA, DELETES, EVOLVED, HIDDEN, JUNK, ROLLBACK, Command

Log = Callable[[bytes], Path]


def test_a_salvage_reports_what_it_kept_recovered_and_lost(command: Command, log: Log, tmp_path: Path) -> None:
    target = tmp_path / "out"
    result = command("salvage", log(HIDDEN), "-o", target)
    assert (result.code, target.read_bytes()) == (1, DATA + ROLLBACK)
    assert result.lines[:4] == [
        f"kept       2 blocks, {len(DATA + ROLLBACK)} bytes: {target}",
        "recovered  1 of them, which queries skip",
        f"lost       2 spans, {37 + len(DELETES) - 5} bytes",
        "affected   20260101000000002",
    ]
    assert [line.split()[0] for line in result.lines[4:]] == ["kind", "hidden", "junk", "torn"]


def test_a_salvage_is_one_object_of_json(command: Command, log: Log, tmp_path: Path) -> None:
    target = tmp_path / "out"
    result = command("salvage", "--json", log(HIDDEN), "--output", target)
    [report] = result.json
    assert (result.code, report["target"], report["blocks"]) == (1, str(target), 2)
    assert (report["size"], report["instants"]) == (len(DATA + ROLLBACK), ["20260101000000002"])
    assert [finding["kind"] for finding in report["recovered"]] == ["HIDDEN"]
    assert [(finding["kind"], finding["length"]) for finding in report["lost"]] == [
        ("JUNK", 37),
        ("TORN_TAIL", len(DELETES) - 5),
    ]


def test_a_salvage_without_a_loss_is_fine(command: Command, log: Log, tmp_path: Path) -> None:
    result = command("salvage", log(DATA), "-o", tmp_path / "out")
    assert result.code == 0
    assert result.lines == [
        f"kept       1 block, {len(DATA)} bytes: {tmp_path / 'out'}",
        "recovered  0 of them, which queries skip",
        "lost       0 spans, 0 bytes",
    ]


def test_a_loss_may_concern_no_known_instant(command: Command, log: Log, tmp_path: Path) -> None:
    result = command("salvage", log(JUNK + EVOLVED), "-o", tmp_path / "out")
    assert (result.code, result.lines[3]) == (1, "affected   no instant that can be told")


def test_an_existing_target_is_not_changed(command: Command, log: Log, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"mine")
    result = command("salvage", log(DAMAGED), "-o", target)
    assert (result.code, result.out, target.read_bytes()) == (2, "", b"mine")
    assert result.err == f"hudiformat: cannot create {target}: File exists\n"
