"""Jobs are described in Spark's pages, and the user's own description is there again afterwards."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark.sql")

import hudiformat.spark as hudi_spark
from hudiformat.spark.write.describing import phase
from tests.spark.write.lookup.test_global_lookup import Pair, as_frame, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "spark.job.description"


def test_each_phase_of_a_write_has_its_description(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(spark, tmp_path, "MERGE_ON_READ", {"hoodie.index.type": "SIMPLE"})
    pair.begin("upsert", rows_of(1))
    context, seen = spark.sparkContext, []
    remember: Any = context.setLocalProperty

    def noted(key: str, value: Any) -> None:
        seen.append(value)
        remember(key, value)

    monkeypatch.setattr(context, "setLocalProperty", noted)
    caplog.set_level(logging.DEBUG, "hudiformat")
    context.setJobDescription("mine")
    try:
        hudi_spark.upsert(as_frame(spark, rows_of(2)), pair.tables[0].path, options=pair.options)
        assert context.getLocalProperty(KEY) == "mine"
    finally:
        remember(KEY, None)
    phases = ["look at the keys", "look up keys", "write files"]
    described = [text for text in seen if text and text.startswith("hudiformat: ")]
    assert described == [f"hudiformat: upsert things, {name}" for name in phases]
    debug = [text for record in caplog.records if (text := record.getMessage()).startswith("hudiformat: ")]
    assert [text.partition(", instant ")[0] for text in debug] == described


def test_spark_connect_has_no_descriptions() -> None:
    session: Any = SimpleNamespace()
    plan: Any = SimpleNamespace(
        operation=SimpleNamespace(value="UPSERT"), config=SimpleNamespace(name="t"), instant="1"
    )
    with phase(session, plan, "write files"):
        assert vars(session) == {}
    assert vars(session) == {}
