"""Change data in each mode of its log: what either logs, both read as the same changes."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.table.options.values import CdcMode
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.effort import sample

MOR, COW = "MERGE_ON_READ", "COPY_ON_WRITE"
SCHEMA = pa.schema(
    [("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int32()), ("tags", pa.list_(pa.string()))]
)
WRITE = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.table.cdc.enabled": "true",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.metadata.enable": "false",
    "hoodie.index.type": "SIMPLE",
}
CHANGES = {
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.query.incremental.format": "cdc",
    "hoodie.datasource.read.begin.instanttime": "0",
}
SETS = list(product([one.value for one in CdcMode], (COW, MOR), (6, 8, 9)))


def some(chance: random.Random, keys: range, *, ts: int) -> pa.Table:
    """Rows of half of the keys, each in the partition of its number."""
    chosen = sorted(chance.sample(keys, len(keys) // 2))
    columns = {
        "k": [f"k{one:02}" for one in chosen],
        "ts": [ts] * len(chosen),
        "p": [f"p{one % 3}" for one in chosen],
        "v": [None if chance.random() < 0.2 else chance.randrange(100) for _ in chosen],
        "tags": [[f"t{one}"] for one in chosen],
    }
    return pa.table(columns, SCHEMA)


def changes_in(rows: pa.Table) -> list[tuple[Any, ...]]:
    """The number of the write, the operation and both images of each change, without meta fields."""
    writes = sorted(set(rows["ts_ms"].to_pylist()))
    found = []
    for row in rows.to_pylist():
        images = [json.loads(row[side] or "null") or {} for side in ("before", "after")]
        plain = [str(sorted((name, one[name]) for name in SCHEMA.names if one.get(name) is not None)) for one in images]
        found.append((writes.index(row["ts_ms"]), row["op"], *plain))
    return sorted(found)


@pytest.mark.hudi
@pytest.mark.parametrize("shape", sample(SETS, of=len(SETS)), ids=lambda shape: "-".join(map(str, shape)))
def test_both_log_and_read_the_same_changes(hudi: RealHudi, tmp_path: Path, shape: tuple[str, str, int]) -> None:
    """The two take turns on a table that Hudi made.

    Of merge-on-read tables of version 6, Hudi 1.2.0 reads no changes once there are log files, of its own neither.
    """
    mode, table_type, version = shape
    options = {
        **WRITE,
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.write.table.version": str(version),
        "hoodie.table.cdc.supplemental.logging.mode": mode,
    }
    path, chance = tmp_path / "t", random.Random(str(shape))
    hudi_reads = (table_type, version) != (MOR, 6)
    expected: list[list[str]] = []
    keys: set[str] = set()
    for turn in range(8):
        given, is_delete = some(chance, range(12), ts=turn), turn in (4, 5)
        if turn in (3, 5, 7):
            table = hf.open_table(path, options={"hoodie.index.type": "SIMPLE"})
            table.delete(given) if is_delete else table.upsert(given)
        else:
            operation = {"hoodie.datasource.write.operation": "delete" if is_delete else "upsert"}
            hudi.write(given, path, {**options, **operation})
        if turn == 2 and not hudi_reads:
            with pytest.raises(RealHudiError, match="Not an Avro data file"):
                hudi.read(path, CHANGES)
        names = set(given["k"].to_pylist())
        if is_delete:
            expected.append(["d"] * len(names & keys))
            keys -= names
        else:
            expected.append(["i"] * len(names - keys) + ["u"] * len(names & keys))
            keys |= names
    found = changes_in(hf.open_table(path).cdc("0"))
    assert not hudi_reads or found == changes_in(hudi.read(path, CHANGES))
    written = [one for one in expected if one]
    assert [(turn, operation) for turn, operation, *_ in found] == [
        (turn, operation) for turn, operations in enumerate(written) for operation in operations
    ]
