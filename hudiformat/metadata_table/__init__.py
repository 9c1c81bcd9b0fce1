"""Read the metadata table: the listing of files, statistics and indexes."""
