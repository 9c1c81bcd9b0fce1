"""The public classes and functions: opening and creating a table, and its queries, writes and services."""
