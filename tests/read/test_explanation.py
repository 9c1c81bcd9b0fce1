"""The text that explains a scan."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.compute as pc

from tests.tables import new_table, rows


def test_an_explanation_is_a_text_to_read(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(*((f"k{number}", 1, f"p{number:02}", number) for number in range(30))))
    table.upsert(rows(("k0", 2, "p00", 0), ("new", 2, "other", 0)))
    lines = str(table.scan(filter=pc.field("p") >= "p28").explain()).splitlines()
    assert re.fullmatch(r"reads 2 of 31 file slices, \d\.\d kB of \d+\.\d kB", lines[0])
    assert lines[1] == "  29 left out by partition path"
    assert lines[2].startswith("other  ") or "base file: left out by partition path" in lines[2]
    assert lines[-1] == "... and 11 more"
    everything = table.scan().explain()
    texts = [str(one) for one in everything.slices]
    assert any(text.endswith("base file + 1 log file: read, 1 of 1 row groups") for text in texts)
    assert any(text.endswith(" 1 log file: read") for text in texts)
