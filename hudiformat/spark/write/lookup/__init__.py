"""Record keys -> file groups, by the tasks of Spark."""
