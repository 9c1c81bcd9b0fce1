"""``hudiformat records``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat.codec.log.block import encode_block
from hudiformat.codec.log.build import data_block
from tests.cli.support import DAMAGED, DATA, EVOLVED, ROLLBACK, SOUND, UNDECODABLE, Command

Log = Callable[[bytes], Path]


def test_json_has_an_object_per_record_and_delete(command: Command, log: Log) -> None:
    result = command("records", "--json", log(SOUND))
    data = {"block": 0, "type": "AVRO_DATA", "instant": "20260101000000001"}
    deletes = {"block": 1, "type": "DELETE", "instant": "20260101000000002"}
    assert result.json == [
        {**data, "record": {"id": "a", "n": 1}},
        {**data, "record": {"id": "b", "n": None}},
        {**data, "record": {"id": "c", "n": 3}},
        {**deletes, "delete": {"record_key": "a", "partition_path": "p", "ordering": 0}},
        {**deletes, "delete": {"record_key": "b", "partition_path": "p", "ordering": 0}},
        {"block": 3, "type": "AVRO_DATA", "instant": "20260101000000004", "record": {"id": "d", "price": 2.5}},
    ]
    assert (result.code, result.err) == (0, "")


def test_each_block_is_a_table_and_deletes_are_marked(command: Command, log: Log) -> None:
    assert command("records", log(SOUND)).out == (
        "block 0 at byte 0: AVRO_DATA, instant 20260101000000001\n"
        "  id  n\n"
        "  a   1\n"
        "  b   null\n"
        "  c   3\n"
        f"block 1 at byte {len(DATA)}: DELETE, instant 20260101000000002\n"
        "          record_key  partition_path  ordering\n"
        "  DELETE  a           p               0\n"
        "  DELETE  b           p               0\n"
        f"block 3 at byte {len(SOUND) - len(EVOLVED)}: AVRO_DATA, instant 20260101000000004\n"
        "  id  price\n"
        "  d   2.5\n"
    )


def test_long_values_are_cut_in_the_table_alone(command: Command, log: Log) -> None:
    batch = pa.record_batch({"s": ["x" * 100, "日" * 30, "tab\t"], "n": [1, 2, 3]})
    path = log(encode_block(data_block(batch, instant="1")))
    assert command("records", path).lines[2:] == [
        f"  {'x' * 39}…  1",
        f"  {'日' * 19} …  2",
        f"  tab\\t{' ' * 37}3",
    ]
    assert [line["record"]["s"] for line in command("records", "--json", path).json] == batch["s"].to_pylist()


def test_rows_behind_the_first_are_printed_too(command: Command, log: Log) -> None:
    path = log(encode_block(data_block(pa.record_batch({"n": list(range(2500))}), instant="1")))
    assert [int(line) for line in command("records", path).lines[2:]] == list(range(2500))


def test_a_block_without_records_has_a_heading_alone(command: Command, log: Log) -> None:
    path = log(encode_block(data_block(pa.record_batch({"n": pa.array([], pa.int32())}), instant="1")))
    assert command("records", path).lines == ["block 0 at byte 0: AVRO_DATA, instant 1"]


# Which ones


@pytest.mark.parametrize(("number", "ids"), [(0, ["a", "b", "c"]), (3, ["d"]), (-1, ["d"]), (-4, ["a", "b", "c"])])
def test_one_block_is_picked_from_either_end(command: Command, log: Log, number: int, ids: list[str]) -> None:
    found = command("records", "--json", "--block", number, log(SOUND)).json
    assert [line["record"]["id"] for line in found] == ids
    assert {line["block"] for line in found} == {number}


@pytest.mark.parametrize("number", [4, -5, 10**20])
def test_a_block_that_is_not_there_is_refused(command: Command, log: Log, number: int) -> None:
    path = log(SOUND)
    result = command("records", "--block", number, path)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"hudiformat: there is no block {number}: {path} has 4, the first is 0")


def test_a_command_block_has_no_records(command: Command, log: Log) -> None:
    result = command("records", "--block", 2, log(SOUND))
    assert (result.code, result.out, result.err) == (0, "", "")


def test_columns_are_picked_in_order_and_null_where_a_block_has_none(command: Command, log: Log) -> None:
    found = command("records", "--json", "--columns", "price,id,n", log(DATA + ROLLBACK + EVOLVED)).json
    assert [list(line["record"].items()) for line in found] == [
        [("price", None), ("id", "a"), ("n", 1)],
        [("price", None), ("id", "b"), ("n", None)],
        [("price", None), ("id", "c"), ("n", 3)],
        [("price", 2.5), ("id", "d"), ("n", None)],
    ]


def test_a_block_has_rows_though_it_has_none_of_the_columns(command: Command, log: Log) -> None:
    found = command("records", "--json", "--columns", "price", log(DATA + EVOLVED)).json
    assert [line["record"] for line in found] == [{"price": None}] * 3 + [{"price": 2.5}]


@pytest.mark.parametrize(
    ("column", "hint"), [("prize", "did you mean 'price'?"), ("zzz", "the columns are id, n, price"), ("", "the col")]
)
def test_an_unknown_column_is_refused_before_anything_is_printed(
    command: Command, log: Log, column: str, hint: str
) -> None:
    result = command("records", "--columns", f"id,{column}", log(SOUND + UNDECODABLE))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"hudiformat: no block has a column {column!r}; {hint}")


def test_columns_do_not_pick_among_deletes(command: Command, log: Log) -> None:
    deletes = SOUND[len(DATA) : -len(EVOLVED)]
    result = command("records", "--json", "--columns", "id", log(deletes))
    assert (result.code, [line["delete"]["record_key"] for line in result.json]) == (0, ["a", "b"])


@pytest.mark.parametrize(
    ("limit", "blocks"),
    [(0, []), (2, [0, 0]), (4, [0, 0, 0, 1]), (9, [0, 0, 0, 1, 1, 3]), (10**20, [0, 0, 0, 1, 1, 3])],
)
def test_a_limit_counts_records_and_deletes(command: Command, log: Log, limit: int, blocks: list[int]) -> None:
    result = command("records", "--json", "--limit", limit, log(SOUND))
    assert (result.code, [line["block"] for line in result.json]) == (0, blocks)


def test_blocks_beyond_the_limit_are_not_read(command: Command, log: Log) -> None:
    assert command("records", "--limit", 3, log(DAMAGED)).code == 0


# Damage


def test_a_corrupt_block_is_skipped_and_reported(command: Command, log: Log) -> None:
    path = log(DAMAGED)
    result = command("records", "--json", path)
    assert (result.code, [line["record"]["id"] for line in result.json]) == (1, ["a", "b", "c", "d"])
    assert result.err.startswith(
        f"hudiformat: block 1 of {path} is passed over: at byte {len(DATA) + 85}: footer count 587202560"
    )
    assert result.err.count("\n") == 1


def test_a_content_that_cannot_be_decoded_is_skipped_and_unreadable(command: Command, log: Log) -> None:
    path = log(UNDECODABLE + DAMAGED)
    result = command("records", "--json", path)
    assert (result.code, [line["record"]["id"] for line in result.json]) == (2, ["a", "b", "c", "d"])
    assert [line.split(" is ")[0] for line in result.err.splitlines()] == [
        f"hudiformat: block 0 of {path}",
        f"hudiformat: block 2 of {path}",
    ]
