"""Conditions of Spark SQL that prune files: a file that cannot hold a matching row is not read."""

from __future__ import annotations

from datetime import timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from hudiformat.conditions.translation import implied_condition


def pruning(spark: SparkSession, condition: str, every: pa.Schema) -> pc.Expression | None:
    """Return an expression that every row for which *condition* is true fulfils, to prune files by.

    It is None if only Java knows the time zone of the session.
    """
    zone = _zone(spark.conf.get("spark.sql.session.timeZone") or "UTC")
    return None if zone is None else implied_condition(condition, every, zone)


def _zone(name: str) -> tzinfo | None:
    if name in ("UTC", "Z"):
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None
