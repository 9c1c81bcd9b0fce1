"""Tables without partition columns in files pass between hudiformat and real Hudi."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import open_table
from tests.conformance.hudi import RealHudi
from tests.conformance.layouts import upsert_options
from tests.write.test_dropped_columns import DROP, assert_dropped, create, rows, values

pytestmark = pytest.mark.hudi


def given(keys: str, order: int) -> pa.Table:
    return rows(*((key, order, "xy"[ord(key) % 2], ord(key) % 2, order) for key in keys))


@pytest.mark.parametrize(
    ("maker", "version", "fields", "hive"),
    [("hudi", 9, "p,q", "true"), ("ours", 9, "p", "false"), ("hudi", 6, "q", "false"), ("ours", 6, "p", "true")],
)
def test_both_write_in_turns(
    hudi: RealHudi, tmp_path: Path, *, maker: str, version: int, fields: str, hive: str
) -> None:
    path, names = tmp_path / "t", fields.split(",")
    hive_style = {"hoodie.datasource.write.hive_style_partitioning": hive}
    options = {
        **DROP,
        **hive_style,
        **upsert_options(version=version, partition_by=fields),
    }
    if maker == "hudi":
        hudi.write(given("abcd", 1), path, options)
    else:
        create(path, options=hive_style, version=version, partition_by=names).insert(given("abcd", 1))
    expected = dict.fromkeys("abcd", 1)
    for order, own, theirs in ((2, "ae", "bf"), (4, "bg", "ah")):
        open_table(path).upsert(given(own, order))
        hudi.write(given(theirs, order + 1), path, options)
        expected |= dict.fromkeys(own, order) | dict.fromkeys(theirs, order + 1)
    table = open_table(path)
    table.delete(where="k = 'd'")
    del expected["d"]
    table.cluster()
    shown = table.snapshot().sort_by("k")
    found = hudi.read(path).sort_by("k")
    assert values(table) == [
        (
            key,
            *(str(one) if name in names else one for name, one in (("p", "xy"[ord(key) % 2]), ("q", ord(key) % 2))),
            v,
        )
        for key, v in sorted(expected.items())
    ]
    assert found.select(shown.schema.names[5:]).to_pylist() == shown.select(shown.schema.names[5:]).to_pylist()
    assert table.verify() == []
    assert_dropped(path, *names)
