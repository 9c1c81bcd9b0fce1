"""Make the tables with types that only Hudi 1.2.0 has: ``python -m tests.foreign.make_types``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, UNPARTITIONED, pack

CHOSEN = {**OPTIONS, **UNPARTITIONED, "hoodie.table.ordering.fields": "o"}
CODE = """
from pyspark.sql.types import ArrayType, FloatType, IntegerType, StringType, StructField, StructType
fields = [StructField("k", StringType(), False), StructField("o", IntegerType())]
fields.append(StructField("v", ArrayType(FloatType(), False), True, {{"hudi_type": "VECTOR(3)"}}))
frame = spark.createDataFrame([("a", 1, [1.0, 2.0, 3.0]), ("b", 1, None)], StructType(fields))
frame.coalesce(1).write.format("hudi").options(**{options!r}).mode("append").save({path!r})
result = None
"""


def main() -> None:
    with RealHudi() as hudi, tempfile.TemporaryDirectory() as folder:
        for name, kind in (("types-vector-cow9-h120", "COPY_ON_WRITE"), ("types-vector-mor9-h120", "MERGE_ON_READ")):
            path = Path(folder, name)
            options = {**CHOSEN, "hoodie.datasource.write.table.type": kind}
            for _ in range(2):
                hudi.eval_(CODE.format(options=options, path=str(path)))
            pack(hudi, path, name, {"snapshot": {}})


if __name__ == "__main__":
    main()
