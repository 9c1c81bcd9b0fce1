"""Queries: snapshot, time travel, incremental and change data, by one plan."""
