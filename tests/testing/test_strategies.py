"""The public strategies give what they say, all of it, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.types as pat
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

import hudiformat as hf
from hudiformat import BlockType, LogBlock, testing
from hudiformat.avro import arrow_to_avro, avro_to_arrow, decode_records, encode_records
from hudiformat.blocks import MAGIC
from hudiformat.testing import damage
from tests.effort import THOROUGH, examples

SLOW = settings(
    deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
ANY = settings(
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=5000,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
DATA = hf.encode_block(hf.rollback_block(instant="002", target="001")) * 3
BLOCK = DATA[: len(DATA) // 3]


def schema_of(batch: pa.RecordBatch) -> str:
    return arrow_to_avro(batch.schema, name="t_record", namespace="hoodie.t")


def reaches(strategy: st.SearchStrategy[Any], condition: Callable[[Any], bool]) -> bool:
    return condition(find(strategy, condition, settings=ANY))


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_without_hypothesis_the_import_says_what_to_install() -> None:
    done = run("import sys; sys.modules['hypothesis'] = None; import hudiformat; import hudiformat.testing")
    assert done.stderr.splitlines()[-1] == (
        "ImportError: hudiformat.testing needs Hypothesis: pip install 'hudiformat[testing]'"
    )


def test_the_package_does_not_import_it() -> None:
    done = run(
        "import sys, hudiformat; print([name for name in sys.modules if 'hypothesis' in name or name.endswith('ing')"
        " and name == 'hudiformat.testing'])"
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@SLOW
@given(data=st.data(), schema=testing.avro_schemas())
def test_rows_of_an_avro_schema_are_written_and_read(data: st.DataObject, schema: str) -> None:
    batch = data.draw(testing.batches(schema, max_rows=4))
    assert batch.schema == avro_to_arrow(schema)
    decoded = decode_records(encode_records(batch, schema), batch.num_rows, schema)
    assert repr(decoded.to_pylist()) == repr(batch.to_pylist())


@SLOW
@given(data=st.data(), schema=testing.schemas())
def test_a_batch_has_the_schema_that_was_asked_for(data: st.DataObject, schema: pa.Schema) -> None:
    batch = data.draw(testing.batches(schema, max_rows=2))
    batch.validate(full=True)
    assert batch.schema == schema
    assert batch.num_rows <= 2


@SLOW
@given(data=st.data(), batch=testing.batches())
def test_variants_hold_the_same_rows_and_have_the_same_bytes(data: st.DataObject, batch: pa.RecordBatch) -> None:
    varied = data.draw(testing.variants(batch))
    assert repr(varied.to_pylist()) == repr(batch.to_pylist())
    assert encode_records(varied, schema_of(batch)) == encode_records(batch, schema_of(batch))


@SLOW
@given(batch=testing.batches(varied=True))
def test_varied_batches_are_written_by_a_schema_of_their_own(batch: pa.RecordBatch) -> None:
    assert hf.data_block(batch, instant="001").num_records() == batch.num_rows


AVRO_PARTS = ["enum", "fixed", "decimal", "uuid", "time-millis", "time-micros", "date", "timestamp-millis", "map"]
AVRO_PARTS += ["timestamp-micros", "local-timestamp-millis", "local-timestamp-micros", "array", '"null"]', '["null"']


def test_avro_schemas_have_every_type() -> None:
    missing = set(AVRO_PARTS)

    def none_missing(schema: str) -> bool:
        missing.difference_update([part for part in missing if part in schema])
        return not missing

    assert reaches(testing.avro_schemas(), none_missing)


def test_avro_schemas_have_unions_of_several_types_and_types_by_name() -> None:
    def fields(schema: str) -> list[Any]:
        return [field["type"] for field in json.loads(schema)["fields"]]

    def several(kind: Any) -> bool:
        return isinstance(kind, list) and len(kind) > 2

    assert reaches(testing.avro_schemas(), lambda schema: any(map(several, fields(schema))))
    assert reaches(
        testing.avro_schemas(1), lambda schema: any(str(kind).startswith("named") for kind in fields(schema))
    )


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


@SLOW
@given(block=testing.data_blocks())
def test_data_blocks_can_be_read(block: LogBlock) -> None:
    rows = block.to_arrow()
    assert rows.schema.names == ["_hoodie_record_key", "a", "b"]
    assert rows.num_rows == block.num_records()
    positions = block.positions()
    assert positions is None or len(positions) == rows.num_rows
    if block.type is BlockType.HFILE_DATA:
        assert rows[0].to_pylist() == sorted(rows[0].to_pylist(), key=str.encode)


@given(block=testing.data_blocks(testing.batches(pa.schema([("x", pa.int8())])), formats=("cdc",)))
def test_data_blocks_hold_the_rows_that_were_asked_for(block: LogBlock) -> None:
    assert block.type is BlockType.CDC_DATA
    assert block.to_arrow().schema.names == ["x"]


@SLOW
@given(block=testing.delete_blocks())
def test_delete_blocks_can_be_read(block: LogBlock) -> None:
    deletes = block.deletes()
    assert deletes.num_rows == block.num_records()
    assert set(deletes["partition_path"].to_pylist()) <= {"", "p", "year=2024/ü"}


ORDERING_KINDS = (
    pat.is_boolean, pat.is_int32, pat.is_int64, pat.is_float32, pat.is_float64, pat.is_string, pat.is_binary,
    pat.is_date32, pat.is_timestamp, pat.is_decimal, pat.is_struct,
)  # fmt: skip


def test_delete_blocks_have_ordering_values_of_every_type() -> None:
    missing = set(ORDERING_KINDS)
    enough = 0 if THOROUGH else len(ORDERING_KINDS) // 2  # the last of them take hundreds of examples

    def few_missing(block: LogBlock) -> bool:
        missing.difference_update([is_kind for is_kind in missing if is_kind(block.deletes()["ordering"].type)])
        return len(missing) <= enough

    assert reaches(testing.delete_blocks(), few_missing)


@given(block=testing.rollback_blocks())
def test_rollback_blocks_name_their_target(block: LogBlock) -> None:
    assert block.type is BlockType.COMMAND
    assert len(block.target_instant or "") == len(block.instant or "") == 3


@SLOW
@given(file=testing.log_files())
def test_log_files_hold_their_blocks(file: testing.LogFile) -> None:
    assert tuple(hf.LogReader(file.data)) == file.blocks


@given(file=testing.log_files(testing.rollback_blocks(), max_blocks=2))
def test_log_files_hold_only_the_blocks_that_were_asked_for(file: testing.LogFile) -> None:
    assert {block.type for block in file.blocks} <= {BlockType.COMMAND}
    assert len(file.blocks) <= 2


@SLOW
@given(block=testing.blocks(magic_inside=False))
def test_a_magic_stands_only_where_it_may(block: LogBlock) -> None:
    assert hf.encode_block(block).count(MAGIC) == 1


@pytest.mark.parametrize("kind", [kind for kind in BlockType if kind is not BlockType.CORRUPT])
def test_blocks_are_of_every_type(kind: BlockType) -> None:
    assert reaches(testing.blocks(), lambda block: block.type is kind)


def test_blocks_hold_magics() -> None:
    assert reaches(testing.blocks(), lambda block: bytes(block.content).count(MAGIC) > 1)


@SLOW
@given(data=testing.damaged_log_files(most=1))
def test_damaged_files_are_bytes_that_can_be_read(data: bytes) -> None:
    assert sum(block.size or 0 for block in hf.LogReader(data)) > len(data) - len(MAGIC)


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(lambda data: DATA.startswith(data) and len(data) < len(DATA), id="a cut"),
        pytest.param(lambda data: len(data) == len(DATA) and sum(map(int.__ne__, data, DATA)) == 1, id="a flip"),
        pytest.param(lambda data: data.startswith(DATA) and not any(data[len(DATA) :]), id="zeros at the end"),
        pytest.param(lambda data: MAGIC * 2 in data, id="a magic twice"),
        pytest.param(lambda data: data.endswith(DATA) and len(data) > len(DATA), id="junk in front"),
        pytest.param(lambda data: data != DATA and data in (DATA + DATA[:77], DATA[:77]), id="blocks repeated or lost"),
        pytest.param(
            lambda data: data[14:] == BLOCK[14:] and data[:6] == BLOCK[:6] and data[:10] != BLOCK[:10],
            id="a size that lies",
        ),
    ],
)
def test_damage_is_of_every_kind(condition: Callable[[bytes], bool]) -> None:
    assert reaches(testing.damaged(DATA, most=1) | testing.damaged(BLOCK, most=1), condition)


@pytest.mark.parametrize("data", [b"", b"no block", MAGIC + bytes(50), DATA[:50], b"#HUDI#" + b"\x7f" * 60])
def test_what_is_no_sound_file_can_be_damaged_too(data: bytes) -> None:
    @SLOW
    @given(found=testing.damaged(data))
    def bytes_come_out(found: bytes) -> None:
        assert isinstance(found, bytes)

    bytes_come_out()


@pytest.mark.parametrize("lie", [-1, 0, 2, 9, 62, 64, 63 + 2**32, 2**31 - 1, 2**63 - 1, 166, 77])
def test_numbers_lie_in_every_way(lie: int) -> None:
    """77 leads from the first of three blocks of 77 bytes over the second: the content begins 89 before the third."""
    assert reaches(damage._lies(63, 8, 166, [12, 89]), lambda found: found == lie)


def test_the_numbers_of_an_envelope_are_known_by_place() -> None:
    block = DATA[:77]
    assert damage._places(block)[-3:] == [(57, 8), (65, 4), (69, 8)]
    assert damage._places(block[:60])[-1] == (30, 4)
    assert damage._places(block[:57] + b"\x7f" + block[58:])[-1] == (57, 8)
