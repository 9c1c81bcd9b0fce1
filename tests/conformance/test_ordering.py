"""Ordering columns of every type: Hudi on Spark merges our rows and deletes as we do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hudi import RealHudi, RealHudiError
from tests.conformance.test_hudi_rs import ORDERING, REFUSED, deleted_by_ordering
from tests.rows import assert_same_rows

MERGED = {**ORDERING, "local timestamp": REFUSED["local timestamp"][:3]}


@pytest.mark.all_sets
@pytest.mark.parametrize("what", MERGED)
def test_deletes_with_ordering_values_of_every_type(hudi: RealHudi, tmp_path: Path, what: str) -> None:
    table = deleted_by_ordering(tmp_path / "t", *MERGED[what])
    assert_same_rows(table.snapshot(), hudi.read(table.path), key=("k",))


def test_bytes_are_nothing_that_hudi_orders_by(hudi: RealHudi, tmp_path: Path) -> None:
    table = deleted_by_ordering(tmp_path / "t", *REFUSED["bytes"][:3])
    with pytest.raises(RealHudiError, match="cannot be cast to class java.lang.Comparable"):
        hudi.read(table.path)
