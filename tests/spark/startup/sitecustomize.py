"""Python imports this when it starts.  Spark's daemons, which fork a worker per task, get all that a worker imports."""

import importlib
import os
import sys
from pathlib import Path

PACKAGE = ("hudiformat.spark.source.source",)
WITHOUT_PACKAGE = ("fastavro", "javaproperties", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet", "pyroaring")
"""What the package imports, where executors get the package itself with the job."""
LOOKS_UP = "pyspark.sql.worker.lookup_data_sources"
WITHOUT_PANDAS = (LOOKS_UP, "pyspark.sql.worker.create_data_source", "pyspark.sql.worker.plan_data_source_read")


def imported(worker: str) -> list[str]:
    """What a worker of this kind imports."""
    found = [worker]
    if worker not in WITHOUT_PANDAS:
        found.append("pandas")
    if worker != LOOKS_UP:
        given = str(Path(__file__).parents[3]) in os.environ["PYTHONPATH"].split(os.pathsep)
        found += PACKAGE if given else WITHOUT_PACKAGE
    return found


if "pyspark.daemon" in sys.orig_argv:
    # Each task clears Python's import caches, and then every archive on the path is read again, which takes a second.
    # PySpark and Py4J are installed, so Spark's archives of them can go.
    for entry in [entry for entry in sys.path if entry.endswith((".zip", ".jar"))]:
        sys.path.remove(entry)
        sys.path_importer_cache.pop(entry, None)
    own = sys.orig_argv[-1]
    for name in imported(own if own.startswith("pyspark.") and own != "pyspark.daemon" else "pyspark.worker"):
        importlib.import_module(name)
