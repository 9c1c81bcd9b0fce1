from __future__ import annotations

import base64
import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

import hudiformat
from hudiformat.codec.log.batches import record_batches
from hudiformat.codec.log.block import (
    LogBlock,
    decode_block,
    decode_positions,
    encode_block,
    encode_block_parts,
    encode_positions,
)
from hudiformat.codec.log.build import data_block, delete_block, rollback_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import (
    CorruptBlockError,
    EncodeError,
    HudiFormatError,
    SchemaError,
    TruncatedBlockError,
    UnsupportedFeatureError,
)
from hudiformat.wire import INT32_MAX
from tests.codec.log.vectors import AVRO, DELETE, ROLLBACK, SCHEMA, envelope

BATCH = pa.record_batch({"a": pa.array([1, 2], pa.int32()), "b": pa.array(["x", None]), "c": pa.array([0.5, 1.5])})


BLOCK = data_block(BATCH, instant="001")


HEADER = BlockHeader({HeaderKey.INSTANT_TIME: "001", HeaderKey.SCHEMA: SCHEMA})


def test_without_a_schema_the_rows_come_as_they_were_written() -> None:
    assert BLOCK.to_arrow() == BATCH


def test_with_a_schema_columns_go_by_name_and_are_promoted_and_missing_ones_are_null() -> None:
    target = pa.schema([("c", pa.float64()), ("d", pa.string()), ("a", pa.int64())])
    batch = BLOCK.to_arrow(target)
    assert batch.schema == target
    assert batch.to_pydict() == {"c": [0.5, 1.5], "d": [None, None], "a": [1, 2]}


def test_columns_are_picked_in_the_order_asked_for() -> None:
    batch = BLOCK.to_arrow(columns=["c", "a"])
    assert batch.to_pydict() == {"c": [0.5, 1.5], "a": [1, 2]}
    assert BLOCK.to_arrow(columns=[]).num_rows == 2


def test_columns_pick_from_the_schema_where_there_is_one() -> None:
    target = pa.schema([("a", pa.int64()), ("b", pa.string()), ("d", pa.string())], metadata={"k": "v"})
    batch = BLOCK.to_arrow(target, columns=["d", "a"])
    assert batch.schema == pa.schema([("d", pa.string()), ("a", pa.int64())])
    assert batch.schema.metadata == {b"k": b"v"}
    assert batch.to_pydict() == {"d": [None, None], "a": [1, 2]}


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(SchemaError, match="no column 'z'"):
        BLOCK.to_arrow(columns=["z"])
    with pytest.raises(SchemaError, match=re.escape("no column 'c'; the columns are a")) as caught:
        BLOCK.to_arrow(pa.schema([("a", pa.int64())]), columns=["a", "c"])
    assert caught.value.column == "c"


def test_rows_that_cannot_be_brought_to_the_schema_are_refused() -> None:
    with pytest.raises(SchemaError, match="column a"):
        BLOCK.to_arrow(pa.schema([("a", pa.bool_())]))
    with pytest.raises(SchemaError, match="column d .* required and missing"):
        BLOCK.to_arrow(pa.schema([pa.field("d", pa.string(), nullable=False)]))


def test_a_block_without_a_schema_says_so() -> None:
    block = LogBlock(BlockType.AVRO_DATA, BlockHeader(), b"", offset=77)
    with pytest.raises(CorruptBlockError, match="at byte 77: a block of type AVRO_DATA without a SCHEMA header"):
        block.to_arrow()
    assert block.instant is None


@pytest.mark.parametrize("schema", ["", "{", '"int"', "\ufffd"])
def test_a_schema_that_is_none_is_an_error_of_ours(schema: str) -> None:
    header = BlockHeader({HeaderKey.SCHEMA: schema})
    with pytest.raises(SchemaError):
        LogBlock(BlockType.AVRO_DATA, header, bytes.fromhex("00000003 00000000")).to_arrow()


