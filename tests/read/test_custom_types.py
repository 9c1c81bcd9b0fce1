"""Tables with vectors and blobs that Hudi 1.2.0 wrote: read, written on, compacted, clustered."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from benchmarks.vectors import vectors
from hudiformat.catalogs.column_types import hive_type, spark_schema_text
from hudiformat.cli.app import run
from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.avro.types import parse_avro_types
from hudiformat.codec.custom_types import BLOB_TYPE, VARIANT_TYPE
from hudiformat.file_group.base_file.copying import CopiedBaseFile
from tests.foreign.foreign_tables import names, unpack

CUSTOM = names("types-custom-")
TYPES = {
    "v": pa.list_(pa.float32(), 3),
    "w": pa.list_(pa.float32(), 3),
    "d": pa.list_(pa.float64(), 2),
    "i": pa.list_(pa.int8(), 4),
}


def own(table: pa.Table) -> list[dict[str, Any]]:
    """The rows without meta fields, by key."""
    rows: list[dict[str, Any]] = table.sort_by("k").to_pylist()
    return [{name: row[name] for name in row if not name.startswith("_hoodie")} for row in rows]


@pytest.mark.parametrize("name", [*CUSTOM, *names("types-vector-")])
def test_the_rows_are_those_of_hudi(name: str, tmp_path: Path) -> None:
    foreign = unpack(name, tmp_path)
    table = hf.open_table(foreign.path)
    expected = own(foreign.rows("snapshot"))
    rows = table.snapshot()
    assert own(rows) == expected
    assert own(table.scan(batch_size=1).read_all()) == expected
    assert own(table.incremental("000")) == expected
    for column in ("w", "b", "bs") if name in CUSTOM else ("v",):
        alone = table.snapshot(columns=["k", column])
        assert own(alone) == [{"k": row["k"], column: row[column]} for row in expected]
        assert alone.schema.field(column).equals(rows.schema.field(column), check_metadata=True)
    if name in CUSTOM:
        assert {column: rows.schema.field(column).type for column in TYPES} == TYPES
        assert rows.schema.field("b").metadata == {b"hudi_type": b"BLOB"}
    assert table.verify() == []
    assert table.repair().steps == ()


@pytest.mark.parametrize("name", CUSTOM)
def test_they_are_written_on(name: str, tmp_path: Path) -> None:
    table = hf.open_table(unpack(name, tmp_path).path)
    expected = {row["k"]: row for row in own(table.snapshot())}
    given = table.snapshot(filter="k = 'b'").to_pylist()[0]
    row = {**given, "o": 7, "v": None, "w": [1.0, 2.0, 3.0], "b": {"type": "INLINE", "data": b"new", "reference": None}}
    row = {column: row[column] for column in row if not column.startswith("_hoodie")}
    lists = pa.Table.from_pylist([row]).cast(
        pa.schema(
            [
                field.with_type(pa.list_(TYPES[field.name].value_type))
                if field.name in TYPES
                else field.remove_metadata()
                for field in table.snapshot().select(list(row)).schema
            ]
        )
    )
    table.upsert(lists)
    expected["b"] = row
    table.update({"o": 8}, where="k = 'a'")
    expected["a"]["o"] = 8
    table.delete(where="k = 'c'")
    del expected["c"]
    steps: list[Any] = [table.compact] if "mor" in name else []
    for step in (lambda: None, *steps, table.cluster, lambda: table.upsert(lists)):
        step()
        assert own(table.snapshot()) == [expected[key] for key in sorted(expected)]
        assert table.verify() == []


@pytest.mark.parametrize("name", CUSTOM)
def test_the_schema_stays_as_hudi_wrote_it(name: str, tmp_path: Path) -> None:
    table = hf.open_table(unpack(name, tmp_path).path)
    before = table.snapshot().schema
    rows = table.snapshot()
    table.upsert(rows.select([column for column in rows.column_names if not column.startswith("_hoodie")]))
    assert table.snapshot().schema.equals(before, check_metadata=True)


def test_a_vector_of_another_size_is_refused(tmp_path: Path) -> None:
    table = hf.open_table(unpack("types-vector-cow9-h120", tmp_path).path)
    rows = pa.table({"k": ["a"], "o": pa.array([2], pa.int32()), "v": pa.array([[1, 2]], pa.list_(pa.float32(), 2))})
    with pytest.raises(hf.SchemaError, match=r"column v is of type .*, which does not fit .*vectors of 3 numbers"):
        table.upsert(rows)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_columns_are_added_beside_vectors_and_vectors_beside_columns(table_type: str, tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("v", pa.list_(pa.float32(), 2))])
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k", table_type=table_type)
    table.insert(pa.Table.from_pylist([{"k": "a", "v": [1, 2]}, {"k": "b", "v": None}], schema))
    wider = schema.append(pa.field("w", pa.list_(pa.float32(), 2))).append(pa.field("n", pa.int32()))
    table.upsert(pa.Table.from_pylist([{"k": "b", "v": [3, 4], "w": [5, 6], "n": 1}], wider))
    assert own(table.snapshot()) == [
        {"k": "a", "v": [1, 2], "w": None, "n": None},
        {"k": "b", "v": [3, 4], "w": [5, 6], "n": 1},
    ]
    assert table.snapshot().schema.field("w").type == pa.list_(pa.float32(), 2)
    assert table.verify() == []


def test_lists_of_fixed_size_fit_a_table_of_lists(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("v", pa.list_(pa.float32()))])
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k")
    rows = pa.table({"k": ["a"], "v": pa.array([[1, 2]], pa.list_(pa.float32(), 2))})
    table.upsert(rows)
    assert table.snapshot(columns=["k", "v"]).schema.equals(schema)
    assert own(table.snapshot()) == [{"k": "a", "v": [1, 2]}]


BLOB_FIELD = pa.field("b", BLOB_TYPE, metadata={"hudi_type": "BLOB"})
INLINE = {"type": "INLINE", "data": b"x", "reference": None}


@pytest.mark.parametrize(
    ("field", "what"),
    [
        (pa.field("v", pa.list_(pa.float32(), 2)), "a vector"),
        (BLOB_FIELD, "a blob"),
        (pa.field("s", pa.struct([BLOB_FIELD])), "a blob"),
        (pa.field("x", VARIANT_TYPE, metadata={"hudi_type": "VARIANT"}), "a variant"),
    ],
    ids=str,
)
def test_orc_has_none_of_them_in_hudi_and_refuses_them_by_name(field: pa.Field, what: str, tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), field])
    options = {"hoodie.table.base.file.format": "ORC"}
    with pytest.raises(hf.UnsupportedFeatureError, match=f"found {what} in base files of format ORC"):
        hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k", options=options)
    assert not (tmp_path / "t").exists()


def test_blobs_keep_their_form_in_an_internal_schema(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), BLOB_FIELD, pa.field("x", VARIANT_TYPE, metadata={"hudi_type": "VARIANT"})])
    table = hf.create_table(
        tmp_path / "t", name="t", schema=schema, record_key="k", options={"hoodie.schema.on.read.enable": "true"}
    )
    row = {"k": "a", "b": INLINE, "x": {"metadata": b"\x01\x00\x00", "value": b"\x0c\x01"}}
    table.insert(pa.Table.from_pylist([row], schema))
    table.evolve(add={"c": BLOB_FIELD}, rename={"b": "image"})
    assert own(table.snapshot()) == [{"k": "a", "image": INLINE, "x": row["x"], "c": None}]
    assert table.snapshot().schema.field("c").metadata == {b"hudi_type": b"BLOB"}
    assert table.snapshot().schema.field("x").metadata == {b"hudi_type": b"VARIANT"}
    evolved = table.snapshot(columns=["k", "image", "x", "c"]).schema
    table.upsert(pa.Table.from_pylist([{**row, "image": None, "c": INLINE}], evolved))
    assert own(table.snapshot()) == [{"k": "a", "image": None, "x": row["x"], "c": INLINE}]
    [history] = sorted((tmp_path / "t" / ".hoodie" / ".schema").glob("*.schemacommit"))[-1:]
    ids = re.findall(r'"id":(-\d+),"name":"(\w+)"', history.read_text().replace(" ", ""))
    assert set(ids) == {("-10", "type"), ("-11", "data"), ("-12", "reference"), ("-1", "value"), ("-2", "metadata")}


def test_vectors_are_refused_beside_an_internal_schema_which_hudi_could_not_read(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("v", pa.list_(pa.float32(), 2)), ("n", pa.int32())])
    on_read = {"hoodie.schema.on.read.enable": "true"}
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k")
    table.insert(pa.Table.from_pylist([{"k": "a", "v": [1, 2], "n": 1}], schema))
    with pytest.raises(hf.UnsupportedFeatureError, match="the column v: expected no vector in a table whose columns"):
        hf.open_table(tmp_path / "t", options=on_read).evolve(rename={"n": "m"})
    table.evolve(add={"w": pa.list_(pa.int8(), 4)})
    assert own(table.snapshot()) == [{"k": "a", "v": [1, 2], "n": 1, "w": None}]

    plain = hf.create_table(tmp_path / "p", name="p", schema=schema.remove(1), record_key="k", options=on_read)
    plain.insert(pa.Table.from_pylist([{"k": "a", "n": 1}], schema.remove(1)))
    plain.evolve(rename={"n": "m"})
    with pytest.raises(hf.UnsupportedFeatureError, match="the column v: expected no vector"):
        plain.upsert(
            pa.Table.from_pylist([{"k": "a", "m": 1, "v": [1, 2]}], pa.schema([*schema.remove(2), ("m", pa.int32())]))
        )


def test_a_vector_inside_a_struct_is_not_added(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("s", pa.struct([("a", pa.int32())]))])
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k")
    with pytest.raises(hf.SchemaError, match="column s.v cannot be added: expected a vector as a column of the table"):
        table.evolve(add={"s.v": pa.list_(pa.float32(), 2)})


def test_a_blob_that_is_neither_inline_nor_out_of_line_is_not_written(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), BLOB_FIELD])
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k")
    with pytest.raises(
        hf.DataError, match="column b, value 0 of its batch: expected a blob that is INLINE and has data"
    ):
        table.insert(pa.Table.from_pylist([{"k": "a", "b": {**INLINE, "data": None}}], schema))
    assert table.count() == 0


def test_change_data_of_tables_with_vectors_are_refused_as_hudi_cannot_write_them(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("v", pa.list_(pa.float32(), 2)), BLOB_FIELD])
    logged = {"hoodie.table.cdc.enabled": "true"}
    refused = pytest.raises(hf.UnsupportedFeatureError, match="the column v: expected no vector in a table that logs")
    with refused:
        hf.create_table(tmp_path / "t", name="t", schema=schema, record_key="k", options=logged)
    assert not (tmp_path / "t").exists()
    table = hf.create_table(
        tmp_path / "b", name="t", schema=schema.remove(1), record_key="k", table_type="COPY_ON_WRITE", options=logged
    )
    first = table.insert(pa.Table.from_pylist([{"k": "a", "b": INLINE}], schema.remove(1)))
    with refused:
        table.evolve(add={"v": pa.list_(pa.float32(), 2)})
    table.upsert(pa.Table.from_pylist([{"k": "a", "b": {**INLINE, "data": b"y"}}], schema.remove(1)))
    [change] = table.cdc(first).to_pylist()
    assert json.loads(change["before"])["b"] == {**INLINE, "data": "x"}
    assert json.loads(change["after"])["b"] == {**INLINE, "data": "y"}


def test_changes_of_a_table_without_a_log_of_changes_are_refused_as_ever(tmp_path: Path) -> None:
    table = hf.open_table(unpack("types-vector-mor9-h120", tmp_path).path)
    with pytest.raises(hf.UnsupportedFeatureError):
        table.cdc("000")


def test_the_command_line_prints_and_reads_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = unpack("types-custom-cow9-h120", tmp_path).path
    assert run(["read", str(path), "--columns", "k,v,b", "--where", "k = 'a'", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["v"] == [1.0, 2.0, 2.0]
    assert row["b"] == {"type": "INLINE", "data": "6161", "reference": None}


def test_catalogs_are_told_of_bytes_and_structs() -> None:
    schema = pa.schema(
        [("v", pa.list_(pa.float32(), 3)), pa.field("x", VARIANT_TYPE, metadata={"hudi_type": "VARIANT"})]
    )
    avro = arrow_to_avro(schema.append(BLOB_FIELD), name="t_record", namespace="hoodie.t")
    columns = parse_avro_types(avro).columns
    assert [hive_type(column, timestamps=True) for column in columns[:2]] == [
        "binary",
        "struct<metadata:binary,value:binary>",
    ]
    fields = json.loads(spark_schema_text(columns))["fields"]
    assert [field["metadata"] for field in fields] == [{}, {}, {"hudi_type": "BLOB"}]
    assert fields[0]["type"] == "binary"
    assert [one["name"] for one in fields[2]["type"]["fields"]] == ["type", "data", "reference"]


def test_row_groups_with_vectors_are_copied_by_a_clustering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    close = CopiedBaseFile.close

    def note(file: CopiedBaseFile, avro_schema: str, *, bloom_filter: bool) -> int:
        copied.append(avro_schema)
        return close(file, avro_schema, bloom_filter=bloom_filter)

    monkeypatch.setattr(CopiedBaseFile, "close", note)
    rows = vectors(2400, 1024)
    options = {"hoodie.parquet.compression.codec": "snappy", "hoodie.parquet.small.file.limit": "0"}
    table = hf.create_table(
        tmp_path / "t", name="t", schema=rows.schema, record_key="k", table_type="COPY_ON_WRITE", options=options
    )
    for first in (0, 1200):
        table.bulk_insert(rows.slice(first, 1200))
    before = table.snapshot(columns=["k", "v"]).sort_by("k")
    assert table.cluster()
    assert copied
    assert table.snapshot(columns=["k", "v"]).sort_by("k").equals(before)
    [slice_] = table.file_slices()
    assert slice_.base_file is not None
    footer = pq.read_metadata(tmp_path / "t" / str(slice_.base_file.name)).metadata or {}
    assert footer[b"hoodie.vector.columns"] == b"v:VECTOR(1024)"
    assert table.verify() == []
