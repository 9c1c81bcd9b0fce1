"""Random Avro schemas have all types, and rows of them can be written."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hudiformat import testing
from hudiformat.codec.avro.decode import decode_records
from hudiformat.codec.avro.encode import encode_records
from hudiformat.codec.avro.schema import avro_to_arrow
from tests.effort import only_long
from tests.testing.support import SLOW, reaches


@SLOW
@given(data=st.data(), schema=testing.avro_schemas())
def test_rows_of_an_avro_schema_are_written_and_read(data: st.DataObject, schema: str) -> None:
    batch = data.draw(testing.batches(schema, max_rows=4))
    assert batch.schema == avro_to_arrow(schema)
    decoded = decode_records(encode_records(batch, schema), batch.num_rows, schema)
    assert repr(decoded.to_pylist()) == repr(batch.to_pylist())


AVRO_PARTS = ["enum", "fixed", "decimal", "uuid", "time-millis", "time-micros", "date", "timestamp-millis", "map"]
AVRO_PARTS += ["timestamp-micros", "local-timestamp-millis", "local-timestamp-micros", "array", '"null"]', '["null"']


def test_avro_schemas_have_every_type() -> None:
    missing = set(AVRO_PARTS)

    def none_missing(schema: str) -> bool:
        missing.difference_update([part for part in missing if part in schema])
        return not missing

    assert reaches(testing.avro_schemas(), none_missing)


@only_long
def test_avro_schemas_have_unions_of_several_types_and_types_by_name() -> None:
    def fields(schema: str) -> list[Any]:
        return [field["type"] for field in json.loads(schema)["fields"]]

    def several(kind: Any) -> bool:
        return isinstance(kind, list) and len(kind) > 2

    assert reaches(testing.avro_schemas(), lambda schema: any(map(several, fields(schema))))
    assert reaches(
        testing.avro_schemas(1), lambda schema: any(str(kind).startswith("named") for kind in fields(schema))
    )
