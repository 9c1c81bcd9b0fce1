"""Tables with options of services and with log files, for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hudiformat import Table
from hudiformat.services.execution import ServiceClaim
from hudiformat.table.options.values import ServiceOptions
from hudiformat.table.state import TableState
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.heartbeats import Heartbeat
from tests.tables import Clock, new_table, rows


def served(table: Table, **options: object) -> Table:
    """*table* with other options of services."""
    by_hand: dict[str, Any] = {"clean_automatic": False, "archive_automatic": False}
    services = ServiceOptions(**{**by_hand, **options})
    return Table(replace(table._context, options=replace(table._context.options, services=services)))


def logged(table: Table) -> Table:
    """*table* with a file group that has a base file and two log files."""
    bucketed = new_table(Path(table.path).parent / "logged", clock=Clock(), options={"hoodie.index.type": "INMEMORY"})
    bucketed.bulk_insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "x", 1)))
    bucketed.upsert(rows(("a", 2, "x", 2)))
    bucketed.delete(rows(("b", 9, "x")))
    return bucketed


@contextmanager
def claimed_by(state: TableState, instant: Instant) -> Iterator[ServiceClaim]:
    """An inflight service that this process has claimed."""
    heartbeat = Heartbeat(state.storage, instant.time, interval=60, may_be_taken_over=True)
    heartbeat.start()
    with heartbeat:
        yield ServiceClaim(instant, heartbeat, 0)
