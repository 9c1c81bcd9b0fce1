"""Plans are made on one look at the table, and read later."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import (
    NameFormatError,
    SchemaError,
    Table,
    TableError,
    UnsupportedFeatureError,
    open_table,
)
from hudiformat.errors import FilesGoneError
from hudiformat.read.incremental import Span
from hudiformat.read.plan import (
    SlicePlan,
    instant_of,
    plan_changes,
    plan_incremental,
    plan_snapshot,
    read_or_plan_again,
    slice_reader,
)
from hudiformat.storage.opening import open_storage
from hudiformat.table.state import TableContext
from hudiformat.timeline.table_config import TimelineZone
from tests.requests import RecordingStorage, data_files
from tests.tables import Row, new_table, rows

EVERYTHING = Span("", None)


def read(plan: SlicePlan, table: Table) -> list[Row]:
    """The keys and values of a plan's rows, sorted."""
    found = plan.read_all(table._context.storage)
    return sorted((row["k"], row["v"]) for row in found.to_pylist())


def test_a_plan_shows_what_was_there_when_it_was_made(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    plan = plan_snapshot(table._context)
    table.upsert(rows(("a", 2, "x", 2), ("b", 1, "y", 3)))
    assert read(plan, table) == read(plan, table) == [("a", 1)]
    assert read(plan_snapshot(table._context), table) == [("a", 2), ("b", 3)]


def test_making_a_plan_opens_no_data_file_and_reading_it_makes_no_further_look(tmp_path: Path) -> None:
    new_table(tmp_path / "t").insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    storage = RecordingStorage(open_storage(str(tmp_path / "t")))
    table = open_table(storage)
    plan = plan_snapshot(table._context)
    assert data_files(storage.requests) == []
    storage.clear()
    assert read(plan, table) == [("a", 1), ("b", 2)]
    assert len(data_files(storage.requests)) == len(storage.requests) == 2


def test_a_plan_travels_to_other_processes(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    table.upsert(rows(("a", 2, "x", 3)))
    plan = plan_snapshot(table._context, columns=["k", "v"])
    sent: SlicePlan = pickle.loads(pickle.dumps(plan))
    assert sent.slices == plan.slices
    assert read(sent, table) == [("a", 3), ("b", 2)]


def test_without_logs_the_base_files_alone_are_read(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    assert read(plan_snapshot(table._context, with_logs=False), table) == [("a", 1)]


def test_slices_in_which_the_filter_cannot_be_true_are_left_out_of_the_plan(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    plan = plan_snapshot(table._context, filter=pc.field("p") == "y")
    assert [one.partition_path for one in plan.slices] == ["y"]
    assert read(plan, table) == [("b", 2)]


def test_a_filter_that_fits_no_column_is_reported_by_reading(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1)))
    plan = plan_snapshot(table._context, filter=pc.field("nothing") == 1)
    assert len(plan.slices) == 1
    with pytest.raises(SchemaError, match="does not fit the columns"):
        read(plan, table)


def test_a_column_that_is_not_there_is_reported_before_anything_is_read(table: Table) -> None:
    plan = plan_snapshot(table._context, columns=["nothing"])
    with pytest.raises(SchemaError, match="no column 'nothing'"):
        plan.read_all(table._context.storage)


def test_a_plan_of_the_past_has_the_slices_and_the_schema_of_that_moment(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    table.upsert(rows(("a", 2, "x", 2)))
    plan = plan_snapshot(table._context, as_of=first.instant)
    assert plan.query.reader.as_of == first.instant
    assert [len(one.log_files) for one in plan.slices] == [0]
    assert read(plan, table) == [("a", 1)]


def cleaning_after(table: Table, looks: int) -> TableContext:
    """The context of *table* on a storage where another writer writes and cleans after each of so many listings."""
    left = looks
    kept = {"hoodie.clean.commits.retained": "1", "hoodie.clean.automatic": "false", "hudiformat.sync": "false"}
    other = open_table(table.path, options=kept, clock=table._context.clock)

    def clean(number: int) -> None:
        nonlocal left
        if left and storage.requests[number].kind == "list" and storage.requests[number].path == ".hoodie/timeline":
            left -= 1
            step = len(table.timeline.completed)
            other.insert(rows((f"k{step}", 1, "x", step)))
            assert other.clean()

    storage = RecordingStorage(open_storage(table.path), after=clean)
    return open_table(storage, clock=table._context.clock)._context


def grown(path: Path) -> Table:
    """A table whose one file group has been written anew three times."""
    table = new_table(path, options={"hoodie.clean.automatic": "false"})
    for step in range(3):
        table.insert(rows((f"k{step}", 1, "x", step)))
    return table


def test_a_query_is_planned_again_where_a_clean_has_overtaken_the_look(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    plan = plan_snapshot(cleaning_after(table, 1))
    assert len(read(plan, table)) == 4


def test_a_query_that_every_look_is_too_late_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="in each of 5 attempts to plan a query, files were cleaned, rolled"):
        plan_snapshot(cleaning_after(grown(tmp_path / "t"), 100))


def test_a_query_of_the_past_is_refused_once_its_files_were_cleaned(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    first = table.timeline.completed[0].time
    context = cleaning_after(table, 1)
    with pytest.raises(TableError, match=f"{first}.* cleaned away"):
        plan_snapshot(context, as_of=first)


def test_files_that_are_cleaned_after_planning_are_an_error_in_reading(tmp_path: Path) -> None:
    table = grown(tmp_path / "t")
    plan = plan_snapshot(table._context)
    for step in (3, 4):
        table.insert(rows((f"k{step}", 1, "x", step)))
    cleaner = open_table(table.path, options={"hoodie.clean.commits.retained": "1"}, clock=table._context.clock)
    assert cleaner.clean()
    with pytest.raises(FilesGoneError, match=r"\.parquet was deleted by the clean .*: ask again"):
        read(plan, table)


def cleaning_before_reading(table: Table, times: int) -> tuple[TableContext, Callable[[], SlicePlan]]:
    """A context, and a planner of snapshots whose files are cleaned just after planning, so many times."""
    cleaner = open_table(table.path, options={"hoodie.clean.commits.retained": "1"}, clock=table._context.clock)
    left = times

    def plan() -> SlicePlan:
        nonlocal left
        planned = plan_snapshot(table._context)
        if left:
            left -= 1
            for step in (0, 1):
                table.insert(rows((f"{left}-{step}", 1, "x", step)))
            assert cleaner.clean()
        return planned

    return table._context, plan


def test_rows_are_planned_again_where_their_files_were_cleaned_before_they_were_read(tmp_path: Path) -> None:
    assert read_or_plan_again(*cleaning_before_reading(grown(tmp_path / "t"), 2), SlicePlan.read_all).num_rows == 7


def test_rows_whose_files_are_cleaned_every_time_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FilesGoneError, match="was deleted by the clean"):
        read_or_plan_again(*cleaning_before_reading(grown(tmp_path / "t"), 100), SlicePlan.read_all)


def test_files_that_a_plan_wants_again_are_not_waited_for(tmp_path: Path) -> None:
    """Version 6 names the files of the asked moment, cleaned or not."""
    table = new_table(
        tmp_path / "t", version=6, table_type="COPY_ON_WRITE", options={"hoodie.clean.automatic": "false"}
    )
    for step in range(3):
        table.insert(rows((f"k{step}", 1, "x", step)))
    first = table.timeline.completed[0].time
    cleaner = open_table(table.path, options={"hoodie.clean.commits.retained": "1"}, clock=table._context.clock)
    assert cleaner.clean()
    with pytest.raises(FilesGoneError, match=f"{first}.parquet was deleted by the clean"):
        table.incremental("000", first)


def test_an_incremental_plan_reads_what_was_written_within_its_span(table: Table) -> None:
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    first = table.timeline.by_completion_time[-1].completion_time
    table.upsert(rows(("b", 2, "y", 3)))
    assert first is not None
    assert read(plan_incremental(table._context, Span(first, None)), table) == [("b", 3)]
    assert read(plan_incremental(table._context, Span("", first)), table) == [("a", 1), ("b", 2)]
    assert read(plan_incremental(table._context, EVERYTHING), table) == [("a", 1), ("b", 3)]
    after = plan_incremental(table._context, Span("2999", None))
    assert (len(after.slices), read(after, table)) == (0, [])


def test_a_change_plan_has_the_writes_of_its_span_in_order(tmp_path: Path) -> None:
    options = {"hoodie.table.cdc.enabled": "true"}
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    commits = [table.insert(rows(("a", 1, "x", 1))), table.upsert(rows(("a", 2, "x", 2)))]
    plan = plan_changes(table._context, EVERYTHING, columns=["op"])
    assert [write.time for write, _ in plan.writes] == [commit.instant for commit in commits]
    assert plan.schema.names == ["op"]
    for _ in range(2):
        assert [op for batch in plan.changes() for op in batch["op"].to_pylist()] == ["i", "u"]
    with pytest.raises(SchemaError, match="no column 'k'; the columns are"):
        _ = plan_changes(table._context, EVERYTHING, columns=["k"]).schema


def test_changes_of_a_table_that_keeps_none_are_refused_in_planning(table: Table) -> None:
    with pytest.raises(UnsupportedFeatureError, match="without hoodie.table.cdc.enabled"):
        plan_changes(table._context, EVERYTHING)


def test_a_reader_of_now_and_one_of_the_past(table: Table) -> None:
    first = table.insert(rows(("a", 1, "x", 1)))
    state = table._context.state()
    assert slice_reader(state).as_of is None
    reader = slice_reader(state, first.instant)
    assert reader.as_of == instant_of(state, first.instant) == first.instant
    assert reader.output_schema == slice_reader(state).output_schema
    with pytest.raises(NameFormatError, match="yesterday"):
        slice_reader(state, "yesterday")


def test_moments_are_instants_in_the_zone_of_the_table(table: Table) -> None:
    state = table._context.state()
    assert state.config.timeline_zone is TimelineZone.LOCAL
    assert instant_of(state, None) is None
    assert instant_of(state, "2024-02-29") == instant_of(state, date(2024, 2, 29)) == "20240229000000000"


def test_tables_that_cannot_be_read_are_refused_in_planning(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-mor-avro-h120")
    properties = path / ".hoodie" / "hoodie.properties"
    lines = [line for line in properties.read_text().splitlines() if "base.file.format" not in line]
    lines = [line for line in lines if not line.startswith("hoodie.table.checksum")]
    properties.write_text("\n".join([*lines, "hoodie.table.base.file.format=VORTEX"]))
    context = open_table(path)._context
    plans: list[Callable[[], object]] = [
        lambda: plan_snapshot(context),
        lambda: plan_incremental(context, EVERYTHING),
        lambda: plan_changes(context, EVERYTHING),
    ]
    for plan in plans:
        with pytest.raises(UnsupportedFeatureError, match="format VORTEX, which cannot be read yet"):
            plan()


def test_a_plan_of_an_empty_table_has_the_schema_of_the_table(table: Table) -> None:
    plan = plan_snapshot(table._context, columns=["v"])
    assert list(plan.slices) == []
    assert plan.read_all(table._context.storage).schema == pa.schema([("v", pa.int32())])
