"""What is due, and what services would change."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.report.facts import Prospect
from hudiformat.report.outlook import prospects_of, services_of
from hudiformat.services.deciding import Service
from hudiformat.timeline.timeline import instant_path
from tests.tables import new_table, rows, tree


def grown(path: Path, **changes: str) -> Table:
    table = new_table(path, options={"hoodie.index.type": "INMEMORY", **changes})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    table.bulk_insert(rows(("b", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    return table


def prospects(table: Table) -> dict[str, Prospect]:
    state = table._context.state()
    return {one.service: one for one in prospects_of(state, state.slices())}


def test_a_prospect_has_files_and_bytes_before_and_after(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    before = tree(tmp_path)
    found = prospects(table)
    assert tree(tmp_path) == before
    slices = table.file_slices()
    (merged,) = [one for one in slices if one.log_files]
    compaction, clustering = found["compaction"], found["clustering"]
    assert (compaction.groups_before, compaction.groups_after) == (1, 1)
    assert (compaction.files_before, compaction.files_after) == (2, 1)
    assert compaction.bytes_before == merged.size
    assert compaction.bytes_after == merged.size - merged.log_bytes
    assert (clustering.groups_before, clustering.groups_after, clustering.files_before) == (2, 1, 3)
    assert clustering.bytes_before == sum(one.size for one in slices)


def test_the_compaction_that_follows_is_the_one_that_was_foreseen(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    foreseen = prospects(table)["compaction"]
    (commit,) = table.compact()
    assert len(commit.stats) == foreseen.groups_after
    assert prospects(table)["compaction"].why_not == "no file group has log files that are not planned for already"


def test_slices_without_base_file_become_about_their_log_files(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.upsert(rows(("a", 2, "x", 2)))
    found = prospects(table)["compaction"]
    assert found.bytes_after == found.bytes_before > 0


def test_why_there_is_nothing_to_change(tmp_path: Path) -> None:
    found = prospects(new_table(tmp_path / "cow", table_type="COPY_ON_WRITE"))
    assert found["compaction"].why_not == "a copy-on-write table has no log files"
    assert found["clustering"].why_not == "no file groups are small enough to be worth it"
    buckets = new_table(tmp_path / "buckets", options={"hoodie.index.type": "BUCKET"})
    assert "hash of a record key" in prospects(buckets)["clustering"].why_not


def test_every_service_says_whether_it_is_due(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    opened = open_table(table.path, options={"hoodie.compact.inline.max.delta.commits": "2"})
    found = {one.service: one for one in services_of(opened._context.state())}
    assert list(found) == [one.value for one in Service]
    assert found["compaction"].is_due
    assert not found["clean"].is_due
    assert not any(one.error for one in found.values())


def test_a_service_whose_plan_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    table = grown(tmp_path / "t", **{"hoodie.clustering.async.enabled": "true"})
    replaced = table.insert_overwrite(rows(("c", 1, "x", 1)))
    done = next(one for one in table.timeline.completed if one.time == replaced.instant)
    Path(table.path, instant_path(table.config, done)).write_bytes(b"no Avro")
    opened = open_table(table.path, options={"hoodie.clustering.async.enabled": "true"})
    found = {one.service: one for one in services_of(opened._context.state())}
    assert [name for name, one in found.items() if one.error]
    assert not any(one.is_due for one in found.values() if one.error)


@pytest.mark.parametrize("service", ["compaction", "clustering"])
def test_prospects_name_their_service(tmp_path: Path, service: str) -> None:
    assert prospects(grown(tmp_path / "t"))[service].service == service
