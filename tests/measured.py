"""Where coverage is measured: it takes half as long again, and learns nothing of the tenth case of a test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from random import Random

import pytest

MEASURED_BY = "COVERAGE_PROCESS_CONFIG"
"""The variable by which coverage finds out, in a process that starts, that it is measured."""

CASES = 3
"""Of a test's cases coverage is measured in so many, or a twentieth of them if that is more."""

REPEATING = ("benchmarks", "conformance", "fire", "model", "turns")
"""Rooms whose tests run through code that has tests of its own: none of them counts as coverage."""


def repeating(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The tests of *items* that run through code that others have been through."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.nodeid.split("/")[1] in REPEATING:
            yield item
        else:
            cases[item.nodeid.partition("[")[0]].append(item)
    for of_one_test in cases.values():
        count = len(of_one_test)
        measured = Random(count).sample(range(count), min(count, max(CASES, count // 20)))  # noqa: S311 - no secret
        yield from (item for place, item in enumerate(of_one_test) if place not in measured)
