"""The kinds of partitions of the metadata table, a module for each: the records that they get for an action."""
