"""The metadata table, read: file listing, statistics and indexes."""
