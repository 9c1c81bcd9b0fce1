"""A compaction whose plan is gone stops nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat.services.compaction import find_lost_plans, mend_lost_plans
from hudiformat.timeline.contents import transition_inflight
from hudiformat.timeline.timeline import State, instant_path
from tests.tables import content, new_table, rows

EXPECTED = [("a", 3, "x", 3), ("b", 1, "x", 1), ("c", 1, "y", 1), ("d", 1, "x", 1)]


@pytest.mark.parametrize("how", ["deleted", "empty"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_writers_go_on_and_the_next_compaction_mends_it(tmp_path: Path, version: int, how: str) -> None:
    table = new_table(tmp_path / "t", version=version, options={"hoodie.clean.automatic": "false"})
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "y", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    (planned,) = table.schedule_compaction()
    table.upsert(rows(("a", 3, "x", 3)))
    transition_inflight(table._context.storage, table.config, planned)
    plan = Path(table.path) / instant_path(table.config, planned)
    if how == "deleted":
        plan.unlink()
    else:
        plan.write_bytes(b"")
    table.upsert(rows(("d", 1, "x", 1)))
    assert content(table) == EXPECTED
    assert [one.time for one in find_lost_plans(table._context.state())] == [planned.time]
    assert len(table.compact()) == 1
    assert content(table) == EXPECTED
    assert table.timeline.pending == ()
    assert table.verify() == []


def test_nothing_is_lost_where_there_are_plans(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    assert table.schedule_compaction()
    state = mend_lost_plans(table._context)
    assert [one.state for one in state.timeline.pending] == [State.REQUESTED]
