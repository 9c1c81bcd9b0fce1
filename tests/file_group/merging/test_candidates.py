"""Which log blocks are merged, and the entries that are read from them, by key and by position."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import rollback_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import DataError, DecodeError, SchemaError, UnsupportedFeatureError
from hudiformat.file_group.base_file.filters import KeyFilter
from hudiformat.file_group.base_file.read import to_base_rows
from hudiformat.file_group.merging.candidates import blocks_to_merge, read_candidates
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.file_group.merging.slice import merge_log_entries, merge_slice
from hudiformat.timeline.table_config import MergeMode
from tests.file_group.merging.blocks import KEY, at, data, deletes, keys_of

SCHEMA = pa.schema([KEY, ("o", pa.int64()), ("row", pa.int64())])
RULE = MergeRule(MergeMode.EVENT_TIME_ORDERING, keys_of, ("o",))
BASE = pa.table({"k": ["a", "a", "b", "b"], "o": [5, 5, 5, 5], "row": [1, 2, 3, 4]}, schema=SCHEMA)
KEYS_ONLY = pa.schema([KEY])
CORRUPT = LogBlock(BlockType.CORRUPT, BlockHeader(), b"junk", reason="damaged")


def block(instant: str) -> LogBlock:
    return data([("a",)], KEYS_ONLY, instant=instant)


def test_data_and_delete_blocks_are_merged_in_file_order() -> None:
    blocks = [block("2"), deletes(["a"], instant="1"), block("1")]
    assert blocks_to_merge(blocks) == blocks
    assert blocks_to_merge([]) == []


def test_corrupt_blocks_are_skipped() -> None:
    assert blocks_to_merge([CORRUPT, block("1"), CORRUPT]) == [block("1")]


def test_a_rollback_removes_the_older_blocks_of_its_target() -> None:
    rollback = rollback_block(instant="3", target="1")
    assert blocks_to_merge([block("1"), block("2"), deletes(["a"], instant="1"), rollback]) == [block("2")]


def test_blocks_of_the_target_after_the_rollback_are_kept() -> None:
    rollback = rollback_block(instant="3", target="1")
    assert blocks_to_merge([block("1"), rollback, block("1")]) == [block("1")]


def test_a_rollback_of_nothing_changes_nothing() -> None:
    assert blocks_to_merge([rollback_block(instant="3", target="9"), block("1")]) == [block("1")]
    twice = [block("1"), *[rollback_block(instant="3", target="1")] * 2]
    assert blocks_to_merge(twice) == []


@pytest.mark.parametrize("kind", [BlockType.CDC_DATA])
def test_block_types_that_cannot_be_merged_are_refused_by_name(kind: BlockType) -> None:
    other = LogBlock(kind, BlockHeader({HeaderKey.INSTANT_TIME: "1"}), b"")
    with pytest.raises(UnsupportedFeatureError, match=f"found a block of type {kind.name}") as caught:
        blocks_to_merge([other])
    assert caught.value.feature == f"{kind.name} block"


def compacted(instant: str, *of: str) -> LogBlock:
    plain = block(instant)
    return plain._replace(header=BlockHeader({**plain.header, HeaderKey.COMPACTED_BLOCK_TIMES: ",".join(of)}))


def instants(*blocks: LogBlock) -> list[str | None]:
    return [block.instant for block in blocks_to_merge(blocks)]


def test_all_blocks_of_an_instant_come_at_the_index_of_its_first_block() -> None:
    assert blocks_to_merge([block("1"), block("2"), deletes(["a"], instant="1")]) == [
        block("1"),
        deletes(["a"], instant="1"),
        block("2"),
    ]


def test_a_compacted_block_replaces_the_newest_block_that_it_was_made_of() -> None:
    assert instants(block("1"), block("2"), block("4"), compacted("3", "1", "2")) == ["3", "4"]
    assert instants(block("1"), block("4"), block("2"), compacted("3", "1", "2")) == ["4", "3"]


def test_a_compacted_block_can_be_compacted_again() -> None:
    blocks = [block("1"), block("2"), compacted("3", "1", "2"), block("4"), compacted("5", "3", "4"), block("6")]
    assert instants(*blocks) == ["5", "6"]


def test_a_compacted_block_without_its_originals_is_skipped() -> None:
    assert instants(compacted("3", "1", "2"), block("4")) == ["4"]
    assert instants(block("1"), compacted("3", "1"), rollback_block(instant="5", target="1")) == []


def test_a_rolled_back_log_compaction_leaves_its_originals() -> None:
    rollback = rollback_block(instant="5", target="3")
    assert instants(block("1"), block("2"), compacted("3", "1", "2"), rollback) == ["1", "2"]


def test_blocks_of_other_instants_are_skipped() -> None:
    blocks = [block("1"), block("2"), deletes(["a"], instant="3"), rollback_block(instant="4", target="1")]
    assert blocks_to_merge(blocks, counts=lambda instant: instant != "3") == [block("2")]


def test_entries_have_their_index_in_merge_order_and_deletes_come_last() -> None:
    blocks = [data([("a", 1, 1), ("b", 2, 2)], SCHEMA), deletes(["c"]), data([("d", 4, 4)], SCHEMA)]
    candidates = read_candidates(blocks, SCHEMA, RULE)
    assert candidates.keys.to_pylist() == ["a", "b", "d", "c"]
    assert candidates.age.tolist() == [0, 1, 3, 2]
    assert candidates.deleted.tolist() == [False, False, False, True]
    assert (len(candidates), candidates.num_rows) == (4, 3)


def test_a_key_filter_leaves_entries_of_other_keys_out_and_keeps_their_order() -> None:
    schema = pa.schema([pa.field("_hoodie_record_key", pa.string(), nullable=False), ("o", pa.int64())])
    rule = MergeRule(MergeMode.EVENT_TIME_ORDERING, lambda rows: rows["_hoodie_record_key"], ("o",))
    blocks = [data([("a", 1), ("b", 2)], schema), deletes(["a", "b"]), data([("c", 3), ("b", 4)], schema)]
    where = KeyFilter(pc.field("_hoodie_record_key") == "b", frozenset("b"))
    candidates = read_candidates(blocks, schema, rule, where=where)
    assert candidates.keys.to_pylist() == ["b", "b", "b"]
    assert candidates.ordering[0].to_pylist() == [2, 4, 0]
    assert candidates.age.tolist() == [0, 2, 1]


def test_a_single_ordering_value_in_a_table_of_two_fields_counts_as_no_ordering_value() -> None:
    schema = pa.schema([KEY, ("o0", pa.int64()), ("o1", pa.string())])
    rule = MergeRule(MergeMode.EVENT_TIME_ORDERING, keys_of, ("o0", "o1"))
    block = deletes(["a"], pa.array([1], pa.int64()))
    assert read_candidates([block], schema, rule).resets.tolist() == [True]


@pytest.mark.parametrize("text", ["not a number", "7"])
def test_an_ordering_value_that_cannot_be_compared_is_refused_by_name(text: str) -> None:
    """Hudi fails to compare any two types; numbers compare as numbers here, but texts with texts alone."""
    block = deletes(["a"], pa.array([text]))
    with pytest.raises(DataError, match=f"ordering value {text} of type string, .* column o of type int64"):
        read_candidates([block], SCHEMA, RULE)
    schema = pa.schema([KEY, ("o", pa.string()), ("row", pa.int64())])
    with pytest.raises(DataError, match="ordering value 10 of type int64, .* column o of type string"):
        read_candidates([deletes(["a"], pa.array([10], pa.int64()))], schema, RULE)


NUMBERS = (pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(12, 1))
DAY, MOMENTS = pa.date32(), (pa.timestamp("us"), pa.timestamp("ms", "UTC"))


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        *[pair for kind in (*NUMBERS, DAY, *MOMENTS) for pair in ((pa.bool_(), kind), (kind, pa.bool_()))],
        *[pair for kind in MOMENTS for pair in ((DAY, kind), (kind, DAY))],
    ],
    ids=str,
)
def test_booleans_with_numbers_and_days_with_moments_are_not_compared(given: pa.DataType, kind: pa.DataType) -> None:
    """Hudi fails to compare them; pyarrow would cast them."""
    value = pa.array([1], pa.int64() if pa.types.is_timestamp(given) else pa.int32()).cast(given)
    schema = pa.schema([KEY, ("o", kind), ("row", pa.int64())])
    with pytest.raises(DataError, match="which cannot be compared with the column o"):
        read_candidates([deletes(["a"], value)], schema, RULE)


def test_hudis_placeholder_of_an_ordering_value_fits_every_type() -> None:
    schema = pa.schema([KEY, ("o", pa.decimal128(4, 1)), ("row", pa.int64())])
    for kind in (pa.decimal128(4, 1), pa.bool_(), pa.binary()):
        block = deletes(["a"], pa.array([0], pa.int32()))
        candidates = read_candidates([block], schema.set(1, pa.field("o", kind)), RULE)
        assert candidates.resets.tolist() == [True]


def test_a_table_without_a_delete_column_has_no_deleted_rows() -> None:
    schema = pa.schema([KEY, pa.field("row", pa.int64())])
    rule = MergeRule(MergeMode.COMMIT_TIME_ORDERING, keys_of)
    assert not read_candidates([data([("a", 1)], schema)], schema, rule).deleted.any()


def test_records_of_an_older_schema_are_converted_to_that_of_the_table() -> None:
    old = pa.schema([KEY, pa.field("o", pa.int32())])
    candidates = read_candidates([data([("a", 7)], old)], SCHEMA, RULE)
    assert candidates.records[0].to_pylist() == [{"k": "a", "o": 7, "row": None}]


def test_records_that_do_not_fit_the_schema_are_refused() -> None:
    other = pa.schema([KEY, pa.field("o", pa.string())])
    with pytest.raises(SchemaError, match="o"):
        read_candidates([data([("a", "x")], other)], SCHEMA, RULE)


def test_damaged_block_content_is_a_decode_error() -> None:
    block = data([("a", 1, 1)], SCHEMA)
    with pytest.raises(DecodeError):
        read_candidates([block._replace(content=bytes(block.content)[:-1])], SCHEMA, RULE)


def rows(blocks: list[LogBlock], *, base_instant: str | None = "7") -> list[int]:
    logs = merge_log_entries(read_candidates(blocks, SCHEMA, RULE, base_instant=base_instant), RULE)
    found = pa.Table.from_batches(merge_slice(to_base_rows(BASE.to_batches(3)), logs, RULE), SCHEMA)["row"].to_pylist()
    return sorted(found)


def update(*numbers: int, ordering: int = 6) -> LogBlock:
    return data([("a", ordering, number) for number in numbers], SCHEMA)


def test_a_position_identifies_one_of_several_rows_with_the_same_key() -> None:
    assert rows([at(update(9), [1])]) == [1, 3, 4, 9]
    assert rows([at(update(8, 9), [1, 3])]) == [1, 3, 8, 9]
    assert rows([at(deletes(["b"]), [3]), at(update(9, ordering=4), [0])]) == [1, 2, 3]


def test_entries_with_the_same_position_are_merged() -> None:
    assert rows([at(update(8), [2]), at(update(9, ordering=7), [2]), at(update(10), [2])]) == [1, 2, 4, 9]


def test_positions_in_another_base_file_are_not_used() -> None:
    assert rows([at(update(9), [1], instant="6")]) == [2, 3, 4, 9]
    assert rows([at(update(9), [1])], base_instant=None) == [2, 3, 4, 9]


@pytest.mark.parametrize("other", [update(10), deletes(["b"])], ids=["data", "deletes"])
def test_a_block_without_positions_makes_all_blocks_merge_by_key(other: LogBlock) -> None:
    assert rows([at(update(9), [1]), other]) == rows([update(9), other])


def test_positions_that_are_too_few_are_not_used() -> None:
    assert rows([at(update(9, 10, ordering=6), [1])]) == rows([update(9, 10)])


def test_a_position_beyond_the_base_file_is_a_new_row() -> None:
    assert rows([at(update(9), [99])]) == [1, 2, 3, 4, 9]
