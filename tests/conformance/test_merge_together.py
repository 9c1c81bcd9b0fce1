"""Base files of several partitions that are merged together: Hudi reads them, and goes on with them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat.write.handles import base_files, merge
from tests.conformance import partitioned
from tests.conformance.hudi import RealHudi
from tests.conformance.partitioned import HUDI, same, table_of

pytestmark = pytest.mark.hudi

rows = partial(partitioned.rows, partitions=7)


@pytest.mark.parametrize("version", [6, 9])
def test_hudi_reads_and_goes_on(hudi: RealHudi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    monkeypatch.setattr(merge, "_SMALL_FILE", 1 << 18)
    monkeypatch.setattr(base_files, "_SMALL_FILE", 1 << 20)
    path = tmp_path / "t"
    table = table_of(path, version=version)
    table.insert(rows(range(1000), 2))
    same(hudi, path)
    table.upsert(pa.concat_tables([rows(range(0, 1100, 3), 3), rows(range(1, 40, 3), 1)]))
    assert same(hudi, path)["ts"].to_pylist().count(1) == 0
    table.delete(rows(range(70), 4))
    assert same(hudi, path).num_rows == 1000 + 33 - 70
    hudi.write(rows(range(990, 1030), 5), path, HUDI)
    before = same(hudi, path).num_rows
    table.upsert(rows(range(900, 1030), 6))
    found = same(hudi, path)
    assert found.num_rows == before
    assert found["ts"].to_pylist().count(6) == 130
