"""Hudi and hudiformat in turn on one table: a long run against real Hudi, with a dictionary as the third witness."""
