"""The records of many blocks, those of small ones decoded together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pyarrow as pa
import pytest

from hudiformat import kernels
from hudiformat.codec.log import batches
from hudiformat.codec.log.batches import GroupLimits, record_batches
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import data_block, delete_block, rollback_block
from hudiformat.codec.log.frame import BlockType
from hudiformat.errors import CorruptBlockError, DecodeError, SchemaError, TruncatedBlockError, UnsupportedVersionError

pytestmark = pytest.mark.unmeasured


def _block(*numbers: int, schema: pa.Schema | None = None) -> LogBlock:
    texts = pa.array([f"row {n}" for n in numbers], pa.string())
    batch = pa.RecordBatch.from_pydict({"n": pa.array(numbers, pa.int64()), "t": texts})
    return data_block(batch if schema is None else batch.select(schema.names), instant="001")


def _numbers(found: list[pa.RecordBatch]) -> list[list[int]]:
    return [batch.column("n").to_pylist() for batch in found]


def test_small_blocks_of_one_schema_make_one_batch() -> None:
    found = list(record_batches([_block(1, 2), _block(), _block(3), _block(4, 5, 6)]))
    assert _numbers(found) == [[1, 2, 3, 4, 5, 6]]
    assert found[0].column("t").to_pylist() == [f"row {n}" for n in range(1, 7)]


def test_other_blocks_stand_between_without_a_trace() -> None:
    others = [delete_block(["a"], instant="001"), rollback_block(instant="2", target="1")]
    corrupt = LogBlock(BlockType.CORRUPT, _block().header, b"x", reason="torn")
    found = list(record_batches([_block(1), others[0], _block(2), others[1], corrupt, _block(3)]))
    assert [number for numbers in _numbers(found) for number in numbers] == [1, 2, 3]


def test_another_schema_begins_another_batch() -> None:
    narrow = _block(2, 3, schema=pa.schema([("n", pa.int64())]))
    found = list(record_batches([_block(1), narrow, _block(4), _block(5)]))
    assert _numbers(found) == [[1], [2, 3], [4, 5]]
    assert [batch.num_columns for batch in found] == [2, 1, 2]


def test_large_blocks_and_other_formats_come_by_themselves() -> None:
    large = _block(*range(5000))
    parquet = data_block(_block(7).to_arrow(), instant="001", format="parquet")
    found = list(record_batches([_block(1), large, _block(2), parquet, _block(3)]))
    assert [batch.num_rows for batch in found] == [1, 5000, 1, 1, 1]


def test_a_batch_does_not_grow_beyond_its_limit() -> None:
    limits = GroupLimits(most_bytes=2 * len(_block(1).content))
    assert _numbers(list(record_batches([_block(n) for n in range(5)], limits=limits))) == [[0, 1], [2, 3], [4]]


ROWS = (600, 0, 700)


def _long_blocks() -> list[LogBlock]:
    bounds = [sum(ROWS[:place]) for place in range(len(ROWS) + 1)]
    return [_block(*range(start, end)) for start, end in pairwise(bounds)]


def test_blocks_of_many_records_are_decoded_together_if_the_limit_allows_it() -> None:
    blocks = _long_blocks()
    assert len(blocks[0].content) > batches.GROUP_LIMITS.small // 2
    [found] = record_batches(blocks, limits=GroupLimits(small=1 << 20))
    assert found["n"].to_pylist() == list(range(sum(ROWS)))


@pytest.mark.parametrize("moved", [(0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("by", [1, -1])
def test_records_that_a_block_declares_too_many_are_not_taken_from_the_next(moved: tuple[int, int], by: int) -> None:
    blocks = _long_blocks()
    for place, sign in zip(moved, (1, -1), strict=True):
        content = bytes(blocks[place].content)
        count = max(ROWS[place] + sign * by, 0)
        blocks[place] = blocks[place]._replace(content=content[:4] + count.to_bytes(4, "big") + content[8:])
    with pytest.raises(DecodeError):
        list(record_batches(blocks, limits=GroupLimits(small=1 << 20)))


def test_columns_are_chosen_and_a_schema_is_brought_about() -> None:
    schema = pa.schema([("more", pa.string()), ("n", pa.float64())])
    [texts] = record_batches([_block(1), _block(2)], columns=["t"])
    assert texts.to_pydict() == {"t": ["row 1", "row 2"]}
    found = list(record_batches([_block(1), _block(2)], schema=schema))
    assert found == [pa.RecordBatch.from_pydict({"more": [None, None], "n": [1.0, 2.0]}, schema=schema)]
    [numbers] = record_batches([_block(1), _block(2)], schema=schema, columns=["n"])
    assert numbers.to_pydict() == {"n": [1.0, 2.0]}
    with pytest.raises(SchemaError, match="no column 'x'"):
        list(record_batches([_block(1), _block(2)], columns=["x"]))


def _cut(content: bytes) -> bytes:
    return content[:5]


def _wrong_version(content: bytes) -> bytes:
    return b"\0\0\0\7" + content[4:]


def _negative_count(content: bytes) -> bytes:
    return content[:4] + b"\xff\xff\xff\xff" + content[8:]


def _one_too_many(content: bytes) -> bytes:
    return content[:7] + b"\2" + content[8:]


def _one_too_few(content: bytes) -> bytes:
    return content[:7] + b"\0" + content[8:]


def _negative_length(content: bytes) -> bytes:
    return content[:8] + b"\xff" + content[9:]


def _long_record(content: bytes) -> bytes:
    return content[:11] + bytes([content[11] + 1]) + content[12:]


@pytest.mark.parametrize(
    "damage", [_cut, _wrong_version, _negative_count, _one_too_many, _one_too_few, _negative_length, _long_record]
)
def test_the_damaged_one_among_many_says_what_it_says_alone(damage: Callable[[bytes], bytes]) -> None:
    good = _block(1)
    bad = good._replace(content=damage(bytes(good.content)))
    with pytest.raises(DecodeError) as alone:
        bad.to_arrow()
    with pytest.raises(type(alone.value), match=str(alone.value).replace("(", r"\(").replace(")", r"\)")):
        list(record_batches([good, bad, good]))
    assert isinstance(alone.value, (CorruptBlockError, TruncatedBlockError, DecodeError))


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("numba")
    monkeypatch.setenv(kernels.VARIABLE, "1")
    before = pa.cpu_count()
    pa.set_cpu_count(2)
    yield
    pa.set_cpu_count(before)


def _large(*firsts: int) -> list[LogBlock]:
    return [_block(*range(first, first + 2000)) for first in firsts]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("schema", [None, pa.schema([("t", pa.string()), ("n", pa.int64())])])
def test_blocks_are_decoded_side_by_side_in_order(schema: pa.Schema | None, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [*_large(0, 1, 2, 3, 4), _block(5), _block(6), *_large(7)]
    found = list(record_batches(blocks, schema=schema))
    monkeypatch.setenv(kernels.VARIABLE, "0")
    assert found == list(record_batches(blocks, schema=schema))


@pytest.mark.usefixtures("two_threads")
def test_only_as_many_blocks_as_threads_wait_to_be_taken() -> None:
    taken = []

    def blocks() -> Iterator[LogBlock]:
        for number, block in enumerate(_large(0, 1, 2, 3, 4, 5)):
            taken.append(number)
            yield block

    found = record_batches(blocks())
    next(found)
    assert taken == [0, 1]
    next(found)
    assert taken == [0, 1, 2]
    found.close()  # type: ignore[attr-defined]  # a generator


@pytest.mark.usefixtures("two_threads")
def test_the_first_damage_is_the_one_that_is_raised() -> None:
    good, *others = _large(0, 1, 2, 3)
    second, third = (block._replace(content=_wrong_version(bytes(block.content))) for block in others[:2])
    found = record_batches([good, second, third._replace(content=b""), others[2]])
    assert len(next(found)) == 2000
    with pytest.raises(UnsupportedVersionError):
        next(found)


@pytest.mark.usefixtures("two_threads")
def test_one_thread_decodes_one_block_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_side_by_side", None)
    pa.set_cpu_count(1)
    assert [len(batch) for batch in record_batches(_large(0, 1))] == [2000, 2000]


@pytest.mark.parametrize("jit", ["0", "1"])
def test_texts_of_many_blocks_can_be_views(jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernels.VARIABLE, jit)
    blocks = [_block(1), _block(2, 3), *_large(4), data_block(_block(7).to_arrow(), instant="001", format="parquet")]
    for columns in (None, ["t"]):
        texts, views = (list(record_batches(blocks, columns=columns, views=views)) for views in (False, True))
        assert {batch.schema.field("t").type for batch in views} == {pa.string_view()}
        assert [batch.to_pydict() for batch in views] == [batch.to_pydict() for batch in texts]
