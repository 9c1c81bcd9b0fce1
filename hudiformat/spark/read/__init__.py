"""Queries on Spark: the pieces of a query, read by tasks or by Spark's own Parquet reader."""
