"""What tests of the benchmarks share."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest


@pytest.fixture
def threads() -> Iterator[None]:
    """The number of Arrow's threads is put back after the test."""
    before = pa.cpu_count()
    yield
    pa.set_cpu_count(before)
