"""Writes on Spark: rows of data frames -> the tasks that write them."""
