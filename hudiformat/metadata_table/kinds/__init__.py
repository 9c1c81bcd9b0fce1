"""The kinds of partitions of the metadata table, a module for each: what they record of an action."""
