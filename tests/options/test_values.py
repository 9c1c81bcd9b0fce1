"""Options as values: what follows from them, and which contradict each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import OptionError
from tests.tables import new_table

MODE = {"hoodie.write.concurrency.mode": "optimistic_concurrency_control"}


def test_eager_cleaning_beside_other_writers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="EAGER deletes what other writers are writing"):
        new_table(tmp_path, options={**MODE, "hoodie.clean.failed.writes.policy": "EAGER"})
