"""Tables whose keys and partition paths are made of fields of structs pass between hudiformat and real Hudi."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import open_table
from tests.conformance.hudi import RealHudi
from tests.conformance.layouts import upsert_options
from tests.write.test_nested_keys import create, rows, values

pytestmark = pytest.mark.hudi


def given(keys: str, order: int) -> pa.Table:
    return rows(*((key, order, order) for key in keys))


@pytest.mark.parametrize(
    ("maker", "version", "table_type", "key", "fields", "hive"),
    [
        ("hudi", 9, "MERGE_ON_READ", "st.k", "st.p,st.deep.n", "true"),
        ("ours", 9, "COPY_ON_WRITE", "st.k,st.deep.n", "st.p", "false"),
        ("hudi", 6, "COPY_ON_WRITE", "st.k", "st.p", "true"),
        ("ours", 6, "MERGE_ON_READ", "st.k", "st.deep.n", "false"),
    ],
)
def test_both_write_in_turns(
    hudi: RealHudi, tmp_path: Path, *, maker: str, version: int, table_type: str, key: str, fields: str, hive: str
) -> None:
    path = tmp_path / "t"
    hive_style = {"hoodie.datasource.write.hive_style_partitioning": hive}
    options = {
        **hive_style,
        **upsert_options(version=version, table_type=table_type, record_key=key, partition_by=fields),
    }
    if maker == "hudi":
        hudi.write(given("abcd", 1), path, options)
    else:
        table = create(
            path,
            options=hive_style,
            version=version,
            table_type=table_type,
            record_key=key.split(","),
            partition_by=fields.split(","),
        )
        table.insert(given("abcd", 1))
    expected = dict.fromkeys("abcd", 1)
    for order, own, theirs in ((2, "ae", "bf"), (4, "bg", "ah")):
        open_table(path).upsert(given(own, order))
        hudi.write(given(theirs, order + 1), path, options)
        expected |= dict.fromkeys(own, order) | dict.fromkeys(theirs, order + 1)
    table = open_table(path)
    table.delete(given("d", 1))
    del expected["d"]
    assert values(table) == values(hudi.read(path)) == sorted(expected.items())
    assert table.verify() == []
