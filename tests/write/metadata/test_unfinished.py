"""Indexes whose builder died: deleted, or finished, and those of Hudi's indexer are left alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from hudiformat import Table, open_table
from hudiformat.timeline.config_files import update_table_config
from hudiformat.timeline.contents import create_requested, transition_inflight
from hudiformat.timeline.plans import IndexPartitionInfo, IndexPlan
from hudiformat.timeline.timeline import Action, State
from hudiformat.write.commit.changing import change_timeline
from hudiformat.write.metadata.indexing import IndexBuild
from hudiformat.write.metadata.unfinished import BUILDER
from tests.metadata_statistics import check_metadata_table
from tests.metadata_table.tables import check_listing
from tests.metadata_tables import indexed_table
from tests.tables import rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = indexed_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1)))
    return table


def begin(table: Table, *, builder: bool = True, build: bool = True) -> IndexBuild:
    """An indexing of ``bloom_filters`` that has made its files, and whose process has died then."""
    state = table._context.state()
    info = IndexPartitionInfo(metadata_partition_path="bloom_filters", extra_metadata=BUILDER if builder else {})
    plan = IndexPlan(index_partition_infos=(info,))
    pending = create_requested(state.storage, state.config, state.next_instant, Action.INDEXING, plan)
    if build:
        transition_inflight(state.storage, state.config, pending)
    built = IndexBuild(state, "bloom_filters", state.options.indexing)
    if build:
        built.run(pending.time, lambda _done, _total: None)
    return built


@pytest.mark.parametrize("build", [True, False])
def test_what_the_properties_do_not_name_is_deleted(table: Table, build: bool) -> None:
    begin(table, build=build)
    table.upsert(rows(("b", 1, "x", 1)))
    assert table.timeline.pending == ()
    assert not Path(table.path, ".hoodie/metadata/bloom_filters").exists()
    assert "bloom_filters" not in open_table(table.path).config.metadata_partitions
    check_listing(Path(table.path))
    check_metadata_table(Path(table.path))


def test_what_the_properties_name_is_finished(table: Table) -> None:
    built = begin(table)
    update_table_config(table._context.storage, built.properties(), saved_at=datetime(2024, 2, 29, tzinfo=timezone.utc))
    table.upsert(rows(("b", 1, "x", 1)))
    [done] = [one for one in table.timeline.instants if one.action is Action.INDEXING]
    assert done.state is State.COMPLETED
    check_metadata_table(Path(table.path))


def test_what_hudi_has_begun_is_left_alone(table: Table) -> None:
    begin(table, builder=False, build=False)
    with change_timeline(replace(table._context)) as state:
        assert [one.action for one in state.timeline.pending] == [Action.INDEXING]
