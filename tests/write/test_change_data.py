"""Tables with partial updates and delete markers are what Hudi makes of the same writes: see tests/change_data.py."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import (
    DataError,
    HudiFormatError,
    OptionError,
    Table,
    UnsupportedFeatureError,
    Update,
    create_table,
    open_table,
)
from hudiformat.schema.table_schema import TableSchema
from hudiformat.table.options.merging import merging_of
from tests.change_data import KINDS, PLACEHOLDER, Model, Row, random_batch, row_of, schema_of, shown, table_of
from tests.effort import BUSY, examples
from tests.tables import edit

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
REFUSED = {("postgres", MOR, 6), ("postgres", MOR, 8)}
SETS = [one for one in product(KINDS, (COW, MOR), (6, 8, 9)) if one not in REFUSED]
BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
STEPS = ("upsert", "upsert", "upsert", "delete", "compact", "log_compact", "reopen")


def new(path: Path, kind: str, table_type: str, version: int, **options: str) -> Table:
    """An empty table of the kind; a merge-on-read table has one file group, in whose log files are all rows."""
    ordering = KINDS[kind].ordering_in(version).split(",") if kind not in ("mysql", "postgres") else []
    return create_table(
        path,
        name="t",
        schema=schema_of(kind),
        record_key="id",
        ordering=ordering,
        table_type=table_type,
        version=version,
        options={**KINDS[kind].options, **(BUCKET if table_type == MOR else {}), **options},
    )


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(("kind", "table_type", "version"), SETS)
@settings(deadline=None, max_examples=examples(100), suppress_health_check=BUSY)
@given(st.data())
def test_every_step_leaves_what_hudi_would_show(kind: str, table_type: str, version: int, data: st.DataObject) -> None:
    def choose(count: int) -> int:
        return data.draw(st.integers(0, count - 1))

    with tempfile.TemporaryDirectory() as folder:
        table = new(Path(folder, "t"), kind, table_type, version)
        model = Model(kind, version, table_type == COW, logs_all=True)
        for step in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=6)):
            if step == "upsert":
                take_rows(table, model, random_batch(kind, choose, 1 + choose(6)))
            elif step == "delete":
                rows = {row["id"]: row for row in random_batch(kind, choose, 2)}
                table.delete(table_of(kind, list(rows.values())))
                model.delete(rows)
            elif step == "reopen":
                table = open_table(table.path)
            elif table_type == MOR:
                serve(table, model, step)
            assert shown(kind, table.snapshot()) == model.rows, step


def take_rows(table: Table, model: Model, rows: list[Row]) -> None:
    table.upsert(table_of(model.kind, rows))
    model.upsert(rows)


def serve(table: Table, model: Model, step: str) -> None:
    if step == "compact":
        table.compact()
        model.compact()
    else:
        open_table(table.path, options={"hoodie.log.compaction.blocks.threshold": "2"}).log_compact()


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_row_that_wins_without_changing_anything_keeps_its_meta_fields(tmp_path: Path, version: int) -> None:
    """By a payload class every update is a new row; by a merge mode only one that sets or fills a value."""
    table = new(tmp_path / "t", "partial", COW, version)
    table.upsert(table_of("partial", [row_of("partial", key, 9, "c", ["x", "y", 1]) for key in (0, 1)]))
    first = table.timeline.completed_writes[-1].time
    table.upsert(table_of("partial", [row_of("partial", 0, 3, "u", ["late", None, 2])]))
    rows = table.snapshot().sort_by("id")
    assert shown("partial", rows) == [row_of("partial", key, 9, "c", ["x", "y", 1]) for key in (0, 1)]
    kept = [time == first for time in rows["_hoodie_commit_time"].to_pylist()]
    assert kept == [version == 9, True]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_partial_payload_without_ordering_columns_fills_the_newest_row(tmp_path: Path, table_type: str) -> None:
    new(tmp_path / "t", "partial", table_type, 6)
    for key in ("hoodie.table.precombine.field", "hoodie.table.ordering.fields"):
        edit(tmp_path / "t", key, None)
    table = open_table(tmp_path / "t")
    for batch in ([(5, "x", None, 1), (3, None, "y", None)], [(1, "z", None, None)]):
        table.upsert(table_of("partial", [row_of("partial", 0, ts, "u", values) for ts, *values in batch]))
    assert shown("partial", table.snapshot()) == [row_of("partial", 0, 1, "u", ["z", "y", 1])]


@pytest.mark.parametrize(("kind", "message"), [("partial", "partial update mode, which"), ("marker", "the column op")])
def test_rows_of_some_columns_are_refused_where_values_say_what_a_row_sets(
    tmp_path: Path, kind: str, message: str
) -> None:
    table = create_table(
        tmp_path / "t", name="t", schema=schema_of(kind), record_key="id", ordering="ts", options=KINDS[kind].options
    )
    table.upsert(table_of(kind, [row_of(kind, 0, 1, "c", ["x", "y", 1])]))
    some = TableSchema.from_arrow(schema_of(kind), "t").only(["ts", "op"])
    partial = open_table(table.path, options={"hoodie.write.partial.update.schema": some.avro})
    with pytest.raises((OptionError, UnsupportedFeatureError), match=message):
        partial.upsert(pa.table({"id": ["k0"], "ts": [2], "op": ["D"]}))


def test_inserts_leave_rows_out_that_are_deletes(tmp_path: Path) -> None:
    for operation in ("insert", "bulk_insert", "insert_overwrite_table"):
        table = new(tmp_path / operation, "dms", COW, 9)
        getattr(table, operation)(table_of("dms", [row_of("dms", key, 1, "cd"[key], ["x", "y", 1]) for key in (0, 1)]))
        assert [row["id"] for row in shown("dms", table.snapshot())] == ["k0"], operation


def test_properties_of_new_tables_are_those_that_hudi_writes() -> None:
    """As in tables that Hudi 1.2.0 has made of the same options."""
    prefix = "hoodie.record.merge.property.hoodie."
    marked = {f"{prefix}payload.delete.field": "_change_operation_type", f"{prefix}payload.delete.marker": "d"}
    unavailable = {f"{prefix}write.partial.update.unavailable.value": PLACEHOLDER}
    partial = "hoodie.table.partial.update.mode"
    expected: dict[str, dict[str, str]] = {
        "partial": {partial: "IGNORE_DEFAULTS"},
        "non-defaults": {partial: "IGNORE_DEFAULTS"},
        "dms": {f"{prefix}payload.delete.field": "Op", f"{prefix}payload.delete.marker": "D"},
        "mysql": marked,
        "postgres": {partial: "FILL_UNAVAILABLE", **marked, **unavailable},
        "marker": {f"{prefix}payload.delete.field": "op", f"{prefix}payload.delete.marker": "D"},
    }
    for kind, properties in expected.items():
        found = merging_of(KINDS[kind].options, () if kind in ("mysql", "postgres") else ("ts",), version=9)
        assert dict(found.properties) == properties
        assert found.payload_class == KINDS[kind].options["hoodie.datasource.write.payload.class"]
        assert found.ordering_fields == KINDS[kind].ordering_9
        assert found.mode.value == ("EVENT" if KINDS[kind].by_event_time else "COMMIT") + "_TIME_ORDERING"
        below = merging_of(KINDS[kind].options, () if kind in ("mysql", "postgres") else ("ts",), version=8)
        assert dict(below.properties) == (properties if kind == "marker" else {})
        assert ",".join(below.ordering_fields) == KINDS[kind].ordering


PARTIAL = "hoodie.table.partial.update.mode"
FIELD, MARKER = "hoodie.payload.delete.field", "hoodie.payload.delete.marker"


@pytest.mark.parametrize(
    ("options", "ordering", "version", "message"),
    [
        ({FIELD: "op"}, (), 9, f"{FIELD}: expected {MARKER} beside it, found none; set both"),
        ({MARKER: "D"}, (), 9, f"{MARKER}: expected {FIELD} beside it, found none; set both"),
        ({PARTIAL: "SOMETIMES"}, (), 9, f"{PARTIAL}: expected one of IGNORE_DEFAULTS, FILL_UNAVAILABLE, found"),
        ({PARTIAL: "IGNORE_DEFAULTS"}, (), 8, f"{PARTIAL}: expected table version 9, found 8"),
        ({PARTIAL: "FILL_UNAVAILABLE"}, (), 9, "expected the value that means unavailable beside FILL_UNAVAILABLE"),
        (
            {**KINDS["partial"].options, PARTIAL: "FILL_UNAVAILABLE"},
            ("ts",),
            9,
            f"{PARTIAL}: expected 'IGNORE_DEFAULTS', found 'FILL_UNAVAILABLE'; leave the option out",
        ),
        ({**KINDS["dms"].options, FIELD: "x", MARKER: "D"}, (), 9, "expected 'Op', found 'x'; leave the option out"),
        (KINDS["mysql"].options, ("ts",), 9, "ordering: expected _event_bin_file, _event_pos, by which MySqlDebezium"),
        (KINDS["mysql"].options, ("ts",), 6, "ordering: expected _event_seq, by which MySqlDebeziumAvroPayload orders"),
        ({FIELD: "a", f"hoodie.record.merge.property.{FIELD}": "b", MARKER: "D"}, (), 9, "expected 'b', found 'a'"),
        (KINDS["partial"].options, (), 9, "expected ordering columns beside EVENT_TIME_ORDERING, found none"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, str], ordering: tuple[str, ...], version: int, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        merging_of(options, ordering, version=version)


def test_a_table_whose_placeholders_hudi_shows_is_not_made(tmp_path: Path) -> None:
    for version in (6, 8):
        with pytest.raises(UnsupportedFeatureError, match="PostgresDebeziumAvroPayload below version 9"):
            new(tmp_path / "t", "postgres", MOR, version)
    assert not list(tmp_path.iterdir())


def test_writers_may_repeat_what_the_table_has_and_nothing_else(tmp_path: Path) -> None:
    table = new(tmp_path / "t", "postgres", COW, 9)
    open_table(table.path, options={**KINDS["postgres"].options, PARTIAL: "FILL_UNAVAILABLE", MARKER: "d"})
    for key, value in {PARTIAL: "IGNORE_DEFAULTS", MARKER: "D", FIELD: "op"}.items():
        with pytest.raises(OptionError, match=f"{key}: expected '.*', as in the table's properties, found '{value}'"):
            open_table(table.path, options={key: value})
    with pytest.raises(OptionError, match="expected EVENT_TIME_ORDERING, the merge mode of the table, found"):
        open_table(table.path, options=KINDS["mysql"].options)
    plain = new(tmp_path / "p", "partial", COW, 9)
    with pytest.raises(OptionError, match="expected none, as the table was created without it, found 'D'"):
        open_table(plain.path, options={MARKER: "D"})


@pytest.mark.parametrize("version", [6, 8])
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_numbers_of_a_sequence_are_compared_not_its_text(tmp_path: Path, table_type: str, version: int) -> None:
    """Its columns of files and positions may be missing."""
    names = ["id", "_change_operation_type", "_event_seq", "n"]
    table = create_table(
        tmp_path / "t",
        name="t",
        schema=pa.schema([schema_of("mysql").field(name) for name in names]),
        record_key="id",
        table_type=table_type,
        version=version,
        options={**KINDS["mysql"].options, **BUCKET},
    )

    def rows(*sequences: str | None) -> pa.Table:
        keys = [f"k{number}" for number in range(len(sequences))]
        return pa.table(
            {
                "id": keys,
                "_change_operation_type": ["u"] * len(keys),
                "_event_seq": sequences,
                "n": pa.array(range(len(keys)), pa.int32()),
            }
        )

    table.upsert(rows("9.700", "10.4", "000010.4", None, "7.1"))
    table.upsert(rows("10.4", "9.700", "10.3", "1.1", "7.1.9"))
    table.upsert(pa.concat_tables([rows("10.5"), rows("10.10"), rows("9.999")]))
    found = dict(
        zip(
            *(table.snapshot(columns=["id", "_event_seq"])[name].to_pylist() for name in ("id", "_event_seq")),
            strict=True,
        )
    )
    assert found == {"k0": "10.10", "k1": "10.4", "k2": "000010.4", "k3": "1.1", "k4": "7.1.9"}
    if table_type == COW:
        with pytest.raises(UnsupportedFeatureError, match="expected sequences such as '000003.154', .* found 'bin.7'"):
            table.upsert(rows("bin.7"))


def test_a_table_without_its_sequence_is_refused_by_name(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64())])
    with pytest.raises(HudiFormatError, match="_event_seq"):
        create_table(
            tmp_path / "t", name="t", schema=schema, record_key="id", version=8, options=KINDS["mysql"].options
        ).upsert(pa.table({"id": ["a"], "ts": [1]}))


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_value_that_would_be_taken_for_unset_is_not_set_by_an_update(tmp_path: Path, table_type: str) -> None:
    table = new(tmp_path / "t", "partial", table_type, 9)
    table.upsert(table_of("partial", [row_of("partial", key, 1, "c", ["x", None, key]) for key in range(3)]))
    with pytest.raises(
        DataError, match="update: column a: expected a value other than null, which the table's partial"
    ):
        table.update({"a": None}, where="n > 0")
    table.update({"a": "y", "b": None}, where="n > 0")  # b was not set before
    assert [(row["a"], row["b"]) for row in shown("partial", table.snapshot())] == [("x", None), *[("y", None)] * 2]
    source = table_of("partial", [row_of("partial", 1, 2, "u", ["z", None, 1])])
    with pytest.raises(DataError, match="Update: column a: expected a value other than null"):
        table.merge(source, when_matched=[Update({"a": pc.field("source", "b"), "ts": pc.field("source", "ts")})])
    table.merge(source, when_matched=[Update({"a": pc.field("source", "a"), "ts": pc.field("source", "ts")})])
    assert [row["a"] for row in shown("partial", table.snapshot())] == ["x", "z", "y"]
    table.delete(where="n = 0")
    assert len(shown("partial", table.snapshot())) == 2


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_indexes_know_the_values_that_rows_are_merged_to(tmp_path: Path, table_type: str) -> None:
    indexed = {
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.global.record.level.index.enable": "true",
        "hoodie.index.type": "RECORD_INDEX",
    }
    table = create_table(
        tmp_path / "t",
        name="t",
        schema=schema_of("partial"),
        record_key="id",
        ordering="ts",
        table_type=table_type,
        options={**KINDS["partial"].options, **indexed},
    )
    model = Model("partial", 9, table_type == COW)
    take_rows(table, model, [row_of("partial", key, 5, "c", [f"a{key}", f"b{key}", key]) for key in range(4)])
    table.create_index("column_stats")
    table.create_index("bloom_filters")
    take_rows(
        table, model, [row_of("partial", 0, 6, "u", [None, "new", None]), row_of("partial", 1, 6, "u", ["c", None, 9])]
    )
    take_rows(table, model, [row_of("partial", 2, 1, "u", ["late", "late", 7])])
    assert shown("partial", table.snapshot()) == model.rows
    for value, keys in {"a0": ["k0"], "a1": [], "c": ["k1"], "a2": ["k2"], "late": []}.items():
        found = table.snapshot(filter=f"a = '{value}'")
        assert [row["id"] for row in shown("partial", found)] == keys, value
    assert table.snapshot(filter="b = 'new' and n = 0").num_rows == 1
    assert table.verify() == []
    if table_type == MOR:
        table.compact()
    table.cluster()
    assert shown("partial", table.snapshot()) == model.rows
    assert table.verify() == []
