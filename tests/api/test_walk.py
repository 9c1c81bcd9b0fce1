"""The way of a batch through the package: how many modules it passes, and how deep the calls go.

Whoever follows a write or a read through the code has to open this many files.
"""

from __future__ import annotations

import sys

import pytest

import hudiformat
from tools.walk import Walk, main, walks

pytestmark = pytest.mark.unmeasured

MOST = {  # modules that are handed rows, all modules on the calling thread, frames above a function with rows
    "COPY_ON_WRITE, upsert": (25, 62, 15),
    "COPY_ON_WRITE, snapshot": (6, 25, 12),
    "MERGE_ON_READ, upsert": (26, 73, 15),
    "MERGE_ON_READ, snapshot": (10, 42, 15),
}


def test_rows_pass_few_modules_and_a_shallow_stack() -> None:
    found = {name: (len(walk.had_rows), len(walk.ran), walk.depth) for name, walk in walks().items()}
    assert set(found) == set(MOST)
    assert all(one <= most for name in MOST for one, most in zip(found[name], MOST[name], strict=True)), found


def test_modules_that_are_handed_rows_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["walk", "--files"])
    main()
    printed = capsys.readouterr().out
    assert printed.count("frames deep") == 4
    for module in ("api/table.py", "write/write.py", "write/handles/merge.py", "file_group/reader.py"):
        assert f"    {module}\n" in printed
    assert "timeline/timeline.py" not in printed  # it runs, and no rows are handed to it


def test_a_call_without_rows_has_modules_that_ran_and_none_that_had_rows() -> None:
    found = Walk.of(lambda: hudiformat.LogFileName.parse(".a_1.log.1_0-0-0"))
    assert "naming/file_names.py" in found.ran
    assert (found.had_rows, found.depth) == (set(), 0)
