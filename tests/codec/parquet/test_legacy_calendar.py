"""Times of the legacy calendar become those that Spark's own table makes of them, in every time zone."""

from __future__ import annotations

import numpy as np
import pytest

from hudiformat.codec.parquet.legacy_calendar import LegacyZone, legacy_zone
from tools.legacy_zones import spark_zones

FIRST_SECONDS = (0, 1, 59, 3599, 3600, 43_200, 86_399)


@pytest.mark.parametrize("per_second", [1000, 1_000_000])
def test_times_of_all_zones_are_those_of_sparks_table(per_second: int) -> None:
    pytest.importorskip("pyspark")
    differ = []
    for name, pairs in spark_zones().items():
        moments = np.array([moment for moment, _ in pairs], np.int64)
        between = (moments[1:] + moments[:-1]) // 2
        times = np.concatenate([*(moments + later for later in FIRST_SECONDS), between, moments[1:] - 1, [2**31]])
        added = np.array([seconds for _, seconds in pairs])[np.searchsorted(moments, times, "right") - 1]
        zone = legacy_zone(name)
        assert zone is not None
        found = zone.to_gregorian(times * per_second + 7, per_second=per_second)
        if not np.array_equal(found, (times + added) * per_second + 7):
            differ.append(name)
    assert differ == []


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        ("+05:30", 19_800),
        ("-08:00", -28_800),
        ("UTC+1", 3600),
        ("GMT-01:02:03", -3723),
        ("Z", 0),
        ("EST", -18_000),
    ],
)
def test_offsets_are_zones_too(name: str, offset: int) -> None:
    assert legacy_zone(name) == LegacyZone(offset)


@pytest.mark.parametrize("name", ["", "Europe/Bonn", "PST", "05:30"])
def test_other_names_are_not_known(name: str) -> None:
    assert legacy_zone(name) is None
