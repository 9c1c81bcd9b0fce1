"""Conditions of Spark SQL, as far as they tell which files have no rows for them."""

from __future__ import annotations

from datetime import timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from hudiformat.conditions.translation import implied


def pruning(spark: SparkSession, condition: str, every: pa.Schema) -> pc.Expression | None:
    """What rules out files; None where the session's time zone is one that only Java knows."""
    zone = _zone(spark.conf.get("spark.sql.session.timeZone") or "UTC")
    return None if zone is None else implied(condition, every, zone)


def _zone(name: str) -> tzinfo | None:
    if name in ("UTC", "Z"):
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None
