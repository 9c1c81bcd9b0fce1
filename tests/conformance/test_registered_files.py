"""Tables with registered files, as XTable makes them: both read the same after each step, and write in turns."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.effort import LONG
from tests.foreign.make_registered import SCHEMA, VERSIONS, Registered, rows

pytestmark = pytest.mark.hudi
FIRST = {"x/a.parquet": (("a", 1, "x", 1), ("b", 1, "x", 2)), "y/b.parquet": (("c", 1, "y", 3),)}
NEVER_VALID = {
    "hoodie.precommit.validators": "org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator",
    "hoodie.precommit.validators.single.value.sql.queries": "select count(*) from <TABLE_NAME>#-1",
}
OURS = {"hoodie.clustering.plan.strategy.small.file.limit": "999999999", "hoodie.clean.automatic": "false"}


def both_read(hudi: RealHudi, path: Path) -> dict[str, int]:
    """The values by key, which both have to show, in a table in which nothing is wrong."""
    found = [
        sorted(tuple(row.values()) for row in rows.select(SCHEMA.names).to_pylist())
        for rows in (hf.open_table(path).snapshot(columns=SCHEMA.names), hudi.read(path))
    ]
    assert found[0] == found[1]
    assert hf.open_table(path).verify() == []
    return {row[0]: row[3] for row in found[0]}


@pytest.mark.parametrize("version", VERSIONS)
def test_both_read_the_same_after_each_step(hudi: RealHudi, tmp_path: Path, version: int) -> None:
    table = Registered(hudi, tmp_path / "t", version)

    def same(count: int) -> None:
        assert len(both_read(hudi, table.path)) == count

    table.register({"x/a.parquet": (("a", 1, "x", 1), ("b", 1, "x", 2)), "y/b.parquet": (("c", 1, "y", 3),)})
    same(3)
    table.register({"y/c.parquet": (("c", 2, "y", 30), ("d", 1, "y", 4))}, removed="y/b.parquet")
    same(4)
    table.write("upsert", ("a", 2, "x", 10), ("e", 1, "x", 5))
    same(5)
    with pytest.raises(RealHudiError, match="element cannot be mapped to a null key"):
        hudi.read(table.path, {"hoodie.metadata.enable": "false"})
    table.write("delete", ("d", 2, "y", 0))
    same(4)
    table.register({"z/d.parquet": (("f", 1, "z", 6),)}, removed="x/a.parquet")
    same(2)
    hf.open_table(table.path, options={"hoodie.clean.commits.retained": "1"}).clean()
    same(2)
    assert {one.name for one in table.path.rglob("?.parquet")} == {f"{name}.parquet" for name in "abcd"}


@pytest.mark.parametrize("version", VERSIONS if LONG else [6])
def test_both_write_in_turns(hudi: RealHudi, tmp_path: Path, version: int) -> None:
    """A slice that one has written on a registered file is the other's to go on with, under the same name."""
    table = Registered(hudi, tmp_path / "t", version)

    def ours(**more: str) -> hf.Table:
        return hf.open_table(table.path, options={**OURS, **more})

    table.register(FIRST)
    ours().upsert(rows(("a", 2, "x", 10), ("e", 1, "x", 5)))
    assert both_read(hudi, table.path) == {"a": 10, "b": 2, "c": 3, "e": 5}
    table.write("upsert", ("a", 3, "x", 11), ("c", 2, "y", 30))
    assert both_read(hudi, table.path) == {"a": 11, "b": 2, "c": 30, "e": 5}
    table.write("insert", ("f", 1, "y", 6))
    ours().insert(rows(("g", 1, "y", 7)))
    assert both_read(hudi, table.path) == {"a": 11, "b": 2, "c": 30, "e": 5, "f": 6, "g": 7}
    groups = {one.file_id for one in ours().file_slices()}
    assert groups == {"a.parquet", "b.parquet"}
    last = ours().delete(rows(("b", 1, "x", 0), ("g", 1, "y", 0)))
    assert both_read(hudi, table.path) == {"a": 11, "c": 30, "e": 5, "f": 6}
    ours().rollback(last)
    table.register({"z/d.parquet": (("h", 1, "z", 8),)}, removed="y/b.parquet")
    assert both_read(hudi, table.path) == {"a": 11, "b": 2, "e": 5, "h": 8}
    ours().cluster()
    table.write("upsert", ("h", 2, "z", 80))
    ours(**{"hoodie.clean.commits.retained": "1"}).clean()
    table.write("insert_overwrite", ("i", 1, "x", 9))
    assert both_read(hudi, table.path) == {"h": 80, "i": 9}
    assert {one.name for one in table.path.rglob("?.parquet")} == {"a.parquet", "b.parquet", "d.parquet"}


