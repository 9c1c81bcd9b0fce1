"""Real Apache Hudi behind a pipe: runs in the environment of PySpark 3.5 and the Hudi bundle.

Reads a request per line from standard input and writes an answer per line to standard output, both JSON.  It knows
nothing of hudiformat; tables travel as Parquet files, whose paths are in the requests.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from java_names import keep_java_names  # type: ignore[import-not-found]  # it is beside this script
from pyspark.sql import DataFrame, SparkSession

Request = dict[str, Any]
Answer = dict[str, Any]

TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


class Server:
    """Answers requests with one Spark session; ``names`` is what the code of ``eval`` sees and leaves behind."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._names: dict[str, Any] = {"spark": spark, "jvm": spark.sparkContext._jvm}

    def answer(self, request: Request) -> Answer:
        operations: dict[str, Callable[[Request], Answer]] = {
            "write": self._write,
            "read": self._read,
            "sql": self._sql,
            "eval": self._eval,
        }
        try:
            return operations[request["op"]](request)
        except Exception as error:  # noqa: BLE001 - whatever went wrong in Hudi is the answer
            return {"error": _message(error), "trace": traceback.format_exc()}

    def _write(self, request: Request) -> Answer:
        frame = self._spark.read.parquet(request["parquet"])
        writer = frame.coalesce(request["tasks"]).write.format("hudi").mode(request["mode"])
        writer.options(**request["options"]).save(request["path"])
        return {}

    def _read(self, request: Request) -> Answer:
        return _save(self._spark.read.format("hudi").options(**request["options"]).load(request["path"]), request)

    def _sql(self, request: Request) -> Answer:
        return _save(self._spark.sql(request["text"]), request)

    def _eval(self, request: Request) -> Answer:
        exec(request["code"], self._names)  # noqa: S102 - the tests' own code
        return {"value": self._names.pop("result", None)}


def _message(error: Exception) -> str:
    """What a Java trace says in short: its head and its root cause."""
    lines = str(error).splitlines() or [""]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return "\n".join([f"{type(error).__name__}: {lines[0]}", *lines[1:2], *causes[-1:]])


def _save(frame: DataFrame, request: Request) -> Answer:
    """Write *frame* into the one file ``out``, if it has columns at all."""
    if not frame.columns:
        return {}
    out = Path(request["out"])
    parts = out.with_suffix(".parts")
    settings = frame.sparkSession.conf
    settings.set(TIMESTAMPS, "TIMESTAMP_MICROS")  # not Spark's default INT96, which has no time zone
    try:
        frame.coalesce(1).write.option("compression", "none").parquet(str(parts))
    finally:
        settings.unset(TIMESTAMPS)
    next(parts.glob("part-*.parquet")).rename(out)
    shutil.rmtree(parts)
    return {}


def _without_chmod(spark: SparkSession) -> None:
    """Have one file system for local files that starts no program for each of them."""
    jvm: Any = spark.sparkContext._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(Path(__file__).with_name("local_files.java").read_text("utf-8"))
    conf = jvm.org.apache.hadoop.conf.Configuration()
    conf.setClassLoader(compiler.getClassLoader())
    conf.set("fs.file.impl", "LocalFiles")
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()  # what Spark has opened; everybody gets the next one
    jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), conf)


def main() -> None:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever Python or the JVM prints must not get between the answers
    keep_java_names()
    scratch = Path.cwd()
    builder = SparkSession.builder.appName("hudi").config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
    builder = builder.config("spark.local.dir", str(scratch / "spark"))
    spark = builder.getOrCreate()
    _without_chmod(spark)
    server = Server(spark)
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        print(json.dumps(server.answer(json.loads(line)), default=str), file=answers)


if __name__ == "__main__":
    main()
