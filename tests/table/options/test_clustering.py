"""The options of clustering are Hudi's, with Hudi's defaults."""

from __future__ import annotations

import pytest

from hudiformat import OptionError
from hudiformat.table.options.answers import hudi_keys
from hudiformat.table.options.clustering import CLUSTERING_KEYS, ClusteringOptions, Layout, PartitionFilter, SliceOrder
from hudiformat.table.options.keys import parse_write_options
from hudiformat.table.options.parsers import parse_fields

PLAN = "hoodie.clustering.plan.strategy."


def test_defaults_are_hudis() -> None:
    given = {key: hudi_keys()[key].default for key in CLUSTERING_KEYS if hudi_keys()[key].default}
    assert len(given) > 10
    assert parse_write_options(given).clustering == ClusteringOptions()


def test_texts_become_values() -> None:
    found = parse_write_options(
        {
            f"{PLAN}sort.columns": "a, b.c",
            f"{PLAN}file.slices.sort.by": "instant_time, SIZE",
            f"{PLAN}partition.regex.pattern": "2024-.*",
            "hoodie.layout.optimize.strategy": "z-order",
            "hoodie.clustering.plan.partition.filter.mode": "recent_days",
        }
    ).clustering
    assert found.sort_columns == parse_fields("", "a,b.c") == ("a", "b.c")
    assert found.slice_order == (SliceOrder.INSTANT_TIME, SliceOrder.SIZE)
    assert (found.pattern, found.layout) == ("2024-.*", Layout.Z_ORDER)
    assert found.partition_filter is PartitionFilter.RECENT_DAYS


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (f"{PLAN}partition.regex.pattern", "(", "expected a regular expression, found '\\('"),
        (f"{PLAN}file.slices.sort.by", "NAME", "expected one of INSTANT_TIME, SIZE, found 'NAME'"),
        ("hoodie.layout.optimize.strategy", "peano", "expected one of LINEAR, ZORDER, HILBERT, found 'peano'"),
        (f"{PLAN}max.num.groups", "0", "expected a positive whole number"),
    ],
)
def test_other_texts_are_refused(key: str, value: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        parse_write_options({key: value})
