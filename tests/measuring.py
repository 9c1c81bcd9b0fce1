"""Pauses of the measurement of coverage, which doubles the time of what is not measured for its own sake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import coverage
import pytest

_OF_PROCESSES = "COVERAGE_PROCESS_CONFIG"
"""Makes processes that are started measure, too."""


@contextmanager
def unmeasured() -> Iterator[None]:
    """Within the body neither this process is measured nor those that it starts; nothing is changed if none is."""
    stopped = []
    while measuring := coverage.Coverage.current():
        measuring.stop()
        stopped.append(measuring)
    try:
        with pytest.MonkeyPatch.context() as patch:
            if stopped:
                patch.delenv(_OF_PROCESSES, raising=False)
            yield
    finally:
        for measuring in reversed(stopped):
            measuring.start()
