"""Queries: planned by the driver, read by Spark itself where its Parquet reader is enough, else by tasks in Python."""
