"""Record keys and partition paths that are made of fields of structs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.tables import tree

pytestmark = pytest.mark.unmeasured

INNER = pa.struct([("k", pa.string()), ("p", pa.string()), ("deep", pa.struct([("n", pa.int32())]))])
SCHEMA = pa.schema([("o", pa.int64()), ("st", INNER), ("v", pa.int32())])


def rows(*values: tuple[str, int, int]) -> pa.Table:
    """Rows of keys, ordering values and values; the partition is by the key."""
    found = [
        {"o": o, "st": {"k": key, "p": "xy"[ord(key) % 2], "deep": {"n": ord(key) % 2}}, "v": value}
        for key, o, value in values
    ]
    return pa.Table.from_pylist(found, SCHEMA)


def create(path: Path, **more: Any) -> hf.Table:
    given: dict[str, Any] = {"name": "t", "schema": SCHEMA, "record_key": "st.k", "ordering": "o"}
    return hf.create_table(path, **{**given, "partition_by": "st.p", **more})


def values(found: hf.Table | pa.Table) -> list[tuple[str, int]]:
    found = found.snapshot() if isinstance(found, hf.Table) else found
    return sorted((row["st"]["k"], row["v"]) for row in found.select(["st", "v"]).to_pylist())


@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE", "BUCKET", "RECORD_INDEX"])
@pytest.mark.parametrize("meta", ["true", "false"])
@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_fields_of_structs_give_keys_and_paths(
    table_type: str, version: int, meta: str, index: str, tmp_path: Path
) -> None:
    if index == "RECORD_INDEX" and meta == "false":
        return
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2", "hoodie.populate.meta.fields": meta}
    options["hoodie.metadata.enable"] = "true"
    options |= {"hoodie.metadata.record.index.enable": "true"} if index == "RECORD_INDEX" else {}
    fields = {"partition_by": ["st.p", "st.deep.n"], "record_key": ["st.k", "st.deep.n"]}
    create(tmp_path / "t", table_type=table_type, version=version, options=options, **(fields if version == 9 else {}))
    table = hf.open_table(tmp_path / "t", options={"hoodie.index.type": index})
    table.insert(rows(("a", 1, 1), ("b", 1, 2), ("c", 1, 3)))
    table.upsert(rows(("a", 2, 5), ("d", 1, 4), ("c", 0, 0)))
    table.delete(rows(("b", 1, 2)))
    table.update({"v": 9}, where="st.k = 'c'")
    table.merge(rows(("a", 3, 50), ("e", 1, 7)), when_matched=[hf.Update()], when_not_matched=[hf.Insert()])
    table.delete(where="st.k = 'd'")
    expected = [("a", 50), ("c", 9), ("e", 7)]
    assert values(table) == expected
    if table_type == "MERGE_ON_READ":
        table.compact()
    elif index != "BUCKET":
        table.cluster()
    assert values(hf.open_table(tmp_path / "t")) == expected
    assert table.snapshot(filter="st.p = 'y'").num_rows == 3
    paths = {str(one) for one in table.partitions()}
    assert "y/1" in paths if version == 9 else "y" in paths
    assert table.verify() == []


def test_a_struct_that_is_null_is_in_the_default_partition_and_has_no_key(tmp_path: Path) -> None:
    table = create(tmp_path / "t", record_key="o", ordering=[])
    table.insert(pa.Table.from_pylist([{"o": 1, "st": None, "v": 1}], SCHEMA))
    assert list(map(str, table.partitions())) == ["__HIVE_DEFAULT_PARTITION__"]
    other = create(tmp_path / "u")
    with pytest.raises(hf.DataError, match=r"record key st.k: null or empty in 1 of 1 rows"):
        other.insert(pa.Table.from_pylist([{"o": 1, "st": None, "v": 1}], SCHEMA))


def test_a_struct_may_get_fields_and_its_keys_no_other_type(tmp_path: Path) -> None:
    table = create(tmp_path / "t", record_key="st.deep.n", partition_by=[])
    table.insert(rows(("a", 1, 1)))
    wider = pa.struct([*INNER, pa.field("more", pa.string())])
    inner = {"k": "a", "p": "x", "deep": {"n": 1}, "more": "new"}
    schema = SCHEMA.set(1, pa.field("st", wider))
    table.upsert(pa.Table.from_pylist([{"o": 2, "st": inner, "v": 2}], schema))
    assert table.snapshot()["st"].to_pylist() == [inner]
    deep = pa.struct([*list(wider)[:2], pa.field("deep", pa.struct([("n", pa.float64())])), *list(wider)[3:]])
    with pytest.raises(hf.SchemaError, match=r"column st.deep.n of type int32 cannot become double: existing rows"):
        table.upsert(pa.Table.from_pylist([{"o": 3, "st": inner, "v": 2}], SCHEMA.set(1, pa.field("st", deep))))


@pytest.mark.parametrize(
    "more", [{"record_key": "st.x"}, {"partition_by": "st.p.q"}, {"ordering": "st.k"}, {"record_key": "o.x"}]
)
def test_a_field_that_is_not_there_is_no_column(more: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(hf.SchemaError, match=next(iter(more.values()))):
        create(tmp_path / "t", **more)
    assert not tree(tmp_path / "t")


def test_keys_and_paths_cannot_be_set(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.insert(rows(("a", 1, 1)))
    with pytest.raises(hf.SchemaError, match="st"):
        table.update({"st": None})
