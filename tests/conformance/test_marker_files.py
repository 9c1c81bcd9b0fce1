"""Markers of a dead write, as lines of one file: Hudi rolls it back by them, and we roll back those of Hudi's."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.naming.file_names import parse_data_file
from hudiformat.write.commit.markers import marked_files
from tests.conformance import partitioned
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.conformance.partitioned import HUDI, same, table_of
from tests.conformance.test_registered_files import NEVER_VALID
from tests.tables import data_files

pytestmark = pytest.mark.hudi

rows = partial(partitioned.rows, partitions=20)

_DIE = """
import os, sys
import pyarrow.parquet as pq
import hudiformat as hf
from hudiformat.write.commit import publishing
publishing.complete_instant = lambda *_a, **_k: os._exit(9)
hf.open_table(sys.argv[1]).upsert(pq.read_table(sys.argv[2]))
"""


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_hudi_rolls_a_dead_write_back(hudi: RealHudi, tmp_path: Path, kind: str, version: int) -> None:
    path = tmp_path / "t"
    table = table_of(path, kind=kind, version=version)
    table.insert(rows(range(100), 1))
    before = {*data_files(path)}
    pq.write_table(rows(range(50, 150), 2), tmp_path / "rows.parquet")
    died = subprocess.run([sys.executable, "-c", _DIE, str(path), str(tmp_path / "rows.parquet")], check=False)
    assert died.returncode == 9
    left = {*data_files(path)} - before
    assert len(left) >= 20
    (instant,) = (one.time for one in hf.open_table(path).timeline.pending)
    assert {*marked_files(table._context.storage, instant)} == left
    folder = path / ".hoodie" / ".temp" / instant
    assert sorted(one.name for one in folder.iterdir()) == ["MARKERS.type", "MARKERS0"]
    hudi.write(rows(range(3), 3), path, HUDI | {"hoodie.datasource.write.table.type": kind})
    assert not left & {*data_files(path)}
    assert not folder.exists()
    assert same(hudi, path)["ts"].to_pylist().count(2) == 0
    table.upsert(rows(range(100, 150), 4))
    assert same(hudi, path).num_rows == 150


def test_files_that_hudis_timeline_server_marks_are_found(hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = HUDI | {"hoodie.write.markers.type": "TIMELINE_SERVER_BASED"}
    hudi.write(rows(range(40), 1), path, options)
    before = {*data_files(path)}
    with pytest.raises(RealHudiError, match="pre-commit validation failed"):
        hudi.write(rows(range(40), 2), path, options | NEVER_VALID)
    table = hf.open_table(path)
    (instant,) = (one.time for one in table.timeline.pending)
    assert (path / ".hoodie" / ".temp" / instant / "MARKERS.type").exists()
    found = {*marked_files(table._context.storage, instant)}
    assert found == {name for name in data_files(path) if not name.endswith(".crc")} - before
    assert {parsed.instant for name in found if (parsed := parse_data_file(name.rpartition("/")[2]))} == {instant}
    table.upsert(rows(range(20), 3))
    assert same(hudi, path)["ts"].to_pylist().count(2) == 0
    assert not found & {*data_files(path)}
