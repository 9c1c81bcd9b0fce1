"""Rules for the number of buckets, as Hudi writes them."""

from __future__ import annotations

import pytest

from hudiformat import OptionError
from hudiformat.table.options.buckets import BucketRule, format_bucket_rules, parse_bucket_rules
from hudiformat.table.options.keys import parse_write_options

KEY = "hoodie.bucket.index.partition.expressions"


def test_rules_come_in_their_order() -> None:
    rules = parse_bucket_rules(KEY, r"\d{4}-06, 8 ; ^x$,2")
    assert rules == (BucketRule(r"\d{4}-06", 8), BucketRule("^x$", 2))
    assert format_bucket_rules(rules) == r"\d{4}-06,8;^x$,2"
    assert parse_bucket_rules(KEY, format_bucket_rules(rules)) == rules
    assert parse_bucket_rules(KEY, "") == ()


@pytest.mark.parametrize("rule", ["x", "x,", "x,0", "x,-1", ",3", "x,3,4", "x,y"])
def test_another_form_is_refused(rule: str) -> None:
    with pytest.raises(OptionError, match=r"expected rules as 'pattern,buckets'") as caught:
        parse_bucket_rules(KEY, f"a,1;{rule}")
    assert caught.value.option == KEY


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(OptionError, match="expected a regular expression, found '\\('"):
        parse_bucket_rules(KEY, "(,1")


def test_the_limits_of_resizing_are_options() -> None:
    keys = {"max.num.buckets": "9", "min.num.buckets": "2", "split.threshold": "1.5", "merge.threshold": "0.1"}
    found = parse_write_options({f"hoodie.bucket.index.{key}": value for key, value in keys.items()}).bucketing
    assert (found.most, found.fewest, found.split, found.merge) == (9, 2, 1.5, 0.1)
