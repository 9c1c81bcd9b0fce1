"""How records are merged, out of a table's properties; tables that cannot be read or written are refused by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import UnsupportedFeatureError, open_table
from hudiformat.file_group.merging.delete_markers import DeleteMarker
from hudiformat.file_group.merging.rule import PartialUpdate, behaviour, merge_rule
from hudiformat.schema.table_schema import TableSchema
from hudiformat.table.options.values import Operation
from hudiformat.table.support import refuse_operation
from hudiformat.timeline.config_files import parse_table_config
from hudiformat.timeline.table_config import MergeMode, PartialUpdateMode, TableConfig
from tests.tables import SCHEMA, content, create, edit, new_table, rows, tree

EVENT, COMMIT = MergeMode.EVENT_TIME_ORDERING, MergeMode.COMMIT_TIME_ORDERING
MODEL = "org.apache.hudi.common.model."


def config(version: int, **properties: str) -> TableConfig:
    lines = {
        "hoodie.table.name": "t",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.version": str(version),
        "hoodie.timeline.layout.version": "1" if version == 6 else "2",
        "hoodie.table.recordkey.fields": "k",
        **{"hoodie." + key.replace("_", "."): value for key, value in properties.items()},
    }
    return parse_table_config("\n".join(f"{key}={value}" for key, value in lines.items()), path="t")


def of_payload(name: str, **properties: str) -> TableConfig:
    return config(6, compaction_payload_class=MODEL + name, table_precombine_field="ts", **properties)


def test_modes_of_version_9() -> None:
    found = behaviour(config(9, record_merge_mode="EVENT_TIME_ORDERING", table_ordering_fields="a,b"))
    assert (found.mode, found.ordering_fields, found.partial_mode) == (EVENT, ("a", "b"), None)
    assert behaviour(config(9, record_merge_mode="EVENT_TIME_ORDERING")).mode is COMMIT
    found = behaviour(config(9, record_merge_mode="COMMIT_TIME_ORDERING", table_ordering_fields="a"))
    assert (found.mode, found.ordering_fields) == (COMMIT, ())


@pytest.mark.parametrize(
    ("name", "mode", "ordering", "partial", "marker"),
    [
        ("OverwriteWithLatestAvroPayload", COMMIT, (), None, None),
        ("DefaultHoodieRecordPayload", EVENT, ("ts",), None, None),
        ("EventTimeAvroPayload", EVENT, ("ts",), None, None),
        ("OverwriteNonDefaultsWithLatestAvroPayload", COMMIT, (), PartialUpdateMode.IGNORE_DEFAULTS, None),
        ("PartialUpdateAvroPayload", EVENT, ("ts",), PartialUpdateMode.IGNORE_DEFAULTS, None),
        ("AWSDmsAvroPayload", COMMIT, (), None, ("Op", "D")),
        ("debezium.MySqlDebeziumAvroPayload", EVENT, ("_event_seq",), None, "d"),
        ("debezium.PostgresDebeziumAvroPayload", EVENT, ("_event_lsn",), PartialUpdateMode.FILL_UNAVAILABLE, "d"),
    ],
)  # fmt: skip
def test_payload_classes_are_what_an_upgrade_makes_of_them_but_for_the_sequence_of_mysql(
    name: str, mode: MergeMode, ordering: tuple[str, ...], partial: PartialUpdateMode | None, marker: Any
) -> None:
    found = behaviour(of_payload(name))
    assert (found.mode, found.ordering_fields, found.partial_mode) == (mode, ordering, partial)
    column, text = ("_change_operation_type", "d") if marker == "d" else marker or ("", "")
    assert found.delete_marker == (DeleteMarker(column, text, ignores_case=True) if marker else None)
    assert found.marker == ("__debezium_unavailable_value" if "Postgres" in name else None)


def test_a_partial_payload_without_ordering_fields_is_by_commit_time() -> None:
    found = behaviour(config(6, compaction_payload_class=MODEL + "PartialUpdateAvroPayload"))
    assert (found.mode, found.partial_mode) == (COMMIT, PartialUpdateMode.IGNORE_DEFAULTS)


def test_other_payload_classes_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"with org.acme.Mine, which is Java; hand open_table a merger"):
        behaviour(config(6, compaction_payload_class="org.acme.Mine"))


def test_merge_strategies_are_refused_by_name() -> None:
    custom = config(9, record_merge_mode="CUSTOM", record_merge_strategy_id="1-2-3")
    with pytest.raises(UnsupportedFeatureError, match="the merge strategy 1-2-3") as caught:
        merge_rule(custom, TableSchema.from_arrow(SCHEMA, "t"), None)
    assert caught.value.feature == "CUSTOM merge mode"


def schema_with_defaults() -> TableSchema:
    schema = TableSchema.from_arrow(pa.schema([("k", pa.string()), ("n", pa.int32()), ("t", pa.binary())]), "t")
    avro = json.loads(schema.avro)
    avro["fields"][1] = {"name": "n", "type": ["int", "null"], "default": 7}
    return TableSchema(json.dumps(avro))


def test_only_null_is_a_default_that_is_ignored() -> None:
    rule = merge_rule(of_payload("OverwriteNonDefaultsWithLatestAvroPayload"), schema_with_defaults(), None)
    assert rule.partial is not None
    assert {"k", "t", "_hoodie_commit_time"} <= rule.partial.columns
    assert "n" not in rule.partial.columns


def test_a_marker_stands_in_columns_of_text_and_bytes() -> None:
    mode = {"table_partial_update_mode": "FILL_UNAVAILABLE", "record_merge_mode": "COMMIT_TIME_ORDERING"}
    key = "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value"
    plain = config(9, **mode)
    marked = replace(plain, merge_properties={key.removeprefix("hoodie.record.merge.property."): "?"})
    rule = merge_rule(marked, schema_with_defaults(), None)
    assert rule.partial == PartialUpdate(rule.partial.columns if rule.partial else frozenset(), "?")
    assert {"k", "t"} <= rule.partial.columns
    assert "n" not in rule.partial.columns
    assert merge_rule(plain, schema_with_defaults(), None).partial is None


def test_the_operation_column_is_looked_at_where_there_is_one() -> None:
    schema = TableSchema.from_arrow(SCHEMA.append(pa.field("_hoodie_operation", pa.string())), "t")
    assert merge_rule(config(9), schema, None).operation_column == "_hoodie_operation"
    assert merge_rule(config(9), TableSchema.from_arrow(SCHEMA, "t"), None).operation_column is None


class Sum:
    """Adds up the column v."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        return newer.set_column(newer.schema.names.index("v"), "v", pc.add(older["v"], newer["v"]))