def test_a_command_or_corrupt_block_has_no_records() -> None:
    assert rollback_block(instant="002", target="001").num_records() == 0
    assert LogBlock(BlockType.CORRUPT, BlockHeader(), b"junk").num_records() == 0


@pytest.mark.parametrize("kind", [BlockType.COMMAND, BlockType.CORRUPT, BlockType.DELETE])
def test_a_block_without_rows_gives_none(kind: BlockType) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"to_arrow..: expected a block of type AVRO.*found {kind.name}"):
        LogBlock(kind, HEADER, b"").to_arrow()


@pytest.mark.parametrize("kind", [BlockType.COMMAND, BlockType.CORRUPT, BlockType.AVRO_DATA])
def test_a_block_without_deletes_gives_none(kind: BlockType) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"expected a block of type DELETE, found {kind.name}; "):
        LogBlock(kind, HEADER, b"").deletes()


@settings(deadline=None)
@given(
    kind=st.sampled_from(BlockType),
    content=st.binary(max_size=40) | st.binary(max_size=40).map(lambda junk: b"\0\0\0\3\0\0\0\2" + junk),
    schema=st.sampled_from([SCHEMA, BLOCK.schema, "{}"]) | st.text(max_size=20),
)
def test_whatever_a_content_is_reading_raises_only_our_errors(kind: BlockType, content: bytes, schema: str) -> None:
    block = LogBlock(kind, BlockHeader({HeaderKey.SCHEMA: schema}), content)
    for read in (block.num_records, block.to_arrow, block.deletes):
        with contextlib.suppress(HudiFormatError):
            read()


def test_the_offset_of_a_content_counts_from_the_file() -> None:
    block, _ = decode_block(b"." * 5 + AVRO, 5, base=1000)
    assert block.content_offset == 1005 + len(AVRO) - 30
    corrupt = LogBlock(BlockType.CORRUPT, BlockHeader(), b"junk", offset=90, size=10)
    assert corrupt.content_offset == 96
    assert LogBlock(BlockType.COMMAND, BlockHeader(), b"").content_offset is None
    assert LogBlock(BlockType.COMMAND, BlockHeader(), b"", offset=3).content_offset is None


def test_errors_of_a_content_count_from_the_file() -> None:
    count = AVRO.replace(b"\0\0\0\3\0\0\0\2\0\0\0\1", b"\0\0\0\3\0\0\0\2\x80\0\0\1")
    block, _ = decode_block(count, base=1000)
    for schema in (None, pa.schema([("a", pa.int32())])):
        with pytest.raises(CorruptBlockError, match="at byte 1126: a record of length") as caught:
            block.to_arrow(schema)
        assert caught.value.offset == 1126
    block, _ = decode_block(envelope(kind=3, content=b"\0\0"), base=1000)
    with pytest.raises(TruncatedBlockError, match="at byte 1034: content version: 4 bytes expected, 2 left"):
        block.num_records()
    block, _ = decode_block(envelope(kind=1, content=b"\0\0\0\3\0\0\0\2\0"), base=1000)
    with pytest.raises(TruncatedBlockError, match="at byte 1042: delete list: 2 bytes expected, 1 left"):
        block.deletes()


