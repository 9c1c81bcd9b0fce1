"""The options of partition TTL."""

from __future__ import annotations

import pytest

from hudiformat import OptionError, UnsupportedFeatureError
from hudiformat.table.options.expiry import ExpiryStrategy
from hudiformat.table.options.keys import parse_write_options

TTL = "hoodie.partition.ttl."
CLASSES = "org.apache.hudi.table.action.ttl.strategy."


def test_a_class_counts_before_a_type() -> None:
    given = {f"{TTL}management.strategy.type": "keep_by_creation_time"}
    assert parse_write_options(given).expiry.strategy is ExpiryStrategy.BY_CREATION_TIME
    given[f"{TTL}strategy.class"] = f"{CLASSES}KeepByTimeStrategy"
    assert parse_write_options(given).expiry.strategy is ExpiryStrategy.BY_TIME
    given[f"{TTL}strategy.class"] = ""
    assert parse_write_options(given).expiry.strategy is ExpiryStrategy.BY_CREATION_TIME


def test_a_strategy_of_ones_own_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"expected {CLASSES}KeepByTimeStrategy or"):
        parse_write_options({f"{TTL}strategy.class": "com.example.Mine"})


def test_an_unknown_strategy_is_an_error() -> None:
    with pytest.raises(OptionError, match="expected one of KEEP_BY_TIME, KEEP_BY_CREATION_TIME"):
        parse_write_options({f"{TTL}management.strategy.type": "KEEP_BY_SIZE"})


def test_less_than_no_partition_cannot_be_deleted() -> None:
    with pytest.raises(OptionError, match=r"max\.delete\.partitions: expected a whole number of 0 or more"):
        parse_write_options({f"{TTL}strategy.max.delete.partitions": "-1"})
