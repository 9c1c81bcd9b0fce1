"""What filters say about record keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat.query.key_filter import key_filter
from hudiformat.timeline import KeyGenerator, TableConfig
from tests.tables import new_table

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
