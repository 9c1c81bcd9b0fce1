"""Parquet footers, and row groups that are copied without decoding."""
