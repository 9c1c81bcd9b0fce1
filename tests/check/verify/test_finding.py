"""The kinds of findings."""

from __future__ import annotations

from hudiformat import TableFinding, TableFindingKind


def test_a_finding_is_a_value() -> None:
    finding = TableFinding(TableFindingKind.ORPHAN, "x/a.parquet", "why", ("1",))
    assert finding == TableFinding(TableFindingKind("orphan"), "x/a.parquet", "why", ("1",))
    assert len({kind.value for kind in TableFindingKind}) == len(TableFindingKind)
