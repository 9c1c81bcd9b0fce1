"""``hudiformat.spark`` has what ``Table`` has, or the page about Spark says why not."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import hudiformat as hf

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
LEFT_OUT = re.compile(r"^\| (`[^|]+) \| [^|]+ \|$", re.MULTILINE)
THREE_FORMS = {"update": "where", "delete_where": "where", "read": "filter", "count": "filter", "head": "filter"}


def left_out() -> set[str]:
    """The names in the table of the page that says what is left out."""
    section = PAGE.read_text("utf-8").split("## What `Table` has and this has not", 1)[1].split("\n## ", 1)[0]
    return {name for cell in LEFT_OUT.findall(section) for name in re.findall(r"`(\w+)`", cell)}


def test_every_public_name_of_a_table_is_there_or_left_out_with_a_reason() -> None:
    of_table = {name for name in dir(hf.Table) if not name.startswith("_")}
    assert left_out() <= of_table
    assert of_table - left_out() - set(hudi_spark.__all__) == set()
    assert left_out() & set(hudi_spark.__all__) == set()


def theirs_of(name: str) -> set[str]:
    """The parameters of a method of a table, without the condition of ``delete``, which has a function of its own."""
    found = set(inspect.signature(getattr(hf.Table, name)).parameters) - {"self"}
    return found - {"where"} if name == "delete" else found


def test_every_function_takes_what_the_method_takes() -> None:
    for name in sorted(set(hudi_spark.__all__) & set(dir(hf.Table))):
        ours = set(inspect.signature(getattr(hudi_spark, name)).parameters)
        ours |= {"data", "keys"} & theirs_of(name) if "df" in ours else set()
        assert theirs_of(name) | {"path", "options"} <= ours, name


@pytest.mark.parametrize(("name", "parameter"), THREE_FORMS.items())
def test_a_condition_has_three_forms(name: str, parameter: str) -> None:
    assert "Filter" in inspect.signature(getattr(hudi_spark, name)).parameters[parameter].annotation