def test_the_last_row_of_a_write_wins(hudi: RealHudi, tmp_path: Path) -> None:
    """HoodieAvroPayload looks at no ordering value, neither among rows of a write nor against those of the table."""
    table = Registered(hudi, tmp_path / "t", 6)
    table.register({"x/a.parquet": (("a", 5, "x", 1),)})
    data = (("a", 3, "x", 2), ("b", 9, "x", 3), ("b", 1, "x", 4))
    table.write("upsert", *data, **{"hoodie.datasource.write.precombine.field": ""})
    assert both_read(hudi, table.path) == {"a": 2, "b": 4}
    hf.open_table(table.path).upsert(rows(("a", 1, "x", 5), ("b", 1, "x", 6), ("b", 0, "x", 7)))
    assert both_read(hudi, table.path) == {"a": 5, "b": 7}


def test_what_hudi_cannot_do_is_refused(hudi: RealHudi, tmp_path: Path) -> None:
    """It cannot parse log files of registered files, and fails on files without partition columns."""
    logged = Registered(hudi, tmp_path / "logged", 9, "MERGE_ON_READ")
    logged.register(FIRST)
    with pytest.raises(RealHudiError, match="of type LogFile"):
        logged.write("delete", ("a", 1, "x", 1))
    bare = Registered(hudi, tmp_path / "bare", 9)
    bare.register(FIRST, columns=["k", "ts", "v"])
    with pytest.raises(RealHudiError, match="Field `p` not found in schema"):
        bare.write("upsert", ("a", 2, "x", 10))
    for table in (logged, bare):
        with pytest.raises(hf.UnsupportedFeatureError):
            hf.open_table(table.path).upsert(rows(("a", 2, "x", 10)))
    counted = Registered(hudi, tmp_path / "counted", 9)
    counted.register(FIRST)
    with pytest.raises(RealHudiError, match="element cannot be mapped to a null key"):
        counted.write("upsert", ("a", 2, "x", 10), **{"hoodie.metadata.index.column.stats.enable": "true"})


def test_a_dead_write_of_hudis_that_it_cannot_roll_back_is_rolled_back_here(hudi: RealHudi, tmp_path: Path) -> None:
    """In version 6 it takes no instant out of the name of a file in a registered group."""
    table = Registered(hudi, tmp_path / "t", 6)
    table.register(FIRST)
    with pytest.raises(RealHudiError, match="pre-commit validation failed"):
        table.write("upsert", ("a", 2, "x", 10), **NEVER_VALID)
    with pytest.raises(RealHudiError, match="Cannot find valid base instant from path"):
        table.write("upsert", ("a", 3, "x", 11))
    hf.open_table(table.path).upsert(rows(("a", 3, "x", 11)))
    assert both_read(hudi, table.path) == {"a": 11, "b": 2, "c": 3}
    table.write("upsert", ("a", 4, "x", 12))
    assert both_read(hudi, table.path) == {"a": 12, "b": 2, "c": 3}


def test_hudis_clean_deletes_them_and_goes_on_listing_them(hudi: RealHudi, tmp_path: Path) -> None:
    """hudiformat's leaves the files to others, and takes them off the list."""
    table = Registered(hudi, tmp_path / "t", 9)
    table.register(FIRST)
    for number in range(3):
        table.write("upsert", ("a", 2, "x", number))
    cleaning = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"}
    table.write("upsert", ("a", 2, "x", 9), **cleaning)
    assert not (table.path / "x" / "a.parquet").exists()
    [finding] = hf.open_table(table.path).verify()
    assert "it lists x/a.parquet_" in finding.message
