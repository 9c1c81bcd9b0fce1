"""Times that count milliseconds under the label of microseconds are found, and shown right after a repair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat import Repair, RepairKind, SchemaError, StepState, Table, WriteConflictError
from hudiformat.check.verify.finding import TableFindingKind
from tests.foreign.foreign_tables import unpack
from tests.tables import tree

MICROS, MILLIS = pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")
MILLISECOND = 1_720_631_224_939
"""10 July 2024 in milliseconds; 20 January 1970 in microseconds."""
SCHEMA = pa.schema(
    [
        pa.field("k", pa.string(), nullable=False),
        ("o", pa.int64()),
        ("ts", MICROS),
        ("s", pa.struct([("t", MICROS)])),
        ("m", pa.map_(pa.string(), MICROS)),
        ("r", pa.list_(MICROS)),
        ("p", pa.string()),
    ]
)
KINDS = pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])


def rows(keys: str, order: int, *numbers: int | None) -> pa.Table:
    """Rows of the partition that the second letter of a key names; their times are *numbers*."""
    names = keys.split()
    times = pa.array(numbers, pa.int64()).cast(MICROS)
    columns = {
        "k": names,
        "o": [order] * len(names),
        "ts": times,
        "s": pa.StructArray.from_arrays([times], ["t"]),
        "m": [[("x", one)] for one in times.to_pylist()],
        "r": [[one] for one in times.to_pylist()],
        "p": [name[1] for name in names],
    }
    return pa.table(columns, schema=SCHEMA)


def new_table(path: Path, kind: str, **options: str) -> Table:
    return hf.create_table(
        path, name="t", schema=SCHEMA, record_key="k", ordering="o", partition_by="p", table_type=kind, options=options
    )


def wrong_table(path: Path, kind: str, **options: str) -> Table:
    """A table all of whose times count milliseconds."""
    table = new_table(path, kind, **options)
    table.insert(rows("a1 b1", 1, MILLISECOND, None))
    table.insert(rows("a2 b2", 1, MILLISECOND, -5))
    table.upsert(rows("b2", 2, MILLISECOND + 7))
    return table


def milliseconds(table: Table) -> dict[str, set[int | None]]:
    """The times of each key in milliseconds: one, if its columns have the same."""
    found = {}
    for row in table.snapshot(columns=["k", "ts", "s", "m", "r"]).to_pylist():
        times = [row["ts"], row["s"]["t"], *(time for _, time in row["m"]), *row["r"]]
        found[row["k"]] = {None if one is None else round(one.timestamp() * 1000) for one in times}
    return dict(sorted(found.items()))


def labels_of_files(path: Path) -> set[str]:
    newest: dict[str, Path] = {}
    for file in sorted(path.rglob("*.parquet"), key=lambda one: one.name.rpartition("_")[2]):
        newest[file.name.partition("_")[0]] = file
    return {str(pq.read_schema(file).field("ts").type) for file in newest.values()}


def states(repair: Repair) -> list[tuple[RepairKind, StepState]]:
    return [(step.kind, step.state) for step in repair.steps]


@KINDS
def test_where_all_count_milliseconds_the_columns_get_that_label(kind: str, tmp_path: Path) -> None:
    table = wrong_table(tmp_path / "t", kind)
    findings = table.verify()
    assert {one.kind for one in findings} == {TableFindingKind.LABEL}
    assert "1720631224939 is 1970-01-20 in microseconds, and 2024-07-10 in milliseconds" in findings[0].message
    planned = table.repair()
    assert {state for _, state in states(planned)} == {StepState.PLANNED}
    assert [step.what.split()[2] for step in planned.steps[:4]] == ["ts", "s.t", "m.value", "r.element"]
    before = tree(tmp_path / "t")
    assert tree(tmp_path / "t") == before
    done = table.repair(apply=True)
    assert set(states(done)) == {(RepairKind.LABEL, StepState.DONE)}
    assert len(done.steps) == 4 + 2  # columns and file groups
    found = hf.open_table(tmp_path / "t")
    assert found.verify(labels=True) == []
    assert found.schema.field("ts").type == MILLIS
    assert labels_of_files(tmp_path / "t") == {"timestamp[ms, tz=UTC]"}
    assert milliseconds(found) == {"a1": {MILLISECOND}, "a2": {MILLISECOND}, "b1": {None}, "b2": {MILLISECOND + 7}}
    assert found.repair(labels=True, apply=True).steps == ()


@KINDS
def test_where_some_count_milliseconds_their_numbers_are_multiplied(kind: str, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", kind)
    table.insert(rows("a1 b1", 1, MILLISECOND, None))
    table.insert(rows("a2 b2", 1, MILLISECOND * 1000, MILLISECOND * 1000))
    table.upsert(rows("c3", 2, MILLISECOND * 1000))
    if kind == "MERGE_ON_READ":  # a block counts otherwise than its base file, either way
        table.upsert(rows("b1", 2, MILLISECOND * 1000))
        table.upsert(rows("b2", 2, MILLISECOND))
    done = table.repair(apply=True)
    assert states(done) == [(RepairKind.LABEL, StepState.DONE)] * (2 if kind == "MERGE_ON_READ" else 1)
    found = hf.open_table(tmp_path / "t")
    assert found.verify(labels=True) == []
    assert found.schema.field("ts").type == MICROS
    later = {MILLISECOND} if kind == "MERGE_ON_READ" else {None}
    assert milliseconds(found) == {
        "a1": {MILLISECOND}, "a2": {MILLISECOND}, "b1": later, "b2": {MILLISECOND}, "c3": {MILLISECOND}
    }  # fmt: skip


@pytest.mark.parametrize("version", [6, 8])
def test_tables_of_hudis_are_repaired(version: int, tmp_path: Path) -> None:
    name = {6: "wrong-labels-cow6-h0150", 8: "wrong-labels-mor8-h102"}[version]
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path)
    assert table.snapshot(filter="k = 'a'")["ts"][0].as_py().year == 1970
    table.repair(apply=True, dead_after=0)
    found = hf.open_table(foreign.path)
    assert found.verify(labels=True) == []
    shown = {row["k"]: row["ts"] for row in found.snapshot(columns=["k", "ts"]).to_pylist()}
    assert shown["a"].isoformat() == "2024-01-01T00:00:00.123000+00:00"
    assert shown["c"].year == 9999
    assert shown["d"] is None


def test_of_a_table_of_hudis_with_both_units_the_wrong_files_are_written_anew(tmp_path: Path) -> None:
    foreign = unpack("wrong-labels-some-cow8-h102", tmp_path)
    hf.open_table(foreign.path).repair(apply=True, dead_after=0)
    found = hf.open_table(foreign.path)
    shown = {row["k"]: row["ts"].isoformat() for row in found.snapshot(filter="k in ('a', 'e')").to_pylist()}
    assert shown == {"a": "2024-01-01T00:00:00.123000+00:00", "e": "2024-01-01T00:00:00.123456+00:00"}


REFUSED: Sequence[tuple[str, Sequence[tuple[str, int, int]], str]] = [
    ("in one file", [("a1", 1, MILLISECOND), ("b1", 1, MILLISECOND * 1000)], "has times in both units"),
    ("a silent file", [("a1", 1, MILLISECOND), ("a2", 1, MILLISECOND * 1000), ("a3", 1, 5)], "do not tell what"),
]


@pytest.mark.parametrize(("_name", "written", "reason"), REFUSED, ids=[one[0] for one in REFUSED])
def test_times_that_cannot_be_told_stay(
    _name: str, written: Sequence[tuple[str, int, int]], reason: str, tmp_path: Path
) -> None:
    table = new_table(tmp_path / "t", "COPY_ON_WRITE")
    for key, order, number in written:
        table.insert(rows(key, order, number))
    done = table.repair(apply=True)
    assert {step.state for step in done.steps} == {StepState.REFUSED}
    assert reason in done.steps[0].reason
    assert table.verify() != []


def test_a_block_that_tells_nothing_is_named(tmp_path: Path) -> None:
    foreign = unpack("wrong-labels-some-mor6-h0150", tmp_path)
    reasons = [step.reason for step in hf.open_table(foreign.path).repair(dead_after=0).steps]
    assert all("the times in the block at byte 0 of .38c65d6d" in reason for reason in reasons)


def test_times_that_order_rows_stay_if_some_files_are_right(tmp_path: Path) -> None:
    table = hf.create_table(tmp_path / "t", name="t", schema=SCHEMA, record_key="k", ordering="ts", partition_by="p")
    table.insert(rows("a1", 1, MILLISECOND))
    table.insert(rows("a2", 1, MILLISECOND * 1000))
    refused = [step.reason for step in table.repair().steps if step.state is StepState.REFUSED]
    assert [reason for reason in refused if "rows are ordered by the column" in reason]


@pytest.mark.parametrize(
    ("kind", "number"), [(MILLIS, MILLISECOND * 1000), (pa.timestamp("us"), MILLISECOND)], ids=["millis", "local"]
)
def test_numbers_that_no_hudi_writes_are_found_and_stay(kind: pa.DataType, number: int, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("k", pa.string(), nullable=False), ("ts", kind)])
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k")
    table.insert(pa.table({"k": ["a"], "ts": pa.array([number]).cast(kind)}, schema=schema))
    (finding,) = table.verify()
    assert finding.kind is TableFindingKind.LABEL
    (step,) = table.repair().steps
    assert "no version of Hudi writes such numbers" in step.reason


def test_files_of_a_right_table_are_written_anew_where_that_is_asked_for(tmp_path: Path) -> None:
    foreign = unpack("labels-mor8-h102", tmp_path)
    table = hf.open_table(foreign.path)
    before = milliseconds_of(table)
    assert [one.kind for one in table.verify(labels=True)] == [TableFindingKind.LABEL] * 3
    assert {state for _, state in states(table.repair(labels=True, dead_after=0))} == {StepState.PLANNED}
    table.repair(labels=True, apply=True, dead_after=0)
    assert table.verify(labels=True) == []
    assert milliseconds_of(table) == before


def milliseconds_of(table: Table) -> list[tuple[str, object]]:
    return sorted((row["k"], row["ts"]) for row in table.snapshot(columns=["k", "ts"]).to_pylist())


def test_the_metadata_table_knows_the_bounds_afterwards(tmp_path: Path) -> None:
    stats = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
    table = wrong_table(tmp_path / "t", "COPY_ON_WRITE", **stats)
    table.repair(apply=True)
    found = hf.open_table(tmp_path / "t")
    assert found.verify() == []
    assert found.snapshot(columns=["k"], filter="ts > '2024-01-01'")["k"].to_pylist() == ["a1", "a2", "b2"]
    assert found.snapshot(columns=["k"], filter="ts < '2024-01-01'")["k"].to_pylist() == []


def test_a_group_of_a_pending_plan_waits_for_it(tmp_path: Path) -> None:
    table = wrong_table(tmp_path / "t", "MERGE_ON_READ")
    table.schedule_compaction()
    assert [step.kind for step in table.repair(dead_after=0).steps] == [RepairKind.PENDING]
    planned = {step.path: step for step in table.repair().steps if step.kind is RepairKind.LABEL}
    reasons = {path.partition("/")[0]: step.reason for path, step in planned.items() if step.reason}
    assert reasons == {"2": "a pending compaction or clustering is going to rewrite it: run that first"}


def test_a_write_that_began_before_the_label_changed_does_not_commit(tmp_path: Path) -> None:
    table = wrong_table(tmp_path / "t", "COPY_ON_WRITE")

    class RepairedMeanwhile:
        """Rows that come after another writer's repair."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            def batches() -> Sequence[pa.RecordBatch]:
                hf.open_table(tmp_path / "t").repair(apply=True)
                return rows("z1", 9, MILLISECOND * 1000).to_batches()

            stream = pa.RecordBatchReader.from_batches(SCHEMA, (one for part in [batches] for one in part()))
            return stream.__arrow_c_stream__(requested_schema)

    with pytest.raises((WriteConflictError, SchemaError)):
        table.upsert(RepairedMeanwhile())
    assert "z1" not in milliseconds(hf.open_table(tmp_path / "t"))