def test_a_merger_of_the_users_own_merges_in_place_of_the_properties(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 9, "x", 1), ("b", 1, "x", 1)))
    summing = open_table(table.path, merger=Sum(), clock=table._context.clock)
    for number in (10, 100):
        summing.upsert(rows(("a", 2, "x", number), ("c", 2, "x", number)))
    summing.delete(rows(("b", 0, "x")).select(["k", "p"]))
    assert content(summing, ["k", "v"]) == [("a", 111), ("c", 110)]
    assert content(table, ["k", "v"]) == [("a", 1), ("c", 100)]


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize(
    "options", [{}, {"hoodie.index.type": "BUCKET"}, {"hoodie.table.cdc.enabled": "true"}], ids=str
)
def test_a_merger_merges_rows_of_a_copy_on_write_table_as_they_are_written(
    tmp_path: Path, version: int, options: dict[str, str]
) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", version=version, options=options)
    table.insert(rows(("a", 9, "x", 1), ("b", 1, "x", 1), ("d", 1, "y", 1)))
    summing = open_table(table.path, merger=Sum(), clock=table._context.clock)
    for number in (10, 100):
        summing.upsert(rows(("a", 2, "x", number), ("c", 2, "x", number)))
    summing.delete(rows(("b", 0, "x")).select(["k", "p"]))
    assert content(summing, ["k", "v"]) == content(table, ["k", "v"]) == [("a", 111), ("c", 110), ("d", 1)]


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_table_of_the_custom_mode_is_written_with_a_merger(tmp_path: Path, table_type: str) -> None:
    """It merges rows of one write with each other, and a table with keys that no column has."""
    new_table(tmp_path / "t", table_type=table_type, ordering=())
    edit(tmp_path / "t", "hoodie.record.merge.mode", "CUSTOM")
    edit(tmp_path / "t", "hoodie.record.merge.strategy.id", "1-2-3")
    summing = open_table(tmp_path / "t", merger=Sum())
    summing.upsert(rows(("a", 1, "x", 1), ("a", 2, "x", 2), ("b", 1, "x", 5)))
    summing.upsert(rows(("a", 3, "x", 10), ("b", 2, "x", 6), ("a", 1, "x", 20)))
    assert content(summing, ["k", "v"]) == [("a", 33), ("b", 11)]
    if table_type == "MERGE_ON_READ":
        summing.compact()
    assert content(summing, ["k", "v"]) == [("a", 33), ("b", 11)]
    with pytest.raises(UnsupportedFeatureError, match="the merge strategy 1-2-3"):
        open_table(tmp_path / "t").upsert(rows(("a", 1, "x", 1)))


