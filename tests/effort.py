"""How much a run tries: everything in CI, a part of it where somebody waits."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("CI") == "true"


def examples(count: int) -> int:
    """So many of Hypothesis's examples in CI, a quarter of them elsewhere."""
    return count if THOROUGH else max(count // 4, 2)


def every(count: int) -> int:
    """The step through moments that are all alike: each of them in CI, every *count*-th elsewhere."""
    return 1 if THOROUGH else count
