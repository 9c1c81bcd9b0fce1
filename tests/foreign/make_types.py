"""Make the tables with types that only Hudi 1.2.0 has: ``python -m tests.foreign.make_types``.

On Spark 3.5, Hudi has vectors and blobs.  Its variants need Spark 4, of which no bundle is on Maven Central.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, UNPARTITIONED, pack

CHOSEN = {
    **OPTIONS,
    **UNPARTITIONED,
    "hoodie.table.ordering.fields": "o",
    "hoodie.datasource.write.precombine.field": "o",
}
VECTOR_CODE = """
from pyspark.sql.types import ArrayType, FloatType, IntegerType, StringType, StructField, StructType
fields = [StructField("k", StringType(), False), StructField("o", IntegerType())]
fields.append(StructField("v", ArrayType(FloatType(), False), True, {{"hudi_type": "VECTOR(3)"}}))
frame = spark.createDataFrame([("a", 1, [1.0, 2.0, 3.0]), ("b", 1, None)], StructType(fields))
frame.coalesce(1).write.format("hudi").options(**{options!r}).mode("append").save({path!r})
result = None
"""
CODE = """
from pyspark.sql.types import *
blob = StructType([
    StructField("type", StringType(), False),
    StructField("data", BinaryType()),
    StructField("reference", StructType([
        StructField("external_path", StringType(), False),
        StructField("offset", LongType()),
        StructField("length", LongType()),
        StructField("managed", BooleanType(), False),
    ])),
])
def vector(name, element, descriptor, nullable=True):
    return StructField(name, ArrayType(element, False), nullable, {{"hudi_type": descriptor}})
fields = [
    StructField("k", StringType(), False),
    StructField("o", IntegerType()),
    vector("v", FloatType(), "VECTOR(3)"),
    vector("w", FloatType(), "VECTOR(3)"),
    vector("d", DoubleType(), "VECTOR(2, DOUBLE)"),
    vector("i", ByteType(), "VECTOR(4, INT8)", False),
    StructField("b", blob, True, {{"hudi_type": "BLOB"}}),
    StructField("bs", ArrayType(blob), True, {{"hudi_type": "BLOB"}}),
]
def row(key, o):
    inline = ("INLINE", bytearray(key.encode() * o), None)
    apart = ("OUT_OF_LINE", None, ("images/1.bin", o, None, False))
    vectors = ([1.0, 2.0, float(o)], None if key == "b" else [0.5, 0.25, -0.0], [1.5, float(o)], [1, -2, 3, o])
    return (key, o, *vectors, {{"a": inline, "b": None}}.get(key, apart), [inline, apart] if o == 2 else None)
frame = spark.createDataFrame([row(key, {o}) for key in {keys!r}], StructType(fields))
frame.coalesce(1).write.format("hudi").options(**{options!r}).mode("append").save({path!r})
result = None
"""
MOR = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
CASES = {
    "types-custom-cow9-h120": {},
    "types-custom-mor9-h120": MOR,
    "types-custom-parquet-mor9-h120": {**MOR, "hoodie.logfile.data.block.format": "parquet"},
    "types-custom-mor8-h120": {**MOR, "hoodie.write.table.version": "8"},
    "types-custom-mor6-h120": {**MOR, "hoodie.write.table.version": "6"},
}


def main() -> None:
    with RealHudi() as hudi, tempfile.TemporaryDirectory() as folder:
        for name, kind in (("types-vector-cow9-h120", "COPY_ON_WRITE"), ("types-vector-mor9-h120", "MERGE_ON_READ")):
            path = Path(folder, name)
            options = {**CHOSEN, "hoodie.datasource.write.table.type": kind}
            for _ in range(2):
                hudi.eval_(VECTOR_CODE.format(options=options, path=str(path)))
            pack(hudi, path, name, {"snapshot": {}})
        for name, chosen in CASES.items():
            path = Path(folder, name)
            for o, keys in ((1, "abcd"), (2, "ae")):
                hudi.eval_(CODE.format(options={**CHOSEN, **chosen}, path=str(path), o=o, keys=keys))
            pack(hudi, path, name, {"snapshot": {}})


if __name__ == "__main__":
    main()
