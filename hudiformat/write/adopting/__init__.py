"""Make a table of Parquet files that are there: look at them, check their keys, and write their skeleton files."""
