"""Java's own block classes read what we encode, and we read what they do."""

from __future__ import annotations

import base64
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.avro import arrow_to_avro
from hudiformat.wire import int32
from tests.conformance.hudi import RealHudi

META = ["_hoodie_record_key"]
BATCH = pa.record_batch(
    {
        "_hoodie_record_key": ["k1", "k2", "k3"],
        "n": pa.array([1, None, 2**40]),
        "text": ["a", "ü", None],
        "price": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(9, 2)),
    }
)
SCHEMA = arrow_to_avro(BATCH.schema, name="t_record", namespace="hoodie.t")

READ = """
storage = jvm.org.apache.hudi.storage.hadoop.HoodieHadoopStorage(path, spark._jsc.hadoopConfiguration())
file = jvm.org.apache.hudi.common.model.HoodieLogFile(jvm.org.apache.hudi.storage.StoragePath(path))
schema = jvm.org.apache.hudi.common.schema.HoodieSchema.parse(schema_text)
reader = jvm.org.apache.hudi.common.table.log.HoodieLogFileReader(storage, file, schema, 65536)
types = jvm.org.apache.hudi.common.model.HoodieRecord.HoodieRecordType
result = []
while reader.hasNext():
    block = reader.next()
    name = block.getBlockType().name()
    entry = {"type": name, "instant": block.getLogBlockHeader().get(
        jvm.org.apache.hudi.common.table.log.block.HoodieLogBlock.HeaderMetadataType.INSTANT_TIME)}
    if "DATA" in name:
        records = block.getRecordIterator(types.AVRO)
        rows = []
        while records.hasNext():
            rows.append(records.next().getData().toString())
        entry["rows"] = rows
        entry["positions"] = block.getRecordPositions().toString()
    else:
        entry["rows"] = [f"{d.getRecordKey()} {d.getPartitionPath()} {d.getOrderingValue()}"
                         for d in block.getRecordsToDelete()]
    result.append(entry)
reader.close()
"""


def test_java_reads_our_blocks(hudi: RealHudi, tmp_path: Path) -> None:
    with hf.LogWriter(tmp_path, ".f-0_001.log.1_0-0-0") as writer:
        for name in ("avro", "parquet"):
            writer.append(
                hf.data_block(
                    BATCH, instant="002", schema=SCHEMA, format=name, positions=[3, 70_000, 2**33], base_instant="001"
                )
            )
        deletes = hf.delete_block(["k1", "k2"], instant="003", partition_path="p", ordering=pa.array([7, 2**40]))
        path = writer.append(deletes).path
    names = f"path = {path!r}; schema_text = {SCHEMA!r}\n"
    avro, parquet, delete = hudi.eval_(names + READ)
    assert (avro["type"], parquet["type"], delete["type"]) == ("AVRO_DATA_BLOCK", "PARQUET_DATA_BLOCK", "DELETE_BLOCK")
    assert avro["rows"] == parquet["rows"]
    assert [json.loads(row)["n"] for row in avro["rows"]] == [1, None, 2**40]
    assert [json.loads(row)["text"] for row in avro["rows"]] == ["a", "ü", None]
    assert avro["positions"] == parquet["positions"] == "{3,70000,8589934592}"
    assert delete["rows"] == ["k1 p 7", f"k2 p {2**40}"]


ORDERING_VALUES: dict[str, tuple[str, Any]] = {
    "an int": ("7", 7),
    "a long": ("jvm.java.lang.Long(2**40)", 2**40),
    "a float": ("jvm.java.lang.Float(1.5)", 1.5),
    "a double": ("1.5", 1.5),
    "a string": ("'seven ü'", "seven ü"),
    "a boolean": ("True", True),
    "a decimal": ("jvm.java.math.BigDecimal('-12.345')", Decimal("-12.345")),
    "a date": ("jvm.java.sql.Date.valueOf('2024-02-29')", date(2024, 2, 29)),
    "a local date": ("jvm.java.time.LocalDate.of(2024, 2, 29)", date(2024, 2, 29)),
}

WRITE = """
deletes = spark.sparkContext._gateway.new_array(jvm.org.apache.hudi.common.model.DeleteRecord, 2)
for i in range(2):
    deletes[i] = jvm.org.apache.hudi.common.model.DeleteRecord.create("k%d" % i, "p", value)
import base64
result = base64.b64encode(bytes(jvm.org.apache.hudi.common.util.SerializationUtils.serialize(deletes))).decode()
"""


@pytest.mark.parametrize("what", ORDERING_VALUES)
def test_we_read_the_deletes_that_java_writes_in_kryo(hudi: RealHudi, what: str) -> None:
    code, expected = ORDERING_VALUES[what]
    payload = base64.b64decode(hudi.eval_(f"value = {code}\n{WRITE}"))
    content = int32(2) + int32(len(payload)) + payload
    deletes = hf.LogBlock(hf.BlockType.DELETE, hf.BlockHeader(), content).deletes()
    assert deletes["ordering"].to_pylist() == [expected] * 2
    assert deletes["record_key"].to_pylist() == ["k0", "k1"]
    assert deletes["partition_path"].to_pylist() == ["p", "p"]
