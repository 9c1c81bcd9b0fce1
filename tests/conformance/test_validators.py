"""Pre-commit validators: Hudi and hudiformat refuse the same writes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hudiformat import ValidationError, open_table
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.effort import LONG
from tests.tables import new_table, rows
from tests.write.commit.test_validators import options_of

KEYS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.metadata.enable": "false",
}
COUNT = "select count(*) from <TABLE_NAME>"
NEW_ROW = rows(("c", 1, "x", 3))
CASES = {
    "an expected value": ({"SINGLE_RESULT": f"{COUNT}#3"}, NEW_ROW),
    "another value": ({"SINGLE_RESULT": f"{COUNT}#2"}, NEW_ROW),
    "a value of another partition": ({"SINGLE_RESULT": f"{COUNT}#1"}, rows(("c", 1, "y", 3))),
    "the text of a double": ({"SINGLE_RESULT": "select avg(v) from <TABLE_NAME>#2.0"}, NEW_ROW),
    "a space before the value": ({"SINGLE_RESULT": f"{COUNT}# 3"}, NEW_ROW),
    "rows are still there": ({"EQUALITY": "select k from <TABLE_NAME>"}, NEW_ROW),
    "a row has changed": ({"EQUALITY": "select k, v from <TABLE_NAME>"}, rows(("b", 2, "x", 4))),
    "equal rows count once": ({"EQUALITY": "select ts from <TABLE_NAME>"}, NEW_ROW),
    "nothing has changed": ({"INEQUALITY": "select count(*) from <TABLE_NAME>"}, rows(("b", 2, "x", 4))),
    "a sum has changed": ({"INEQUALITY": "select sum(v) from <TABLE_NAME>; "}, rows(("b", 2, "x", 4))),
}
REFUSED = {
    "another value",
    "a space before the value",
    "a row has changed",
    "equal rows count once",
    "nothing has changed",
}
FEW = ("the text of a double", "equal rows count once")
"""What a run that is not long takes: a write of Hudi's takes three seconds."""


@pytest.mark.unmeasured
def test_hudi_and_hudiformat_refuse_the_same_writes(hudi: RealHudi, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)))
    theirs, ours = set(), set()
    chosen = CASES if LONG else {name: CASES[name] for name in FEW}
    for number, (name, (queries, data)) in enumerate(chosen.items()):
        options = options_of(**queries)
        for engine in ("hudi", "hudiformat"):
            shutil.copytree(tmp_path / "t", tmp_path / f"{number}-{engine}")
        try:
            hudi.write(data, tmp_path / f"{number}-hudi", {**KEYS, **options})
        except RealHudiError as error:
            assert "pre-commit validation failed" in error.trace
            theirs.add(name)
        try:
            open_table(tmp_path / f"{number}-hudiformat", options=options).upsert(data)
        except ValidationError:
            ours.add(name)
    assert theirs == ours == REFUSED & chosen.keys()
