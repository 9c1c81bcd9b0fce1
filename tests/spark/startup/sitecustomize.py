"""Python imports this when it starts.  Spark's daemons, which fork a worker per task, get all that a worker imports.

A worker does one task after the other, and is killed in the end: so it stores its coverage after the first task, the
second, the fourth and so on.  After each would take as long as the tasks of a test do.
"""

import importlib
import itertools
import sys
from typing import Any


def _storing(run: Any) -> Any:
    tasks = itertools.count(1)

    def main(infile: Any, outfile: Any) -> None:
        try:
            run(infile, outfile)
        finally:
            coverage = sys.modules.get("coverage")
            current = coverage and coverage.Coverage.current()
            if current and next(tasks).bit_count() == 1:
                current.save()

    return main


if "pyspark.daemon" in sys.orig_argv:
    # Each task clears Python's import caches, and then every archive on the path is read again, which takes a second.
    # PySpark and Py4J are installed, so Spark's archives of them can go.
    for entry in [entry for entry in sys.path if entry.endswith((".zip", ".jar"))]:
        sys.path.remove(entry)
        sys.path_importer_cache.pop(entry, None)
    import pandas as pd  # noqa: F401

    import hudiformat.spark.source.source  # noqa: F401

    own = sys.orig_argv[-1]
    worker: Any = importlib.import_module(
        own if own.startswith("pyspark.") and own != "pyspark.daemon" else "pyspark.worker"
    )
    worker.main = _storing(worker.main)
