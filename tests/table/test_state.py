"""One look at a table: what it keeps, when it is out of date, and the clock."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from hudiformat import SchemaError, open_table
from tests.tables import SCHEMA, Clock, create, edit, new_table, rows


def test_a_table_without_any_schema_is_refused(tmp_path: Path) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", "hoodie.table.create.schema", None)
    with pytest.raises(SchemaError, match="no commit yet, and was created without a schema"):
        open_table(tmp_path / "t").snapshot()


def test_the_schema_is_that_of_the_newest_commit(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1)))
    assert open_table(tmp_path / "t", clock=Clock()).schema == SCHEMA


def test_a_clock_that_stands_behind_the_timeline_is_waited_for(tmp_path: Path) -> None:
    clock = Clock()
    table = new_table(tmp_path / "t", clock=clock)
    first = table.insert(rows(("a", 1, "x", 1)))
    clock.now -= dt.timedelta(milliseconds=25)  # another writer's clock is ahead of this one
    second = table.insert(rows(("b", 1, "x", 1)))
    assert second.instant > first.instant
    times = [time for instant in table.timeline.completed for time in (instant.time, instant.completion_time)]
    assert times == sorted(set(times), key=str)


def test_without_a_clock_the_machines_is_taken(tmp_path: Path) -> None:
    for zone in ("LOCAL", "UTC"):
        new_table(tmp_path / zone, options={"hoodie.table.timeline.timezone": zone})
        instant = open_table(tmp_path / zone).insert(rows(("a", 1, "x", 1))).instant
        now = dt.datetime.now(dt.timezone.utc if zone == "UTC" else None).replace(tzinfo=None)
        assert abs(dt.datetime.strptime(instant, "%Y%m%d%H%M%S%f") - now) < dt.timedelta(minutes=1)  # noqa: DTZ007
