"""Indexes that hudiformat builds for tables with data: Hudi reads by them what a scan finds, and goes on with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import open_table
from hudiformat.timeline.timeline import Action
from hudiformat.write.metadata.indexing import IndexBuild
from tests.conformance.hudi import RealHudi
from tests.conformance.test_metadata_indexes import INDEXES, OPTIONS, check, rows
from tests.effort import only_long

pytestmark = pytest.mark.hudi

ALL = ("bloom_filters", "column_stats", "files", "partition_stats", "record_index")
BARE = {"hoodie.metadata.enable": "false", "hoodie.index.type": "GLOBAL_SIMPLE"}


def indexes_found(hudi: RealHudi, path: Path, name: str) -> None:
    """Hudi's validation finds nothing, and a look-up by the record index finds the row."""
    hudi.sql(f"create table {name} using hudi location '{path}'")
    assert hudi.sql(f"call validate_metadata_table_files(table => '{name}')").num_rows == 0
    shown = {row["index_name"] for row in hudi.sql(f"show indexes from {name}").to_pylist()}
    assert shown >= {"column_stats", "record_index"}
    options = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    code = (
        f"rows = spark.read.format('hudi').options(**{options!r}).load({str(path)!r})\n"
        "result = [row[0] for row in rows.where(\"k = 'k003'\").select('ts').collect()]\n"
    )
    assert len(hudi.eval_(code)) == 1


def theirs(table_type: str, version: int) -> dict[str, str]:
    return {
        **OPTIONS,
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.write.table.version": str(version),
    }


@only_long  # test_metadata_indexes.py has an index that is built
@pytest.mark.parametrize(("table_type", "version"), [("MERGE_ON_READ", 9), ("COPY_ON_WRITE", 8)])
def test_hudi_goes_on_with_indexes_that_are_built(
    hudi: RealHudi, tmp_path: Path, table_type: str, version: int
) -> None:
    path, options = tmp_path / "t", theirs(table_type, version)
    hudi.write(rows(range(30), 1), path, {**options, **BARE})
    hudi.write(rows(range(3, 9), 2), path, {**options, **BARE})
    deleting = {"hoodie.datasource.write.operation": "delete"}
    hudi.write(rows(range(12, 15), 3), path, {**options, **BARE, **deleting})
    table = open_table(path, options={"hoodie.index.type": "GLOBAL_SIMPLE"})
    table.upsert(rows(range(20, 40), 4))
    for name in ("column_stats", "partition_stats", "bloom_filters", "record_index"):
        built = table.create_index(name)
        assert [one.action for one in built] == [Action.INDEXING] * len(built) != []
    check(hudi, path, ALL)
    indexes_found(hudi, path, f"built_{version}")
    made = {path.name for path in (path / ".hoodie/metadata/record_index").glob("*.hfile")}
    hudi.write(rows(range(5, 25, 3), 5), path, options)
    assert {path.name for path in (path / ".hoodie/metadata/record_index").glob("*.hfile")} >= made  # not built anew
    table.upsert(rows(range(2, 50, 5), 6))
    hudi.write(rows(range(1, 20, 7), 7), path, {**options, **deleting})
    check(hudi, path, ALL)


@only_long
def test_hudi_goes_on_where_an_index_was_half_built(hudi: RealHudi, tmp_path: Path) -> None:
    path, options = tmp_path / "t", theirs("MERGE_ON_READ", 9)
    hudi.write(rows(range(20), 1), path, {**options, **BARE})
    table = open_table(path)
    table.create_index("column_stats")
    half_built(path)
    hudi.write(rows(range(5, 25), 2), path, {**options, "hoodie.metadata.record.index.enable": "false"})
    keys = {row["k"] for row in hudi.read(path, {"hoodie.metadata.enable": "true"}).to_pylist()}
    assert keys == {f"k{key:03d}" for key in range(25)}
    table.upsert(rows(range(3), 3))  # which deletes what was begun
    assert not [one for one in table.timeline.pending if one.action is Action.INDEXING]
    table.create_index("record_index")
    hudi.write(rows(range(5, 30), 4), path, {**options, "hoodie.metadata.index.bloom.filter.enable": "false"})
    assert INDEXES["hoodie.metadata.record.index.enable"] == "true"
    check(hudi, path, open_table(path).config.metadata_partitions)


def half_built(path: Path) -> None:
    """Take the record index of the table at *path* back to where the process that builds it would have died."""

    def dying(_build: IndexBuild) -> dict[str, str]:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexBuild, "properties", dying)
        patch.setattr("hudiformat.services.indexing.finish_indexings", lambda state: state)
        with pytest.raises(KeyboardInterrupt):
            open_table(path).create_index("record_index")
    assert open_table(path).timeline.pending[0].action is Action.INDEXING
