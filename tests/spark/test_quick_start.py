"""Hudi's quick start, with ``hudiformat`` for ``hudi``: the same rows are there after each statement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark.sql.datasource")

import hudiformat.spark as hudi_spark
from tests.effort import only_long
from tests.quick_start import KINDS, answers, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.unmeasured


@only_long
@pytest.mark.parametrize(("table_type", "has_key"), KINDS)
def test_the_same_rows_are_there_after_each_statement(
    spark: SparkSession, tmp_path: Path, table_type: str, *, has_key: bool
) -> None:
    hudi_spark.register(spark)
    variables: dict[str, Any] = {"spark": spark}

    def execute(text: str) -> Any:
        exec(text, variables)  # noqa: S102 - that of the quick start
        return variables.get("result")

    found = run(execute, "hudiformat", tmp_path / "ours", table_type, has_key=has_key)
    assert found == answers(table_type, has_key=has_key)
    assert len(found[-1][0]) == (5 if has_key else 9)
