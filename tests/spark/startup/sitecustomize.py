"""Python imports this when it starts.  Spark's daemons, which fork a worker per task, get all that a worker imports."""

import importlib
import sys

if "pyspark.daemon" in sys.orig_argv:
    # Each task clears Python's import caches, and then every archive on the path is read again, which takes a second.
    # PySpark and Py4J are installed, so Spark's archives of them can go.
    for entry in [entry for entry in sys.path if entry.endswith((".zip", ".jar"))]:
        sys.path.remove(entry)
        sys.path_importer_cache.pop(entry, None)
    import pandas as pd  # noqa: F401

    import hudiformat.spark.source.source  # noqa: F401

    own = sys.orig_argv[-1]
    importlib.import_module(own if own.startswith("pyspark.") and own != "pyspark.daemon" else "pyspark.worker")
