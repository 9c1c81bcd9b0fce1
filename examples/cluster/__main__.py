"""Run one of the two processes: ``python -m examples.cluster stream`` or ``compactions``, or with ``spark-submit``."""

from __future__ import annotations

import argparse
import time

from pyspark.sql import SparkSession

from examples.cluster.pipeline import compact, options_of, run


def main() -> None:
    """Go on until an error, or until it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m examples.cluster", description=__doc__)
    parser.add_argument("what", choices=["stream", "compactions"])
    parser.add_argument("folder", help="a folder on HDFS: changes arrive in arriving/, the table is trips/")
    parser.add_argument("metastore", help="the metastore, as thrift://host:9083")
    parser.add_argument("--database", default="lake")
    parser.add_argument("--once", action="store_true", help="the stream takes what has arrived, and ends")
    parser.add_argument("--every", type=float, help="the seconds between two batches (10) or two compactions (600)")
    arguments = parser.parse_args()
    options = options_of(arguments.metastore, arguments.database)
    if arguments.what == "stream":
        spark = SparkSession.builder.appName("trips").getOrCreate()
        every = None if arguments.once else arguments.every or 10
        run(spark, arguments.folder, options, every=every)
        return
    while True:
        print(*compact(arguments.folder, options), sep="\n", flush=True)
        time.sleep(arguments.every or 600)


if __name__ == "__main__":
    main()
