"""Queries of tables to which an older Hudi gave other answers than Hudi 1.2.0 does, whose answer counts."""

from __future__ import annotations

import pytest

from hudiformat import open_table
from tests.conformance.hudi import RealHudi
from tests.conformance.test_slices import with_times
from tests.tables import OF_AN_OLDER_HUDI, multiset, unpack

INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}
BEGIN = "hoodie.datasource.read.begin.instanttime"


@pytest.mark.hudi
@pytest.mark.parametrize("name", OF_AN_OLDER_HUDI)
def test_time_travel_and_incremental_queries(
    name: str, hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory
) -> None:
    case = with_times(unpack(name, tmp_path_factory.mktemp("queries")))
    table = open_table(case.table)
    for answer in case.manifest["as_of"]:
        instant = answer["instant"]
        theirs = hudi.read(case.table, {"as.of.instant": instant})
        assert multiset(table.snapshot(as_of=instant)) == multiset(theirs), instant
    begin = case.manifest["incremental"]["begin"]
    assert multiset(table.incremental(begin)) == multiset(hudi.read(case.table, {**INCREMENTAL, BEGIN: begin}))
