"""Descriptions of a write's jobs on Spark's web pages: the operation, the table and the phase."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from pyspark.sql import SparkSession

from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.reporting.commits import LOG

_DESCRIPTION = "spark.job.description"


def phase(spark: SparkSession, plan: WritePlan, name: str) -> AbstractContextManager[None]:
    """Describe the jobs of a phase of a write as ``hudiformat: upsert flights, look up keys``, in its block."""
    text = f"{plan.operation.value.lower()} {plan.config.name}, {name}"
    LOG.debug("hudiformat: %s, instant %s", text, plan.instant)
    return describe_jobs(spark, text)


@contextmanager
def describe_jobs(spark: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs of the block as ``hudiformat: <text>``, then restore the description.

    With Spark Connect, jobs have no descriptions.
    """
    context = getattr(spark, "sparkContext", None)
    if context is None:
        yield
        return
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, f"hudiformat: {text}")
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)
