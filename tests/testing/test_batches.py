"""Random batches have the requested schema, and their variants the same rows."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.types as pat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hudiformat as hf
from hudiformat import testing
from hudiformat.codec.avro.encode import encode_records
from tests.testing.support import SLOW, reaches, schema_of


@SLOW
@given(data=st.data(), schema=testing.schemas())
def test_a_batch_has_the_requested_schema(data: st.DataObject, schema: pa.Schema) -> None:
    batch = data.draw(testing.batches(schema, max_rows=2))
    batch.validate(full=True)
    assert batch.schema == schema
    assert batch.num_rows <= 2


@SLOW
@given(data=st.data(), batch=testing.batches())
def test_variants_have_the_same_rows_and_the_same_bytes(data: st.DataObject, batch: pa.RecordBatch) -> None:
    varied = data.draw(testing.variants(batch))
    assert repr(varied.to_pylist()) == repr(batch.to_pylist())
    assert encode_records(varied, schema_of(batch)) == encode_records(batch, schema_of(batch))


@SLOW
@given(batch=testing.batches(varied=True))
def test_varied_batches_are_written_by_their_own_schema(batch: pa.RecordBatch) -> None:
    assert hf.data_block(batch, instant="001").num_records() == batch.num_rows


@pytest.mark.parametrize("size", range(1, 11))
def test_nullable_longs_have_varints_of_every_length(size: int) -> None:
    schema = pa.schema([pa.field("n", pa.int64())])

    def has(batch: pa.RecordBatch) -> bool:
        records = bytes(encode_records(batch, schema_of(batch)))
        return batch["n"].null_count > 0 and bytes([0, 0, 0, size + 1, 2]) in records

    assert reaches(testing.batches(schema), has)


@pytest.mark.parametrize(
    "is_kind", [pat.is_dictionary, pat.is_string_view, pat.is_large_string, pat.is_binary_view, pat.is_large_binary]
)
def test_variants_have_every_kind_of_column(is_kind: Callable[[pa.DataType], bool]) -> None:
    batch = pa.record_batch({"a": ["x"], "b": [b"y"], "c": [[1]]})
    assert reaches(testing.variants(batch), lambda found: any(is_kind(kind) for kind in found.schema.types))
    assert reaches(testing.variants(batch), lambda found: found["a"].offset > 0)
