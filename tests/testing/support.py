"""Settings for expensive strategies, and whether a strategy reaches a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st

from hudiformat.codec.avro.schema import arrow_to_avro
from tests.effort import examples

SLOW = settings(
    deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
ANY = settings(
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=5000,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def schema_of(batch: pa.RecordBatch) -> str:
    return arrow_to_avro(batch.schema, name="t_record", namespace="hoodie.t")


def reaches(strategy: st.SearchStrategy[Any], condition: Callable[[Any], bool]) -> bool:
    return condition(find(strategy, condition, settings=ANY))
