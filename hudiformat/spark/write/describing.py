"""Descriptions of a write's jobs on Spark's web pages: the operation, the table and the phase."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.commit.reporting import LOG

_DESCRIPTION = "spark.job.description"


@contextmanager
def phase(spark: SparkSession, plan: WritePlan, name: str) -> Iterator[None]:
    """Describe the jobs of the block as ``hudiformat: upsert flights, look up keys``, then restore the description.

    With Spark Connect, jobs have no descriptions.
    """
    text = f"hudiformat: {plan.operation.value.lower()} {plan.config.name}, {name}"
    LOG.debug("%s, instant %s", text, plan.instant)
    context = getattr(spark, "sparkContext", None)
    if context is None:
        yield
        return
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)
