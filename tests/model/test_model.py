"""The state machine of everything: 3,000 steps in a long run, 200 in CI, a sample elsewhere."""

from __future__ import annotations

import os

import pytest

from tests.effort import steps
from tests.model.run import run

pytestmark = pytest.mark.unmeasured

SEED = int(os.environ.get("HUDIFORMAT_MODEL_SEED", "1"))


def test_whatever_is_done_to_a_table_it_has_the_rows_that_it_should_have() -> None:
    run(steps=steps(long=3000, short=40), number=SEED)
