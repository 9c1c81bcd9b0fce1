"""Run the pipeline: ``python -m examples.orders FOLDER``, or with ``spark-submit`` on a cluster."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from examples.orders.pipeline import run


def main() -> None:
    """Start the streams, which end by an error, or when they are stopped."""
    parser = argparse.ArgumentParser(prog="python -m examples.orders", description=__doc__)
    parser.add_argument("folder", help="where the files arrive, in arriving/, and where tables and files go")
    parser.add_argument("--once", action="store_true", help="take what has arrived, and end")
    arguments = parser.parse_args()
    run(SparkSession.builder.appName("orders").getOrCreate(), arguments.folder, once=arguments.once)


if __name__ == "__main__":
    main()
