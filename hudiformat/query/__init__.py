"""Queries: snapshot, time travel, incremental and CDC; slices to rows, data skipping, spilling."""
