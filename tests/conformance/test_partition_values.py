"""Hudi reads partition values with every character that we accept."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat import create_table
from tests.conformance.hudi import RealHudi
from tests.effort import sample
from tests.naming.test_keys import PARTITION_VALUES, path_of

SCHEMA = pa.schema([("k", pa.string()), ("p", pa.string()), ("q", pa.string())])
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"


def accepted(*, hive: bool, encode: bool) -> list[str]:
    """The values that give a path, none of which is inside another's."""
    found: dict[str, str] = {}
    for value in dict.fromkeys(PARTITION_VALUES):
        path = path_of(value, hive=hive, encode=encode)
        if isinstance(path, str) and not any(
            path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in found
        ):
            found[path] = value
    return list(found.values())


@pytest.mark.parametrize("encode", [False, True])
@pytest.mark.parametrize(("hive", "table_type"), [(False, MOR), (True, COW)])
def test_hudi_reads_every_partition_value(
    hudi: RealHudi, tmp_path: Path, table_type: str, hive: bool, encode: bool
) -> None:
    values = sample(accepted(hive=hive, encode=encode), of=4)
    rows = pa.table({"k": [f"k{number}" for number in range(len(values))], "p": values, "q": values}, SCHEMA)
    table = create_table(
        tmp_path / "t",
        name="t",
        schema=SCHEMA,
        record_key="k",
        partition_by="p",
        table_type=table_type,
        options={
            "hoodie.datasource.write.hive_style_partitioning": str(hive).lower(),
            "hoodie.datasource.write.partitionpath.urlencode": str(encode).lower(),
        },
    )
    table.insert(rows)
    if table_type == MOR:
        table.upsert(rows)
    for found in (hudi.read(table.path), table.snapshot()):
        assert found.num_rows == len(values)
        assert found["p"].to_pylist() == found["q"].to_pylist()
