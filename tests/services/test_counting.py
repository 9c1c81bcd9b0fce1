"""What has been written since a service ran last."""

from __future__ import annotations

from pathlib import Path

from hudiformat.services.deciding import archivable_instants, archive_table, since_clustering, since_compaction
from tests.check.verify.support import KEEP_FEW, grown, opened
from tests.tables import content, rows


def test_commits_since_the_last_service(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", commits=3)
    assert len(since_compaction(table.timeline)) == since_clustering(table._context.state()) == 3
    table.compact()
    assert since_compaction(table.timeline) == []
    table.bulk_insert(rows(("c", 1, "x", 1)))
    assert since_clustering(table._context.state()) == 5
    assert table.cluster()
    assert since_clustering(table._context.state()) == 0


def test_archiving_keeps_the_newest_commits(tmp_path: Path) -> None:
    table = opened(grown(tmp_path / "t", commits=4), **KEEP_FEW, **{"hoodie.compact.inline.max.delta.commits": "1"})
    chosen = archivable_instants(table._context.state())
    assert [one.time for one in chosen] == [one.time for one in table.timeline.completed_writes[:2]]
    assert archive_table(table._context) == chosen
    assert archivable_instants(table._context.state()) == ()
    assert content(table) == [("a", 4, "x", 4), ("b", 4, "y", 4)]
