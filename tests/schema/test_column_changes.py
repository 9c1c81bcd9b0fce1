"""Changes of columns by their paths, as of a tree alone; what tables do with them is in tests/write/test_evolve.py."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.codec.avro.schema import arrow_to_avro
from hudiformat.codec.avro.types import walk_columns
from hudiformat.schema.column_changes import ColumnChanges
from hudiformat.schema.internal_schema import InternalSchema
from tests.schema_changes import first_rows

BEFORE = InternalSchema.first(arrow_to_avro(first_rows().schema, name="t_record", namespace="hoodie.t"))


def ids(schema: InternalSchema) -> dict[str, int]:
    return {path: column.id for path, column in walk_columns(schema.record)}


def test_several_changes_are_named_by_the_paths_before_them() -> None:
    changes = ColumnChanges(
        rename={"n": "nn", "n.o": "oo", "n.o.x": "xx"}, widen={"n.o.x": pa.int64()}, drop=["s", "n.b"]
    )
    after = changes.on(BEFORE, by_ids=True, kept=())
    found, before = ids(after), ids(BEFORE)
    assert found["nn.oo.xx"] == before["n.o.x"]
    assert {"s", "n", "nn.b"}.isdisjoint(found)
    assert dict(walk_columns(after.record))["nn.oo.xx"].kind.__str__() == "long"
    assert after.max_id == BEFORE.max_id


def test_what_is_added_gets_the_next_ids_in_order() -> None:
    changes = ColumnChanges(add={"z": pa.struct([("x", pa.int32())]), "n.z": pa.int32(), "r.element.z": pa.int32()})
    after = changes.on(BEFORE, by_ids=False, kept=())
    new = {path: number - BEFORE.max_id for path, number in ids(after).items() if path not in ids(BEFORE)}
    assert new == {"n.z": 3, "r.element.z": 4, "z": 1, "z.x": 2}
    assert after.max_id == BEFORE.max_id + 4


def test_names_alone_bear_additions_and_wider_types() -> None:
    assert not ColumnChanges(add={"z": pa.int32()}, widen={"i": pa.int64()}, nullable=["q"]).needs_ids
    assert ColumnChanges(rename={"i": "j"}).needs_ids
    assert ColumnChanges(drop=["i"]).needs_ids
