from __future__ import annotations

import pytest

from hudiformat import Table
from tests.report.hostile import hostile_table
from tests.tables import no_waiting_for_the_disk

__all__ = ["no_waiting_for_the_disk"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table with hostile names and all that can be wrong; not to be changed."""
    return hostile_table(tmp_path_factory.mktemp("hostile"))
