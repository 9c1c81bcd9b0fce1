"""The options of a bucket index: how many buckets a partition has, and when clustering splits and merges them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from hudiformat.errors import OptionError
from hudiformat.table.options.parsers import Keys, one_of, parse_integer, parse_share

_RULES = "hoodie.bucket.index.partition.expressions"


class BucketEngine(Enum):
    """How the hash of a record key determines its bucket (``hoodie.index.bucket.engine``).

    Source: HoodieIndex.BucketIndexEngineType.
    """

    SIMPLE = "SIMPLE"
    """The bucket is the hash modulo the number of buckets, which never changes."""
    CONSISTENT_HASHING = "CONSISTENT_HASHING"
    """Each bucket has a range of hashes; clustering splits and merges ranges."""


@dataclass(frozen=True, slots=True)
class BucketRule:
    """Partitions whose path matches the regular expression *pattern* have *count* buckets."""

    pattern: str
    count: int


@dataclass(frozen=True, slots=True)
class BucketingOptions:
    """How many buckets a partition has: by the first of ``rules`` that matches its path, else the table's number.

    With consistent hashing, clustering splits buckets of more than ``split`` times the maximum file size until the
    partition has ``most``, and merges those of less than ``merge`` times that until it has ``fewest``; None is the
    number of buckets with which a partition begins.

    Source: HoodieIndexConfig, Hudi 1.2.0.
    """

    rules: tuple[BucketRule, ...] = ()
    rule_type: str = "regex"
    most: int | None = None
    fewest: int | None = None
    split: float = 2.0
    merge: float = 0.2

    def count_in(self, path: str, default: int) -> int:
        """Return how many buckets a partition has at first, if the table's number is *default*.

        Source: NumBucketsFunction, RegexRuleEngine, Hudi 1.2.0.
        """
        return next((rule.count for rule in self.rules if re.search(rule.pattern, path)), default)


def parse_bucket_rules(key: str, value: str) -> tuple[BucketRule, ...]:
    """Parse rules ``pattern,count;pattern,count``; a pattern must mean the same in Java and in Python.

    Raises:
        OptionError: a rule has another form.

    Source: RegexRuleEngine.parseExpressions, Hudi 1.2.0.
    """
    return tuple(_parse_rule(key, rule.strip()) for rule in value.split(";") if rule.strip())


def _parse_rule(key: str, rule: str) -> BucketRule:
    pattern, _, count = (part.strip() for part in rule.partition(","))
    try:
        re.compile(pattern)
    except re.error as error:
        raise OptionError(f"{key}: expected a regular expression, found {pattern!r}: {error}", option=key) from error
    if not pattern or not count.isdecimal() or int(count) < 1:
        raise OptionError(f"{key}: expected rules as 'pattern,buckets' between ';', found {rule!r}", option=key)
    return BucketRule(pattern, int(count))


def format_bucket_rules(rules: tuple[BucketRule, ...]) -> str:
    """Format rules as the text that :func:`parse_bucket_rules` parses."""
    return ";".join(f"{rule.pattern},{rule.count}" for rule in rules)


BUCKETING_KEYS: Keys = {
    _RULES: ("rules", parse_bucket_rules),
    "hoodie.bucket.index.partition.rule.type": ("rule_type", one_of("regex")),
    "hoodie.bucket.index.max.num.buckets": ("most", parse_integer),
    "hoodie.bucket.index.min.num.buckets": ("fewest", parse_integer),
    "hoodie.bucket.index.split.threshold": ("split", parse_share),
    "hoodie.bucket.index.merge.threshold": ("merge", parse_share),
}
