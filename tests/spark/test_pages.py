"""The pages whose examples need Spark."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.documents import pages_that_need, run_page
from tests.effort import sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.unmeasured


@pytest.mark.all_sets
@pytest.mark.parametrize("name", sample(sorted({*pages_that_need("spark")} - {*pages_that_need("hudi")}), of=4))
def test_the_examples_of_a_page_run_on_spark(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        run_page(name, needs=("spark",))
    finally:
        for query in spark.streams.active:
            query.stop()
        logging.getLogger("hudiformat").setLevel(logging.NOTSET)
