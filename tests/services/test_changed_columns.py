"""Columns that change between the plan of a service and its run, and files that are newer than the schema asked for."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.codec.conversion import convert_to_schema
from hudiformat.file_group.finer_times import to_times_of
from hudiformat.services.log_compaction import log_compaction_plan
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.publishing import announce
from tests.effort import sample
from tests.tables import new_table

SCHEMA = pa.schema(
    [
        pa.field("k", pa.string(), nullable=False),
        pa.field("ts", pa.int64()),
        pa.field("v", pa.int32()),
        pa.field("d", pa.decimal128(6, 2)),
        pa.field("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        pa.field("l", pa.list_(pa.struct([("x", pa.int32())]))),
        pa.field("m", pa.map_(pa.string(), pa.struct([("x", pa.float32())]))),
    ]
)
CHANGES: dict[str, dict[str, Any]] = {
    "widened": {"widen": {"v": pa.int64()}},
    "widened to a double": {"widen": {"v": pa.float64()}},
    "widened to a text": {"widen": {"v": pa.string()}},
    "a wider decimal": {"widen": {"d": pa.decimal128(8, 3)}},
    "widened in a struct": {"widen": {"s.x": pa.int64()}},
    "widened in a list": {"widen": {"l.element.x": pa.int64()}},
    "widened in a map": {"widen": {"m.value.x": pa.float64()}},
    "renamed": {"rename": {"v": "w"}},
    "renamed in a struct": {"rename": {"s.x": "z"}},
    "renamed in a list": {"rename": {"l.element.x": "z"}},
    "renamed in a map": {"rename": {"m.value.x": "z"}},
    "renamed and widened": {"rename": {"v": "w"}, "widen": {"v": pa.int64()}},
    "added": {"add": {"n": pa.string()}},
    "added in a struct": {"add": {"s.n": pa.int32()}},
    "dropped": {"drop": ["v"]},
    "dropped in a struct": {"drop": ["s.y"]},
    "names exchanged": {"drop": ["d"], "rename": {"v": "u"}, "add": {"v": pa.string()}},
}
SERVICES = ("compaction", "clustering", "log compaction")
OPTIONS = {
    "hoodie.schema.on.read.enable": "true",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.log.compaction.blocks.threshold": "1",
}


def row(key: str, ts: int, number: int) -> dict[str, Any]:
    return {
        "k": key,
        "ts": ts,
        "v": number,
        "d": number,
        "s": {"x": number, "y": f"y{number}"},
        "l": [{"x": number}, None],
        "m": [("a", {"x": number + 0.1})],
    }


def rows(*values: tuple[str, int, int]) -> pa.Table:
    return pa.Table.from_pylist([row(*value) for value in values], SCHEMA)


def own(table: hf.Table, **query: Any) -> list[dict[str, Any]]:
    shown = table.snapshot(**query).sort_by("k").to_pylist()
    return [{name: value for name, value in one.items() if not name.startswith("_")} for one in shown]


def planned(path: Path, service: str, version: int, **options: str) -> hf.Table:
    """A table with a planned service, and for a compaction with a write after it."""
    kind = "COPY_ON_WRITE" if service == "clustering" else "MERGE_ON_READ"
    table = new_table(
        path, schema=SCHEMA, partition_by=[], version=version, table_type=kind, options={**OPTIONS, **options}
    )
    table.insert(rows(("a", 1, 1), ("b", 1, 2)))
    if service == "clustering":
        table.insert(rows(("c", 1, 5)))
        table.schedule_clustering()
        return table
    table.upsert(rows(("a", 2, 3)))
    if service == "log compaction":
        table.upsert(rows(("a", 3, 6)))
        state = table._context.state()
        announce(state, Action.LOG_COMPACTION, log_compaction_plan(state))
    else:
        table.schedule_compaction()
    table.upsert(rows(("b", 2, 4)))
    return table


def run(table: hf.Table, service: str) -> None:
    services = {"compaction": table.compact, "clustering": table.cluster, "log compaction": table.log_compact}
    assert services[service]()


@pytest.mark.parametrize("change", sample(CHANGES, of=2))
@pytest.mark.parametrize(("service", "version"), list(product(SERVICES, [6, 9])))
def test_a_service_that_was_planned_before_a_change_and_runs_after_it_changes_no_row(
    tmp_path: Path, service: str, version: int, change: str
) -> None:
    table = planned(tmp_path / "t", service, version)
    before = own(table)
    moments = [one.time for one in table.timeline.completed_writes]
    then = [own(table, as_of=moment) for moment in moments]
    table.evolve(**CHANGES[change])
    after = own(table)
    run(table, service)
    assert own(table) == after
    assert [own(table, as_of=moment) for moment in moments] == then
    assert then[-1] == before
    assert table.verify() == []
    again = hf.open_table(tmp_path / "t", options=OPTIONS)
    assert again.schema == table.schema
    assert [{name: one[name] for name in ("k", "ts")} for one in after] == [
        {"k": one["k"], "ts": one["ts"]} for one in again.incremental("000").sort_by("k").to_pylist()
    ]


@pytest.mark.parametrize("change", sample(CHANGES, of=2))
@pytest.mark.parametrize("blocks", ["avro", "parquet"])
def test_files_with_the_columns_of_later_are_read_as_of_any_moment(
    tmp_path: Path, change: str, blocks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As other writers make them: the compaction writes the columns that the table has when it runs."""
    table = planned(tmp_path / "t", "compaction", 9, **{"hoodie.logfile.data.block.format": blocks})
    moments = [one.time for one in table.timeline.completed_writes]
    then = [own(table, as_of=moment) for moment in moments]
    table.evolve(**CHANGES[change])
    after = own(table)
    monkeypatch.setattr("hudiformat.write.commit.plan.with_schema_of_plan", lambda _state, plan: plan)
    run(table, "compaction")
    assert own(table) == after
    lost = {"dropped": "v", "dropped in a struct": "s", "names exchanged": "d"}.get(change)
    found = [own(table, as_of=moment) for moment in moments]
    for one, expected in zip(found, then, strict=True):
        if lost is None:
            assert one == expected
        else:
            assert [row["k"] for row in one] == [row["k"] for row in expected]


