"""An airline's operations as a Hudi table: a year of flights out of New York, as their reports come in."""
