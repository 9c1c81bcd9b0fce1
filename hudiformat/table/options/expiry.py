"""The options of partition TTL: which partitions expire, and when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.table.options.parsers import (
    Keys,
    member_of,
    parse_any_integer,
    parse_boolean,
    parse_count,
    parse_fields,
)

_STRATEGY = "hoodie.partition.ttl.strategy."
_CLASSES = "org.apache.hudi.table.action.ttl.strategy."


class ExpiryStrategy(Enum):
    """The time from which the age of a partition is counted (``hoodie.partition.ttl.management.strategy.type``).

    Source: org.apache.hudi.table.action.ttl.strategy.PartitionTTLStrategyType.
    """

    BY_TIME = "KEEP_BY_TIME"
    """From the newest base instant of its file slices."""
    BY_CREATION_TIME = "KEEP_BY_CREATION_TIME"
    """From the write that made it."""


_STRATEGY_OF_CLASS = {
    f"{_CLASSES}KeepByTimeStrategy": ExpiryStrategy.BY_TIME,
    f"{_CLASSES}KeepByCreationTimeStrategy": ExpiryStrategy.BY_CREATION_TIME,
}


@dataclass(frozen=True, slots=True)
class ExpiryOptions:
    """When partitions expire.

    A partition expires when it is older than ``days``; with 0 or less none does.  If ``selected`` names partitions,
    only these can expire.  At most ``most`` partitions are deleted at once.  With ``inline``, expired partitions are
    deleted after each write.  ``of_class`` takes precedence over ``of_type``.

    Source: HoodieTTLConfig, HoodiePartitionTTLStrategyFactory, Hudi 1.2.0.
    """

    inline: bool = False
    of_type: ExpiryStrategy = ExpiryStrategy.BY_TIME
    of_class: ExpiryStrategy | None = None
    days: int = -1
    most: int = 1000
    selected: tuple[str, ...] = ()

    @property
    def strategy(self) -> ExpiryStrategy:
        """The strategy in effect."""
        return self.of_class or self.of_type


def parse_strategy_class(key: str, value: str) -> ExpiryStrategy | None:
    """Parse the name of one of Hudi's strategy classes; return None for an empty name.

    Raises:
        UnsupportedFeatureError: the class is not one of Hudi's.
    """
    if value and value not in _STRATEGY_OF_CLASS:
        raise UnsupportedFeatureError(
            f"{key}: expected {' or '.join(_STRATEGY_OF_CLASS)}, found {value}; choose one of these",
            feature=f"TTL strategy {value}",
        )
    return _STRATEGY_OF_CLASS.get(value)


EXPIRY_KEYS: Keys = {
    "hoodie.partition.ttl.inline": ("inline", parse_boolean),
    "hoodie.partition.ttl.management.strategy.type": ("of_type", member_of(ExpiryStrategy)),
    f"{_STRATEGY}class": ("of_class", parse_strategy_class),
    f"{_STRATEGY}days.retain": ("days", parse_any_integer),
    f"{_STRATEGY}max.delete.partitions": ("most", parse_count),
    f"{_STRATEGY}partition.selected": ("selected", parse_fields),
}
