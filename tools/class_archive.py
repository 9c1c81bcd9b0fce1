"""An archive of the classes that PySpark's JVM loads: with it a JVM of the tests starts in half the time.

    .venv/bin/python tools/class_archive.py     # makes it, or finds it made, and prints its path

It is made once into ``$HUDIFORMAT_CACHE`` (by default ``~/.cache/hudiformat``), from what a JVM has loaded that runs a
few queries and a stream; 180 MB.  Java checks that the jars are those that the archive was made from, and loads the
classes from the jars otherwise.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata, util
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.environments import cache_folder, locked
from tools.java import java_home

QUIET = "-Xlog:disable"
"""Classes that cannot be archived are many; and where the archive does not fit, tests take longer, but do not fail."""
SCRIPT = """
import sys

from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.bindAddress", "127.0.0.1")
spark = builder.getOrCreate()
rows = spark.range(0, 100, 1, 2).selectExpr("concat('k', id) as k", "id", "id % 3 as p", "cast(id as double) as v")
rows.write.partitionBy("p").parquet("rows")
read = spark.read.parquet("rows").where("p = 1 and k in ('k1', 'k4')")
assert read.select("k").join(rows, "k").groupBy("k").agg({"v": "max"}).orderBy("k").count() == 2
assert rows.mapInArrow(lambda batches: batches, rows.schema).toArrow().num_rows == 100
given = spark.createDataFrame([("a", 1)], "k string, id long").cache()
assert given.union(rows.select("k", "id")).repartition(2, "k").distinct().count() == 101
stream = spark.readStream.schema(rows.schema).parquet("rows").writeStream.foreachBatch(lambda batch, _: batch.count())
stream.option("checkpointLocation", "checkpoint").trigger(availableNow=True).start().awaitTermination()
process = spark.sparkContext._gateway.proc
spark.stop()
process.stdin.close()
sys.exit(process.wait())
"""


class ClassArchiveError(Exception):
    """The archive cannot be made; the message says why."""


def class_archive(home: Path, options: str) -> Path:
    """Return the archive for the Java in *home* that is started with *options*; it is made if it is not there yet.

    Raises:
        ClassArchiveError: PySpark is not installed, or does not run.
    """
    spec = util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ClassArchiveError("PySpark is not installed")
    jars = Path(spec.origin).parent / "jars"
    made_from = [metadata.version("pyspark"), jars.stat().st_mtime, str(home), options, SCRIPT]
    folder = cache_folder() / f"classes-{_digest(str(jars))}"
    archive = folder / f"{_digest(json.dumps(made_from))}.jsa"
    if not archive.exists():
        with locked(folder.with_suffix(".lock")):
            if not archive.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of jars that are no longer there
                _make(archive, home, options)
    return archive


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _make(archive: Path, home: Path, options: str) -> None:
    print(f"Making an archive of Spark's classes in {archive.parent}", file=sys.stderr, flush=True)
    archive.parent.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, "classes.jsa")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK", "PYSPARK", "COV"))}
        environ = {
            **kept,
            "JAVA_HOME": str(home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SUBMIT_OPTS": f"{options} {QUIET} -XX:ArchiveClassesAtExit={made}",
        }
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environ, cwd=scratch, capture_output=True, text=True, check=False
        )
        if run.returncode or not made.exists():
            tail = "\n".join((run.stdout + run.stderr).strip().splitlines()[-15:])
            raise ClassArchiveError(f"the archive of Spark's classes cannot be made ({run.returncode}):\n{tail}")
        part = archive.with_suffix(".part")
        shutil.move(made, part)
        part.replace(archive)


def using(archive: Path) -> str:
    """Return the options of a JVM that takes its classes from the archive."""
    return f"-XX:SharedArchiveFile={archive} -Xshare:auto {QUIET}"


def main() -> int:
    """Print the archive's path, making it first if need be; 1 when that fails."""
    from tests.jvms import SHORT_LIVED  # noqa: PLC0415 - the path has just been made

    home = java_home()
    if home is None:
        print("no Java 17 or 21: run tools/java.py", file=sys.stderr)
        return 1
    try:
        print(class_archive(home, SHORT_LIVED))
    except ClassArchiveError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