def test_rows_without_meta_fields_have_the_keys_that_are_made_of_their_columns() -> None:
    rule = merge_rule(config(9, populate_meta_fields="false"), TableSchema.from_arrow(SCHEMA, "t"), None)
    assert rule.keys(rows(("a", 1), ("b", 2))).to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("key", "value", "feature"),
    [
        ("hoodie.table.base.file.format", "VORTEX", "base files of format VORTEX"),
        ("hoodie.record.merge.mode", "CUSTOM", "CUSTOM merge mode"),
        ("hoodie.table.keygenerator.type", "SPARK_SQL", "key generator SPARK_SQL"),
        ("hoodie.table.keygenerator.class", "com.example.Mine", "key generator com.example.Mine"),
    ],
)
def test_tables_that_cannot_be_written_are_refused_before_anything_is_written(
    tmp_path: Path, key: str, value: str | None, feature: str
) -> None:
    create(tmp_path / "t")
    edit(tmp_path / "t", key, value)
    before = tree(tmp_path)
    table = open_table(tmp_path / "t")
    for write in (table.insert, table.upsert, table.delete):
        with pytest.raises(UnsupportedFeatureError) as caught:
            write(rows(("a", 1, "x")))
        assert caught.value.feature == feature
    assert tree(tmp_path) == before


def test_custom_delete_markers_count_in_reads_and_writes(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 7), ("b", 1, "x", 8)))
    table.upsert(rows(("a", 2, "x", 9), ("b", 2, "x", 10)))
    edit(tmp_path / "t", "hoodie.record.merge.property.hoodie.payload.delete.field", "v")
    edit(tmp_path / "t", "hoodie.record.merge.property.hoodie.payload.delete.marker", "9")
    table = open_table(tmp_path / "t")
    assert table.snapshot(columns=["k"]).to_pydict() == {"k": ["b"]}
    table.upsert(rows(("b", 3, "x", 9), ("c", 3, "x", 9), ("d", 3, "x", 8)))
    assert table.snapshot(columns=["k"]).to_pydict() == {"k": ["d"]}


@pytest.mark.parametrize(
    ("key", "value", "feature"),
    [
        ("hoodie.table.base.file.format", "VORTEX", "base files of format VORTEX"),
        ("hoodie.record.merge.mode", "CUSTOM", "CUSTOM merge mode"),
    ],
)
def test_tables_that_cannot_be_read_are_refused_by_name(tmp_path: Path, key: str, value: str, feature: str) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 7)))
    table.upsert(rows(("a", 2, "x", 9)))
    edit(tmp_path / "t", key, value)
    with pytest.raises(UnsupportedFeatureError) as caught:
        open_table(tmp_path / "t").snapshot()
    assert caught.value.feature == feature


def test_the_metadata_table_may_be_asked_for(tmp_path: Path) -> None:
    """It is Hudi's own default."""
    create(tmp_path / "t")
    table = open_table(tmp_path / "t", options={"hoodie.metadata.enable": "true"})
    assert table.snapshot().num_rows == 0
    table.insert(rows(("a", 1, "x")))
    assert table.snapshot().num_rows == 1


BUCKETS = {"hoodie.index.type": "BUCKET"}
NON_BLOCKING = {
    **BUCKETS,
    "hoodie.write.concurrency.mode": "non_blocking_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}


@pytest.mark.parametrize(
    ("options", "operation", "feature"),
    [
        (NON_BLOCKING, Operation.INSERT_OVERWRITE, "INSERT_OVERWRITE without blocking other writers"),
        (
            {**BUCKETS, "hoodie.datasource.insert.dup.policy": "drop"},
            Operation.INSERT,
            "insert policies with a bucket index",
        ),
        (
            {**BUCKETS, "hoodie.index.bucket.engine": "CONSISTENT_HASHING"},
            Operation.DELETE_PARTITION,
            "DELETE_PARTITION with consistent hashing",
        ),
    ],
)
def test_each_is_refused_by_name(
    tmp_path: Path, options: Mapping[str, str], operation: Operation, feature: str
) -> None:
    state = new_table(tmp_path / "t", options=dict(options))._context.state()
    refuse_operation(state, Operation.UPSERT)
    with pytest.raises(UnsupportedFeatureError) as caught:
        refuse_operation(state, operation)
    assert (caught.value.feature or "").upper() == feature.upper()
