"""Hudi finds the record keys of ours that the COMPLEX key generator makes of one field, in either form."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudiformat import open_table
from tests.conformance.hudi import RealHudi
from tests.table.test_key_form import OPTION, keys, new_table, rows

pytestmark = pytest.mark.hudi


@pytest.mark.parametrize(("plain", "prefix"), [("true", ""), ("false", "k:")])
@pytest.mark.parametrize("version", [6, 8])
def test_hudi_updates_our_rows_and_we_update_hudi_s(
    hudi: RealHudi, plain: str, prefix: str, version: int, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    new_table(path, plain, version=version).insert(rows("a", "b"))
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": "k",
        "hoodie.datasource.write.partitionpath.field": "p,q",
        "hoodie.datasource.write.precombine.field": "o",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.write.complex.keygen.validation.enable": "false",
        OPTION: plain,
    }
    hudi.write(rows("b", "c", order=2), path, options)
    table = open_table(path, options={OPTION: plain})
    table.upsert(rows("c", "d", order=3))
    assert keys(table) == [f"{prefix}{key}" for key in "abcd"]
    assert sorted(hudi.read(path)["_hoodie_record_key"].to_pylist()) == keys(table)
    assert table.snapshot().sort_by("k")["o"].to_pylist() == [1, 2, 3, 3]
    assert table.verify() == []
