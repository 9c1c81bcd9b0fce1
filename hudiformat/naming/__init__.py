"""Names of files, partition paths, instants and record keys: text <-> values.  Pure."""
