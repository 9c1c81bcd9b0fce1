"""Tables with registered files, as XTable makes them, read after each step as real Hudi reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.foreign.make_registered import SCHEMA, VERSIONS, Registered

pytestmark = pytest.mark.hudi


@pytest.mark.parametrize("version", VERSIONS)
def test_both_read_the_same_after_each_step(hudi: RealHudi, tmp_path: Path, version: int) -> None:
    table = Registered(hudi, tmp_path / "t", version)

    def same(count: int) -> None:
        found = [
            sorted(tuple(row.values()) for row in rows.select(SCHEMA.names).to_pylist())
            for rows in (hf.open_table(table.path).snapshot(columns=SCHEMA.names), hudi.read(table.path))
        ]
        assert found[0] == found[1]
        assert len(found[0]) == count
        assert hf.open_table(table.path).verify() == []

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
