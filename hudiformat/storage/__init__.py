"""File systems: one protocol to list, open, create and append, and its implementations."""
