"""The state machine of everything: more steps in a long run, and by hand with ``python -m tests.model``."""

from __future__ import annotations

import os

import pytest

from tests.effort import steps
from tests.model.run import run

pytestmark = pytest.mark.unmeasured

SEED = int(os.environ.get("HUDIFORMAT_MODEL_SEED", "1"))


@pytest.mark.slow
def test_whatever_is_done_to_a_table_it_has_the_rows_that_it_should_have() -> None:
    run(steps=steps(long=300, short=15), number=SEED)
