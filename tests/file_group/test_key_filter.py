"""What a filter says of record keys, and that it is asked before merging: the rows are the same, and less is read."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import HudiFormatError, open_table
from hudiformat.file_group.key_filter import key_filter, plain_comparisons, value_filter
from hudiformat.timeline.table_config import KeyGenerator, TableConfig
from tests.effort import sample
from tests.tables import GoldenTable, content, data_files, multiset, new_table, rows

pytestmark = pytest.mark.unmeasured

K, V, KEY, POINT = pc.field("k"), pc.field("v"), pc.field("_hoodie_record_key"), pc.field("s", "x")
LARGE, NULL = pc.scalar(pa.scalar("a", pa.large_string())), pc.scalar(pa.scalar(None, pa.string()))


@pytest.fixture
def config(tmp_path: Path) -> TableConfig:
    return new_table(tmp_path / "table").config


@pytest.mark.parametrize(
    ("expression", "condition", "keys"),
    [
        (K == "a", KEY.isin(["a"]), {"a"}),
        (pc.scalar("a") == K, KEY.isin(["a"]), {"a"}),
        (KEY == LARGE, KEY.isin(["a"]), {"a"}),
        (K == 7, KEY.isin(["7"]), {"7"}),
        (KEY.isin(["b", "a"]), KEY.isin(["a", "b"]), {"a", "b"}),
        (K.isin([str(number) for number in range(40)]), None, {str(number) for number in range(40)}),
        ((K == "a") & (V > 5), KEY.isin(["a"]), {"a"}),
        ((POINT > 1) & (K == "a"), KEY.isin(["a"]), {"a"}),
        (~(V > 5) & V.is_null() & (K == "a"), KEY.isin(["a"]), {"a"}),
        ((K == "a") | (KEY.isin(["b"])), (KEY.isin(["a"])) | (KEY.isin(["b"])), {"a", "b"}),
        (K.isin(["a", "b"]) & K.isin(["b", "c"]), None, {"b"}),
        ((K == "a") & (K < "x"), (KEY.isin(["a"])) & (KEY < "x"), {"a"}),
        ((K == "a") | (K > "x"), (KEY.isin(["a"])) | (KEY > "x"), None),
        (K > "a", KEY > "a", None),
        (pc.scalar("a") <= K, KEY >= "a", None),
        ((K > "a") & (KEY <= "b"), (KEY > "a") & (KEY <= "b"), None),
    ],
)
def test_what_is_said(
    config: TableConfig, expression: pc.Expression, condition: pc.Expression | None, keys: set[str] | None
) -> None:
    found = key_filter(expression, config)
    assert found is not None
    assert found.keys == keys
    assert condition is None or found.condition.equals(condition)


@pytest.mark.parametrize(
    "expression",
    [
        V == 1,
        (K == "a") | (V == 1),
        ~(K == "a"),
        K != "a",
        K > 5,
        K == 1.5,
        K == NULL,
        K.isin(["a", None]),
        KEY == K,
        POINT == 1,
        pc.starts_with(K, "a"),
        pc.scalar(True),
        K,
        None,
    ],
    ids=str,
)
def test_what_says_nothing(config: TableConfig, expression: pc.Expression | None) -> None:
    assert key_filter(expression, config) is None


def test_only_the_meta_field_is_the_key_where_keys_are_made_of_more(config: TableConfig) -> None:
    complex_keys = replace(config, key_generator=KeyGenerator.COMPLEX)
    assert key_filter(K == "a", complex_keys) is None
    assert key_filter(KEY == "k:a", complex_keys) is not None
    assert key_filter(K == "a", replace(config, record_key_fields=("k", "v"))) is None


def test_without_meta_fields_there_is_no_key(config: TableConfig) -> None:
    assert key_filter(KEY == "a", replace(config, populate_meta_fields=False)) is None


TABLES = (
    "v6-cow-duplicates-h0150",
    "v6-mor-hfilelog-h120",
    "v6-mor-logcompaction-h0150",
    "v6-mor-parquetlog-h0150",
    "v6-mor-partial-payload-h0150",
    "v9-mor-commit-time-h120",
    "v9-mor-emptied-h120",
    "v9-mor-evolved-h120",
    "v9-mor-log-only-h120",
    "v9-mor-no-positions-h120",
    "v9-mor-partial-update-h120",
    "v9-mor-positions-h120",
)
"""Tables that are merged in many ways."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sample(TABLES, of=6))
def test_the_rows_are_those_that_are_filtered_afterwards(name: str, golden: Callable[[str], GoldenTable]) -> None:
    root = golden(name).table
    table = open_table(root)
    everything = table.snapshot()
    keys = sorted(everything["_hoodie_record_key"].to_pylist())
    some = [*keys[:: max(len(keys) // 3, 1)], "not there"]
    for condition in (KEY.isin(some), some[len(some) // 2] < KEY):
        expected = multiset(everything.filter(condition))
        assert multiset(table.snapshot(filter=condition)) == expected, condition
    small = open_table(root, options={"hoodie.memory.merge.max.size": "64"})
    assert multiset(small.snapshot(filter=KEY.isin(some))) == multiset(everything.filter(KEY.isin(some))), "on disk"


def test_an_equality_of_the_key_and_another_condition(tmp_path: Path) -> None:
    table = new_table(tmp_path / "table", partition_by=[])
    table.insert(rows(*((f"k{i}", 1, None, i) for i in range(9))))
    table.upsert(rows(("k3", 2, None, 33), ("k4", 0, None, 44)))
    table.delete(rows(("k5", 0, None, 0)))
    k, v = pc.field("k"), pc.field("v")
    both = k.isin(["k3", "k4", "k5", "k6"])
    assert content(table, filter=both & (v > 4)) == [("k3", 2, None, 33), ("k6", 1, None, 6)]
    assert content(table, ("v",), filter=both & (v <= 4)) == [(4,)]
    assert content(table, ("v",), filter=(k == "k3") & (v == 3)) == []


def test_a_base_file_whose_bloom_filter_has_none_of_the_keys_is_left_alone(tmp_path: Path) -> None:
    """All but the footer can be gone."""
    table = new_table(tmp_path / "table", partition_by=[])
    table.insert(rows(*((f"k{i}", 1, None, i) for i in range(9))))
    [name] = [path for path in data_files(tmp_path / "table") if path.endswith(".parquet")]
    damaged = bytearray((tmp_path / "table" / name).read_bytes())
    damaged[4:600] = bytes(596)
    (tmp_path / "table" / name).write_bytes(damaged)
    assert content(table, filter=pc.field("k") == "k33") == []
    with pytest.raises(HudiFormatError):
        table.snapshot(filter=pc.field("k") == "k3")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (pc.field("c") == "x", ["x"]),
        (pc.field("c").isin(["x", "y"]) & (pc.field("d") > 1), ["x", "y"]),
        ((pc.field("c") == "x") | (pc.field("c") == "y"), ["x", "y"]),
        ((pc.field("c") == "x") | (pc.field("d") == 1), None),
        (pc.field("c") == 5, ["5"]),
        (pc.field("c") == dt.date(1970, 1, 3), ["2"]),
        (pc.field("c") == dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc), ["1000000"]),
        (pc.field("c") == dt.datetime(1970, 1, 1), None),
        (pc.field("c") == 0.5, None),
        (pc.field("c") == pa.scalar(None, pa.string()), None),
        (pc.field("c") > "x", None),
        (pc.field("c").is_null(), None),
        (pc.field("d") == "x", None),
    ],
    ids=lambda value: str(value) if isinstance(value, pc.Expression) else "",
)
def test_the_values_of_a_column_are_texts_of_an_index(expression: pc.Expression, expected: list[str] | None) -> None:
    assert value_filter(expression, "c") == (None if expected is None else set(expected))


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (pc.field("v") == 5, [("v", operator.eq, 5)]),
        ((pc.field("v") > 5) & (pc.scalar("x") >= pc.field("t")), [("v", operator.gt, 5), ("t", operator.le, "x")]),
        ((pc.field("v") > 5) | (pc.field("v") < 3), []),
        (~(pc.field("v") == 5), []),
        ((pc.field("v") != 5) & pc.field("v").is_valid() & (pc.field("d") == dt.date(2024, 1, 1)), []),
        (pc.field("v") == pa.scalar(None, pa.int64()), []),
        (pc.field("v") == pc.field("w"), []),
        (pc.field("s", "v") == 5, []),
        (pc.field("v") == 5.5, []),
        (pc.field("v").isin([1, 2]), []),
    ],
    ids=str,
)
def test_comparisons_that_are_true_wherever_a_filter_is(expression: pc.Expression, found: list[object]) -> None:
    assert list(plain_comparisons(expression)) == found
