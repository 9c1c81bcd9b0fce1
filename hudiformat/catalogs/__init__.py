"""Catalogs: what a Hive Metastore or AWS Glue has of a table, and how it is told."""
