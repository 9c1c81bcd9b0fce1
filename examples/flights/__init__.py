"""A Hudi table of an airline's operations: a year of flights from New York, written as their reports arrive."""
