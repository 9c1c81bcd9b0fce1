"""Make the tables with base files in Lance: ``python -m tests.foreign.make_lance``.

Hudi's bundle has no Lance: its jars, 200 MB with those of a newer Arrow, are fetched for this, and go first.  Lance
ends the JVM at a map, and Hudi writes it only by Spark's own records.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, pack
from tests.foreign.make_orc import SCHEMA, rows

PACKAGES = "org.lance:lance-core:4.0.0,org.lance:lance-spark-3.5_2.12:0.4.0"
COLUMNS = [name for name in SCHEMA.names if name != "m"]
CASES = {"lance-cow9-h120": "COPY_ON_WRITE", "lance-mor9-h120": "MERGE_ON_READ"}
OPENED = ("java.nio", "java.lang", "java.util", "java.lang.invoke", "java.net")
_FETCH = """
from pyspark.sql import SparkSession
SparkSession.builder.config('spark.jars.ivy', {ivy!r}).config('spark.jars.packages', {packages!r}).getOrCreate()
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        hudi = RealHudi()
        script = _FETCH.format(ivy=folder, packages=PACKAGES)
        subprocess.run([hudi.environment.python, "-c", script], check=True, cwd=folder, capture_output=True)
        jars = sorted(Path(folder, "jars").glob("*.jar"), key=lambda jar: "arrow" not in jar.name)
        settings = Path(hudi._conf, "spark-defaults.conf")
        opens = " ".join(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in (*OPENED, "sun.nio.ch"))
        lines = settings.read_text().splitlines()
        path = ":".join(map(str, jars))
        lines = [line.replace("spark.driver.extraClassPath ", f"spark.driver.extraClassPath {path}:") for line in lines]
        settings.write_text("\n".join([*lines, f"spark.driver.extraJavaOptions {opens}"]) + "\n")
        with hudi:
            for name, kind in CASES.items():
                _write(hudi, Path(folder, name), kind)
                pack(hudi, Path(folder, name), name, {"snapshot": {}})


def _write(hudi: RealHudi, path: Path, kind: str) -> None:
    options = {
        **OPTIONS,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "o",
        "hoodie.table.base.file.format": "LANCE",
        "hoodie.base.file.format": "LANCE",
        "hoodie.write.record.merge.custom.implementation.classes": "org.apache.hudi.DefaultSparkRecordMerger",
        "hoodie.logfile.data.block.format": "parquet",
    }
    if kind == "MERGE_ON_READ":
        options |= {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    for numbers, moment in ((range(6), 1), (range(4, 8), 2)):
        hudi.write(rows(numbers, moment=moment).select(COLUMNS), path, options)


if __name__ == "__main__":
    main()
