"""Delete lists: the worked example, every type of ordering value, Hudi's own blocks, damage."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.codec.avro import delete_list
from hudiformat.codec.avro.cursors import PADDING, Cursors
from hudiformat.codec.avro.delete_list import decode_delete_list, encode_delete_list
from hudiformat.errors import CorruptBlockError, DataError, DecodeError, SchemaError
from tests.codec.avro.builders import SLOW, damage
from tests.codec.avro.golden import DELETE, golden_blocks
from tests.effort import sample

_THREE = pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.int32())])


_PAGE = Path(__file__).parents[3] / "spec" / "avro-records.md"


def test_the_worked_example_of_the_spec_page() -> None:
    example = _PAGE.read_text().split("## Worked example: a delete list")[1].split("```")[1]
    encoded = bytes.fromhex("".join(re.findall(r"^((?:[0-9a-f]{2} ?)+)", example, re.MULTILINE)))
    ordering = pa.array([None, 1700000000000], pa.int64())
    assert encode_delete_list(pa.array(["k1", "k2"]), "p", ordering) == encoded
    assert decode_delete_list(encoded).to_pylist() == [
        {"record_key": "k1", "partition_path": "p", "ordering": None},
        {"record_key": "k2", "partition_path": "p", "ordering": 1700000000000},
    ]


@pytest.mark.parametrize(
    ("ordering", "wrapped"),
    [
        (pa.array([True]), "02 01"),
        (pa.array([5], pa.int8()), "04 0a"),
        (pa.array([5], pa.int32()), "04 0a"),
        (pa.array([5], pa.uint32()), "06 0a"),
        (pa.array([5], pa.int64()), "06 0a"),
        (pa.array([1.0], pa.float32()), "08 00 00 80 3f"),
        (pa.array([1.0]), "0a 00 00 00 00 00 00 f0 3f"),
        (pa.array([b"\xff"]), "0c 02 ff"),
        (pa.array(["x"]), "0e 02 78"),
        (pa.array(["x"]).dictionary_encode(), "0e 02 78"),
        (pa.array([dt.date(1970, 1, 2)]), "10 02"),
        (pa.array([Decimal("0.000000000000128")]), "12 04 00 80"),
        (pa.array([dt.time(microsecond=1)]), "14 02"),
        (pa.array([dt.datetime(1970, 1, 1, microsecond=1, tzinfo=dt.timezone.utc)]), "16 02"),
        (pa.array([dt.datetime(1970, 1, 1, microsecond=1000)], pa.timestamp("ms")), "16 d0 0f"),
        (pa.array([{"a": 5, "b": "x", "c": None}], _THREE), "18 02 06 06 0a 0e 02 78 04 00 00"),
        (pa.array([None]), "04 00"),
        (None, "04 00"),
    ],
    ids=lambda item: str(getattr(item, "type", item)),
)  # fmt: skip
def test_each_type_has_its_wrapper(ordering: pa.Array | None, wrapped: str) -> None:
    encoded = encode_delete_list(pa.array(["k"]), pa.array([None], pa.string()), ordering)
    assert encoded == bytes.fromhex(f"02 02 02 6b 00 {wrapped} 00")
    decoded = decode_delete_list(encoded)
    assert encode_delete_list(*decoded.columns) == encoded
    if ordering is not None and ordering.null_count == 0 and not pa.types.is_timestamp(ordering.type):
        # the null of one field among several comes back as the int 0 that is stored for it
        given = [
            tuple(0 if v is None else v for v in row.values()) if isinstance(row, dict) else row
            for row in ordering.to_pylist()
        ]
        back = [tuple(row.values()) if isinstance(row, dict) else row for row in decoded.column("ordering").to_pylist()]
        assert back == given


def _decode(*items: str) -> pa.Array:
    count = bytes([2 * len(items)]).hex()
    batch = decode_delete_list(bytes.fromhex(count + "".join(f"02 02 6b 02 00 {item}" for item in items) + "00"))
    batch.validate(full=True)
    return batch.column("ordering")


def test_int_zero_among_other_types_is_null() -> None:
    assert _decode("04 00", "0e 02 78") == pa.array([None, "x"])
    assert _decode("04 00", "06 0a") == pa.array([None, 5])
    assert _decode("04 00", "04 00") == pa.array([0, 0], pa.int32())


def test_ints_among_longs_are_longs() -> None:
    assert _decode("04 0c", "06 0a", "04 00", "00") == pa.array([6, 5, None, None])


def test_a_list_of_nulls() -> None:
    assert _decode("00", "00") == pa.array([None, None], pa.int32())


def test_other_mixtures_are_a_dense_union_that_encodes_again() -> None:
    ordering = _decode("06 0a", "0e 02 78", "04 00", "06 0c")
    assert ordering.to_pylist() == [5, "x", None, 6]
    encoded = encode_delete_list(pa.array(["k"] * 4), "", ordering)
    assert decode_delete_list(encoded).column("ordering") == ordering
    assert _decode("04 02", "0e 02 78").to_pylist() == [1, "x"]


def test_a_sparse_union_is_taken_too() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([5, 6]), pa.array(["x", "y"])])
    encoded = encode_delete_list(pa.array(["k", "l"]), "", union)
    assert decode_delete_list(encoded).column("ordering").to_pylist() == [5, "y"]


def test_both_kinds_of_dates_inside_several_ordering_values() -> None:
    dates = _decode("18 02 02 10 02 00", "18 02 02 18 04 00")
    assert dates.to_pylist() == [{"field0": dt.date(1970, 1, 2)}, {"field0": dt.date(1970, 1, 3)}]


def test_several_ordering_values_and_a_delete_by_operation() -> None:
    ordering = pa.array([{"a": 1, "b": "x"}, None], pa.struct([("a", pa.int64()), ("b", pa.string())]))
    encoded = encode_delete_list(pa.array(["k", "l"]), "p", ordering)
    decoded = decode_delete_list(encoded).column("ordering")
    assert decoded.to_pylist() == [{"field0": 1, "field1": "x"}, None]
    assert encode_delete_list(pa.array(["k", "l"]), "p", decoded) == encoded


@pytest.mark.parametrize("items", [("18 02 02 06 02 00", "18 02 04 06 02 06 02 00"), ("18 00",), ("18 02 00",)])
def test_several_ordering_values_of_unlike_length_are_corrupt(items: tuple[str, ...]) -> None:
    with pytest.raises(CorruptBlockError, match="numbers of ordering fields"):
        _decode(*items)


def test_no_deletes() -> None:
    assert bytes(encode_delete_list(pa.array([], pa.string()), "p")) == b"\0"
    assert decode_delete_list(b"\0").schema.names == ["record_key", "partition_path", "ordering"]


@pytest.mark.parametrize(
    "table", ["v9-mor-avro-h120", "v9-mor-null-list-elements-h120", "v6-mor-avro-h120", "v6-mor-latest-payload-h0150"]
)
def test_hudis_delete_blocks_come_back_byte_for_byte(table: str) -> None:
    blocks = [block for block in golden_blocks(table) if block.type == DELETE]
    assert blocks
    for block in blocks:
        batch = decode_delete_list(memoryview(block.content)[8:])
        assert encode_delete_list(*batch.columns) == block.content[8:]


def test_a_key_that_is_null_is_refused() -> None:
    with pytest.raises(DataError, match="without a record key"):
        encode_delete_list(pa.array(["k", None]), "p")


def test_columns_of_unlike_length_are_refused() -> None:
    with pytest.raises(DataError, match="2 keys, 1 partition paths"):
        encode_delete_list(pa.array(["k", "l"]), pa.array(["p"]))


@pytest.mark.parametrize(
    "kind",
    [
        pa.uint64(),
        pa.timestamp("ns"),
        pa.list_(pa.int32()),
        pa.struct([("a", pa.struct([("b", pa.int32())]))]),
        pa.struct([]),
    ],
    ids=str,
)
def test_an_ordering_value_without_wrapper_is_refused(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="Hudi expects"):
        encode_delete_list(pa.array(["k"]), "p", pa.nulls(1, kind))


def test_a_decimal_with_too_many_digits_is_refused() -> None:
    with pytest.raises(DataError, match="do not fit"):
        encode_delete_list(pa.array(["k"]), "p", pa.array([Decimal(10**20)]))


@pytest.mark.parametrize("data", ["", "02", "02 02 02 6b", "00 00", "02 02 02 6b 02 00 1a 00", "fe ff ff ff 0f"])
def test_damaged_lists(data: str) -> None:
    with pytest.raises(CorruptBlockError):
        decode_delete_list(bytes.fromhex(data))


def test_bytes_and_memoryviews_are_the_same() -> None:
    encoded: Any = encode_delete_list(pa.array(["k"]), "p")
    assert decode_delete_list(encoded) == decode_delete_list(memoryview(encoded))


def _keys(count: int) -> pa.Array:
    return pa.array([f"key-{number * 7919 % 100_003}" for number in range(count)])


LONG = 5000


ORDERINGS = {
    "none": None,
    "ints of one length": pa.array(np.full(LONG, 5, np.int32)),
    "longs of every length": pa.array([(-1) ** n << (n % 63) for n in range(LONG)], pa.int64()),
    "strings": pa.array(["x" * (n % 90) for n in range(LONG)]),
    "decimals": pa.array([Decimal(n) / 1000 for n in range(LONG)], pa.decimal128(20, 15)),
    "doubles": pa.array(np.arange(LONG) / 7),
    "longs and nulls": pa.array([None if n % 3 else n + 1 for n in range(LONG)], pa.int64()),
    "several fields": pa.array([{"a": n, "b": str(n)} for n in range(LONG)]),
}


@pytest.mark.parametrize("what", ORDERINGS)
def test_long_lists_come_back(what: str) -> None:
    encoded = encode_delete_list(_keys(LONG), "p", ORDERINGS[what])
    decoded = decode_delete_list(encoded)
    assert decoded.column("record_key") == _keys(LONG)
    assert decoded.column("partition_path").unique().to_pylist() == ["p"]
    assert encode_delete_list(*decoded.columns) == encoded
    assert decode_delete_list(encoded, guess_from=10**9) == decoded


def test_long_lists_of_deletes_of_one_size_come_back() -> None:
    keys = pa.array([f"key-{number:06d}" for number in range(LONG)])
    decoded = decode_delete_list(encode_delete_list(keys, "p", ORDERINGS["ints of one length"]))
    assert decoded.columns == [keys, pa.repeat("p", LONG), ORDERINGS["ints of one length"]]


@pytest.mark.parametrize("path", ["", "p", "a/longer=path"])
def test_the_partition_path_may_stand_in_values_by_chance(path: str) -> None:
    random = np.random.default_rng(5)
    values = random.integers(-(2**62), 2**62, LONG)
    values[::7] = int.from_bytes(b"\x82\x80\x82\x80\x01", "little")
    ordering = pa.array([value.tobytes() + b"\x02" + bytes([2 * len(path)]) + path.encode() for value in values])
    for column in (ordering, pa.array(values)):
        encoded = encode_delete_list(_keys(LONG), path, column)
        found = delete_list._read_long(_cursor(encoded), LONG)
        assert found is not None
        assert found[0] == _keys(LONG)
        assert found[2] == column


@pytest.mark.parametrize("at", [0, 1, LONG - 1])
def test_a_partition_path_may_be_null(at: int) -> None:
    paths = pa.array([None if number == at else "p" for number in range(LONG)])
    for column, ordering in product((paths, pa.nulls(LONG, pa.string())), (ORDERINGS["ints of one length"], None)):
        keys = pa.array([f"k{number}" for number in range(LONG)])
        found = decode_delete_list(encode_delete_list(keys, column, ordering))
        assert found.column("record_key") == keys
        assert found.column("partition_path") == column


def _cursor(encoded: memoryview) -> Cursors:
    data = np.frombuffer(bytes(encoded) + bytes(PADDING), np.uint8)
    return Cursors(data, np.zeros(1, np.int64), np.full(1, len(encoded), np.int64))


def test_keys_that_look_like_deletes_do_not_lead_astray() -> None:
    one = bytes(encode_delete_list(pa.array(["k"]), "p", pa.array([7])))[1:-1]
    keys = pa.array([(one * (n % 5)).decode() + str(n) for n in range(LONG)])
    assert decode_delete_list(encode_delete_list(keys, "p", pa.array(range(LONG)))).column("record_key") == keys


@pytest.mark.parametrize("at", sample([0.0, 0.3, 0.5, 0.9, 1.0], of=5))
@pytest.mark.parametrize("byte", [0, 1, 3, 0x80, 0xFF])
def test_a_damaged_byte_in_a_long_list_is_found_as_in_a_short_one(at: float, byte: int) -> None:
    encoded = bytearray(encode_delete_list(_keys(LONG), "p", pa.array(range(LONG))))
    encoded[int(at * (len(encoded) - 1))] = byte

    def outcome(guess_from: int) -> str:
        try:
            return repr(decode_delete_list(bytes(encoded), guess_from=guess_from).to_pylist())
        except DecodeError as error:
            return f"{type(error).__name__}: {error}"

    assert outcome(2048) == outcome(10**9)  # at many places at once, and one by one


_ORDERINGS = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda items: pa.array(items, pa.int64())),
    st.lists(st.none() | st.text(max_size=5)).map(lambda items: pa.array(items, pa.string())),
    st.lists(st.none() | st.booleans()).map(lambda items: pa.array(items, pa.bool_())),
    st.lists(
        st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(1, 9), "b": st.none() | st.text(max_size=3)})
    ).map(lambda items: pa.array(items, pa.struct([("a", pa.int32()), ("b", pa.string())]))),
)


@SLOW
@given(ordering=_ORDERINGS)
def test_delete_lists_come_back(ordering: pa.Array) -> None:
    keys = pa.array([f"key-{index}" for index in range(len(ordering))], pa.string())
    encoded = encode_delete_list(keys, "p", ordering)
    decoded = decode_delete_list(encoded)
    assert decoded.column("record_key") == keys
    assert encode_delete_list(*decoded.columns) == encoded


def _outcome(encoded: bytes, guess_from: int) -> str:
    try:
        found = decode_delete_list(encoded, guess_from=guess_from)
    except DecodeError as error:
        return f"{type(error).__name__}: {error}"
    found.validate(full=True)
    return f"{found.schema} {found.to_pylist()}"


@SLOW
@given(ordering=_ORDERINGS, data=st.data())
def test_damaged_delete_lists_raise_only_our_errors_and_the_same_with_a_loop(
    ordering: pa.Array, data: st.DataObject
) -> None:
    keys = pa.array([f"key-{index}" for index in range(len(ordering))], pa.string())
    encoded = bytes(damage(data, encode_delete_list(keys, "p", ordering)))
    assert _outcome(encoded, delete_list.GUESS_FROM) == _outcome(encoded, 1)


@pytest.mark.parametrize(
    "encoded",
    {
        "a longer text than the list has": "02 02 08 61 02 00 04 02 00",
        "a text of negative length": "02 02 01 61 02 00 04 02 00",
        "no UTF-8": "02 02 02 ff 02 00 04 02 00",
        "an int of 33 bits": "02 02 02 61 02 00 04 80 80 80 80 20 00",
        "an integer of 71 bits": "02 02 02 61 02 00 06 80 80 80 80 80 80 80 80 80 80 01 00",
        "no end": "02 02 02 61 02 00 04 02",
        "another block": "02 02 02 61 02 00 04 02 02 02 02 62 02 00 04 02 00",
        "a block with its size": "01 10 02 02 61 02 00 04 02 00",
    }.values(),
)
def test_few_deletes_are_read_by_a_loop_as_without(encoded: str) -> None:
    assert _outcome(bytes.fromhex(encoded), delete_list.GUESS_FROM) == _outcome(bytes.fromhex(encoded), 1)