MILLIS, MICROS = pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC")
TIMED = pa.schema(
    [
        pa.field("k", pa.string(), nullable=False),
        pa.field("ts", pa.int64()),
        pa.field("t", MILLIS),
        pa.field("s", pa.struct([("t", MILLIS)])),
        pa.field("l", pa.list_(MILLIS)),
        pa.field("m", pa.map_(pa.string(), MILLIS)),
    ]
)


def timed(*values: tuple[str, int, int], schema: pa.Schema = TIMED) -> pa.Table:
    moments = [
        {"k": k, "ts": ts, "t": t * 1000, "s": {"t": t * 1000}, "l": [t * 1000], "m": [("a", t * 1000)]}
        for k, ts, t in values
    ]
    micros = pa.schema([field.with_type(_counted(field.type, MICROS)) for field in schema])
    numbers = pa.schema([field.with_type(_counted(field.type, pa.int64())) for field in schema])
    return pa.Table.from_pylist(moments, numbers).cast(micros).cast(schema)


def _counted(kind: pa.DataType, time: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_counted(field.type, time)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _counted(kind.item_type, time))
    if pa.types.is_list(kind):
        return pa.list_(_counted(kind.value_type, time))
    return time if pa.types.is_timestamp(kind) else kind


@pytest.mark.parametrize(
    ("service", "version", "blocks"), [("compaction", 6, "avro"), ("compaction", 9, "avro"), ("log", 9, "parquet")]
)
def test_times_of_a_widened_column_are_those_of_then(
    tmp_path: Path, service: str, version: int, blocks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer's service labels microseconds, which files of old releases do wrongly too."""
    options = {**OPTIONS, "hoodie.logfile.data.block.format": blocks}
    table = new_table(tmp_path / "t", schema=TIMED, partition_by=[], version=version, options=options)
    table.insert(timed(("a", 1, 1), ("b", 1, -2)))
    table.upsert(timed(("a", 2, 3)))
    if service == "log":
        announce(table._context.state(), Action.LOG_COMPACTION, log_compaction_plan(table._context.state()))
    else:
        table.schedule_compaction()
    table.upsert(timed(("c", 3, 5)))
    then, moment = own(table), table.timeline.completed_writes[-1].time
    table.evolve(widen={"t": MICROS, "s.t": MICROS, "l.element": MICROS, "m.value": MICROS})
    for module in ("hudiformat.write.commit.plan", "hudiformat.services.log_compaction"):
        monkeypatch.setattr(f"{module}.with_schema_of_plan", lambda _state, plan: plan)
    monkeypatch.setattr("hudiformat.services.execution._schemas", lambda state, _: {"schema": state.schema.avro})
    assert table.log_compact() if service == "log" else table.compact()
    found = table.snapshot(as_of=moment)
    assert found.schema.field("t").type == MILLIS
    assert own(table, as_of=moment) == then
    assert own(table, as_of=moment, filter="t < '1970-01-01'") == [then[1]]
    assert own(table) == then, "the same moments, in microseconds"


def test_a_fraction_that_the_column_of_then_cannot_hold_is_an_error_by_name() -> None:
    batch = pa.record_batch({"t": pa.array([1], pa.int64()).cast(MICROS)})
    with pytest.raises(hf.SchemaError, match="column t is of type .* does not fit"):
        to_times_of(batch, pa.schema([("t", MILLIS)]))


@pytest.mark.parametrize(
    ("wide", "value", "kind"),
    [
        (pa.int64(), 2**31, pa.int32()),
        (pa.float64(), 0.5, pa.int32()),
        (pa.float64(), 2.0**60, pa.int64()),
        (pa.string(), "1.5", pa.int32()),
        (pa.string(), "one", pa.int32()),
        (pa.float64(), 0.1234567891, pa.float32()),
        (pa.decimal128(8, 3), "1.234", pa.decimal128(6, 2)),
    ],
    ids=str,
)
def test_a_value_that_the_column_of_then_cannot_hold_is_an_error_by_name(
    tmp_path: Path, wide: pa.DataType, value: Any, kind: pa.DataType
) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([value]).cast(wide)], ["v"])
    with pytest.raises(hf.SchemaError, match="column v is of type .* does not fit"):
        convert_to_schema(batch, pa.schema([("v", kind)]), relabel=True)
