"""Look up the file groups of record keys, by Spark tasks."""
