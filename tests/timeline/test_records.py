"""Records of Avro files: their schemas, defaults, and what is refused."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import fastavro
import pytest

from hudiformat.errors import CorruptTableError, EncodeError
from hudiformat.timeline.records import decode_record_file, encode_record_file, schema_text
from hudiformat.timeline.rollbacks import RestorePlan, SavepointMetadata

PATH = "/table/.hoodie/timeline/1.rollback.requested"


def container(record: Mapping[str, object], **kinds: object) -> bytes:
    schema = {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in kinds.items()]}
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, [record])
    return buffer.getvalue()


def test_the_schemas_are_hudis_but_for_their_comments(golden_tables: dict[str, Path]) -> None:
    for table, name, record in (
        ("v9-mor-failed-write-h120", "20261121055543330_20261121055543472.rollback", "HoodieRollbackMetadata"),
        ("v9-mor-archived-h120", "20261121060124282_20261121060124368.clean", "HoodieCleanMetadata"),
    ):
        path = golden_tables[table] / "table" / ".hoodie" / "timeline" / name
        with path.open("rb") as file:
            assert fastavro.reader(file).metadata["avro.schema"] == schema_text(record)


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        (RestorePlan, b"{}", "expected an Avro file"),
        (RestorePlan, container({"a": 1}, a="long"), "expected a RestorePlan: the record has none of its fields"),
        (
            SavepointMetadata,
            container({"comments": ""}, comments="string"),
            "SavepointMetadata: the field savepointedBy is missing",
        ),
        (RestorePlan, container({"version": "1"}, version="string"), "RestorePlan: expected int, found str"),
        (
            RestorePlan,
            container({"instantsToRollback": ["1"]}, instantsToRollback={"type": "array", "items": "string"}),
            "expected dict, found str",
        ),
    ],
)
def test_a_file_of_something_else_is_refused(kind: type, data: bytes, expected: str) -> None:
    with pytest.raises(CorruptTableError, match=expected) as caught:
        decode_record_file(kind, data, path=PATH)
    assert caught.value.path == PATH


def test_a_field_that_a_file_lacks_has_its_default() -> None:
    plan = decode_record_file(RestorePlan, container({"version": 1, "new": 2}, version="int", new="long"), path=PATH)
    assert plan == RestorePlan((), 1, None)


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(EncodeError, match="does not fit Hudi's schema"):
        encode_record_file(RestorePlan(version=2**40))