def test_blocks_are_equal_when_they_say_the_same_wherever_they_stand() -> None:
    one, other = (rollback_block(instant="2", target="1")._replace(offset=offset) for offset in (1, 2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != rollback_block(instant="3", target="1")
    assert one != tuple(one)


ROWS = pa.record_batch({"k": ["a", "b", None], "n": pa.array([1, None, 3], pa.int32())})


@given(positions=st.sets(st.integers(0, 2**64 - 1), max_size=50))
def test_positions_come_back_in_ascending_order(positions: set[int]) -> None:
    text = encode_positions(positions)
    assert decode_positions(text).tolist() == sorted(positions)
    assert encode_positions(sorted(positions, reverse=True)) == text


def test_positions_have_the_text_that_hudi_gives_them() -> None:
    # of the golden table v9-mor-avro-h120, base64 of: one map entry, high half 0, one container of eight values
    text = "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAcAEAAAAAAAAwAGAAcACwANABEAEgA="
    assert decode_positions(text).tolist() == [0, 3, 6, 7, 11, 13, 17, 18]
    assert encode_positions([0, 3, 6, 7, 11, 13, 17, 18]) == text


@pytest.mark.parametrize("text", ["", "!", "AAAA", "AQAAAAAAAAAAAAAAOjA="])
def test_positions_that_are_no_bitmap_are_corrupt(text: str) -> None:
    block = LogBlock(BlockType.DELETE, BlockHeader({HeaderKey.RECORD_POSITIONS: text}), b"")
    with pytest.raises(CorruptBlockError, match="no roaring bitmap"):
        block.positions()


def test_positions_stand_in_the_header_of_data_and_delete_blocks() -> None:
    for block in (
        data_block(ROWS, instant="002", positions=[4, 5, 9], base_instant="001"),
        delete_block(["a"], instant="002", positions=[7], base_instant="001"),
    ):
        found = block.positions()
        assert found is not None
        assert found.tolist() in ([4, 5, 9], [7])
        assert block.base_instant_of_positions == "001"


def test_what_a_header_says_can_be_asked_for_by_name() -> None:
    plain = data_block(ROWS, instant="001")
    assert (plain.positions(), plain.base_instant_of_positions, plain.identifier, plain.target_instant) == (None,) * 4
    assert (plain.is_partial, plain.compacted_instants) == (False, ())
    assert data_block(ROWS, instant="001", is_partial=True).is_partial
    entries = {HeaderKey.COMPACTED_BLOCK_TIMES: "001,002", HeaderKey.BLOCK_IDENTIFIER: "7"}
    compacted = LogBlock(BlockType.AVRO_DATA, BlockHeader(entries), b"")
    assert (compacted.compacted_instants, compacted.identifier) == (("001", "002"), "7")
    assert rollback_block(instant="002", target="001").target_instant == "001"


PAGE = Path(__file__).parents[3] / "spec" / "log-block.md"


INSTANT = HeaderKey.INSTANT_TIME


headers = st.dictionaries(st.sampled_from(HeaderKey), st.text(max_size=20)).map(BlockHeader)


kinds = st.sampled_from([kind for kind in BlockType if kind is not BlockType.CORRUPT])


blocks = st.tuples(kinds, headers, st.binary(max_size=100)).map(lambda parts: LogBlock(*parts))


class Sized(bytes):
    """A content that says to be large and is not."""

    length: int

    def __len__(self) -> int:
        return self.length


def sized(length: int) -> bytes:
    content = Sized()
    content.length = length
    return content


VECTORS = [
    (ROLLBACK, BlockType.COMMAND, [(0, b"002"), (1, b"001"), (3, b"0")], b""),
    (DELETE, BlockType.DELETE, [(0, b"001")], DELETE[-44:-12]),
    (AVRO, BlockType.AVRO_DATA, [(0, b"001"), (2, SCHEMA.encode())], AVRO[-30:-12]),
    (envelope(kind=4, content=b"hfile"), BlockType.HFILE_DATA, [], b"hfile"),
    (envelope(kind=5, content=b"PAR1"), BlockType.PARQUET_DATA, [], b"PAR1"),
    (envelope(kind=6, content=b"cdc"), BlockType.CDC_DATA, [], b"cdc"),
]


@pytest.mark.parametrize(("encoded", "kind", "entries", "content"), VECTORS, ids=[case[1].name for case in VECTORS])
def test_a_block_of_each_type_is_read_and_written_field_by_field(
    encoded: bytes, kind: BlockType, entries: list[tuple[HeaderKey, bytes]], content: bytes
) -> None:
    block, end = decode_block(encoded)
    assert end == len(encoded)
    assert (block.type, block.version, list(block.header.entries), bytes(block.content)) == (kind, 1, entries, content)
    assert (block.footer.entries, block.offset, block.size, block.reason) == ((), 0, len(encoded), None)
    assert encode_block(LogBlock(kind, BlockHeader(entries), content)) == encoded
    assert encode_block(block) == encoded


def worked_examples() -> Iterator[tuple[str, bytes]]:
    for part in PAGE.read_text().split("\n## Worked example: ")[1:]:
        title, text = part.split("\n", 1)
        lines = re.findall(r"^((?:[0-9a-f]{2} ?)+)(?:\s|$)", text.split("```")[1], re.MULTILINE)
        yield title, bytes.fromhex("".join(lines))


def test_the_worked_examples_of_the_spec_page() -> None:
    examples = dict(worked_examples())
    assert examples == {"a rollback": ROLLBACK, "a delete block": DELETE}


def test_the_content_of_a_block_that_was_read_is_a_view() -> None:
    data = bytearray(envelope(content=b"abc"))
    block, _ = decode_block(memoryview(data))
    data[-15] = ord("x")
    assert bytes(block.content) == b"xbc"


def test_the_parts_of_a_block_hold_the_content_itself() -> None:
    block, _ = decode_block(DELETE)
    assert encode_block_parts(block)[1] is block.content


@settings(deadline=None)
@given(block=blocks)
def test_what_is_written_is_read_again(block: LogBlock) -> None:
    encoded = encode_block(block)
    decoded, end = decode_block(encoded)
    assert (decoded, end) == (block, len(encoded))
    assert decoded.header.entries == block.header.entries
    assert encode_block(decoded) == encode_block(block) == encoded


@pytest.mark.parametrize(("size", "encoded"), [(10, b"#HUDI#junk"), (4, b"junk"), (None, b"#HUDI#junk")])
def test_a_corrupt_block_is_written_as_it_stood(size: int | None, encoded: bytes) -> None:
    assert encode_block(LogBlock(BlockType.CORRUPT, BlockHeader(), b"junk", offset=0, size=size)) == encoded


def test_a_block_of_2_gib_is_refused_and_one_byte_less_is_not() -> None:
    largest = sized(INT32_MAX - len(envelope()))
    head, content, tail = encode_block_parts(LogBlock(BlockType.COMMAND, BlockHeader(), largest))
    assert content is largest
    assert len(head) + len(content) + len(tail) == INT32_MAX
    with pytest.raises(EncodeError, match=r"a block of 2147483648 bytes: .*HUDI-2665.*hoodie.logfile.data.block.max"):
        encode_block(LogBlock(BlockType.COMMAND, BlockHeader(), sized(INT32_MAX - len(envelope()) + 1)))


def test_a_block_just_beyond_2_gib_that_was_read_as_java_reads_it_is_given_back() -> None:
    content = sized(INT32_MAX - 32)
    head, _, tail = encode_block_parts(LogBlock(BlockType.COMMAND, BlockHeader(), content, size=INT32_MAX + 14))
    assert head[6:14] == bytes.fromhex("000000007fffffff")
    assert len(head) + len(content) + len(tail) == INT32_MAX + 14


def test_a_block_that_no_reader_takes_is_not_written() -> None:
    block = decode_block(ROLLBACK)[0]
    with pytest.raises(EncodeError, match="log format version 2 with 0 footer entries"):
        encode_block(block._replace(version=2))
    with pytest.raises(EncodeError, match="log format version 1 with 1 footer entries"):
        encode_block(block._replace(footer=BlockHeader({INSTANT: "001"})))


def deepest(call: Callable[[], object]) -> list[str]:
    """The functions of the package in the deepest stack of *call*."""
    package, best = str(Path(hudiformat.__file__).parent), list[str]()

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal best
        stack, caller = list[str](), frame if event == "call" else None
        while caller is not None:
            if caller.f_code.co_filename.startswith(package):
                stack.append(caller.f_code.co_name)
            caller = caller.f_back
        best = max(best, stack[::-1], key=len)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return best


def test_tracebacks_and_profiles_of_blocks_stay_short() -> None:
    texts = pa.array([None if row % 5 == 0 else f"text {row}" * (row % 3) for row in range(500)])
    numbers = pa.array([None if row % 7 == 0 else row**4 for row in range(500)])
    nested = pa.StructArray.from_arrays([texts, numbers], names=["text", "number"], mask=texts.is_null())
    rows = pa.RecordBatch.from_pydict({"text": texts, "number": numbers, "nested": nested})
    block = data_block(rows, instant="001")
    assert block.to_arrow().equals(rows)
    assert len(deepest(lambda: data_block(rows, instant="001"))) <= 9
    assert len(deepest(block.to_arrow)) <= 11
    assert len(deepest(lambda: list(record_batches([block])))) <= 10


def test_more_positions_than_the_content_can_have_records_are_refused() -> None:
    bitmap = BitMap64()
    bitmap.add_range(0, 1 << 28)
    bitmap.run_optimize()
    text = base64.b64encode(bitmap.serialize()).decode()
    assert len(text) < 1 << 18
    with pytest.raises(CorruptBlockError, match="positions, in a block of"):
        decode_positions(text, most=1_000_000)
    header = BlockHeader({HeaderKey.RECORD_POSITIONS: text})
    with pytest.raises(CorruptBlockError, match="positions, in a block of"):
        LogBlock(BlockType.AVRO_DATA, header, b"x" * 100).positions()


@pytest.mark.parametrize("jit", ["0", "1"])
@pytest.mark.parametrize("format", ["avro", "parquet", "hfile"])
def test_texts_become_views_where_they_are_asked_for(format: str, jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDIFORMAT_JIT", jit)
    texts = pa.array([None, "", "short", "a longer text, which is not kept in its view", "größer, und auch länger"])
    rows = pa.RecordBatch.from_pydict(
        {
            "_hoodie_record_key": pa.array(list("abcde")),
            "text": texts,
            "bytes": texts.cast(pa.binary()),
            "inner": pa.StructArray.from_arrays([texts], names=["text"]),
            "number": pa.array(range(5)),
        }
    )
    block = data_block(rows, instant="001", format=format)
    found = block.to_arrow(views=True)
    found.validate(full=True)
    types = {"_hoodie_record_key": pa.string_view(), "text": pa.string_view(), "bytes": pa.binary_view()}
    assert {name: found.schema.field(name).type for name in types} == types
    assert found["inner"].type == rows["inner"].type
    assert found.to_pylist() == block.to_arrow().to_pylist()
    assert block.to_arrow(views=True, filter="number > 2")["text"].to_pylist() == texts[3:].to_pylist()
    target = pa.schema([("text", pa.string()), ("_hoodie_record_key", pa.string_view())])
    assert block.to_arrow(target, views=True).schema == target
    assert not data_block(rows[:0], instant="001", format=format).to_arrow(views=True).num_rows


@pytest.mark.parametrize("jit", ["0", "1"])
def test_views_of_many_rows_and_of_damaged_texts(jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDIFORMAT_JIT", jit)
    texts = pa.array(["x" * (row % 20) for row in range(40_000)])
    block = data_block(pa.RecordBatch.from_pydict({"text": texts}), instant="001")
    assert block.to_arrow(views=True)["text"].cast(pa.string()).equals(texts)
    damaged = block._replace(content=bytes(block.content).replace(b"x" * 19, b"x" * 18 + b"\xff", 1))
    with pytest.raises(CorruptBlockError, match="not UTF-8") as caught:
        damaged.to_arrow(views=True)
    with pytest.raises(CorruptBlockError, match="not UTF-8") as expected:
        damaged.to_arrow()
    assert caught.value.offset == expected.value.offset
