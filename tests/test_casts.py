"""What a cast cannot convert is an error everywhere: no value becomes null because Arrow could not convert it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.unmeasured

PACKAGE = Path(__file__).parents[1] / "hudiformat"
CAST_ERRORS = {"ArrowInvalid", "ArrowException", "ArrowNotImplementedError", "ArrowTypeError", "_UNKNOWN_FORM"}
"""The exceptions of a cast, and the name of a tuple with them."""

NO_VALUE_IS_LOST = {
    ("cli/files.py", "_read_arrow"): "a file of the other one of two formats",
    ("cli/files.py", "_columns_of"): "the columns are asked of the whole file then",
    ("api/streaming.py", "_size_of"): "an estimate of bytes",
    ("codec/avro/arrays.py", "estimate_nbytes"): "another estimate",
    ("codec/avro/compiled/decoded.py", "decode_columns"): "numpy decodes the records then, and raises",
    ("codec/avro/delete_list.py", "_read_few"): "the list is decoded in another way then, which raises",
    ("codec/avro/decode.py", "_first_not_text"): "a search for the text that is damaged, for an error",
    ("codec/parquet/source.py", "_same_arrow_schema"): "schemas that cannot be read are not the same",
    ("conditions/polars_predicates.py", "of"): "no row is left out; Polars filters again",
    ("conditions/filters.py", "_error_of"): "the error's text is what is asked for",
    ("conditions/comparison.py", "values_alike"): "each value is looked at by itself then",
    ("duckdb/values.py", "_scalar"): "the function raises at its end",
    ("file_group/base_file/filters.py", "can_match"): "a condition that cannot be told may match",
    ("file_group/base_file/parquet.py", "_metadata_without_filter"): "the whole footer is read then",
    ("file_group/base_file/parquet.py", "groups_that_match"): "no row group is left out",
    ("file_group/base_file/filters.py", "matches"): "no row is left out",
    ("file_group/key_filter.py", "key_filter"): "no row is left out",
    ("file_group/key_filter.py", "plain_comparisons"): "no row group is left out",
    ("file_group/key_filter.py", "value_filter"): "no row is left out",
    ("read/skipping.py", "_bounds"): "a bound that is not known rules nothing out",
    ("schema/partition_columns.py", "_parse"): "the caller raises, or leaves no partition out",
}
"""Where such an exception is caught and none is raised, and why no value is lost."""


def handlers(source: str) -> Iterator[tuple[str, ast.ExceptHandler]]:
    """The handlers of cast errors that raise nothing, with the function that they are in."""
    if not any(name in source for name in CAST_ERRORS):
        return
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.ExceptHandler) or node.type is None:
                continue
            names = {
                one.attr if isinstance(one, ast.Attribute) else one.id
                for one in ast.walk(node.type)
                if isinstance(one, ast.Attribute | ast.Name)
            }
            if names & CAST_ERRORS and not any(isinstance(one, ast.Raise) for one in ast.walk(node)):
                yield function.name, node


def test_an_error_of_a_cast_is_an_error_or_asked_for() -> None:
    found = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in PACKAGE.rglob("*.py")
        for name, _ in handlers(path.read_text("utf-8"))
    }
    assert found == set(NO_VALUE_IS_LOST), "a value that cannot be converted must not become null"


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("except pa.ArrowInvalid:\n        return pa.nulls(1)", True),
        ("except (ValueError, pa.ArrowException):\n        return None", True),
        ("except pa.ArrowInvalid as error:\n        raise ValueError from error", False),
        ("except ValueError:\n        return None", False),
    ],
)
def test_such_places_are_found(body: str, *, is_found: bool) -> None:
    source = f"def f():\n    try:\n        pass\n    {body}\n"
    assert bool(list(handlers(source))) is is_found
