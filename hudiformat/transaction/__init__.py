"""A write from its instant to its commit: locks, conflicts, markers, rollback, metadata-table upkeep."""
