"""Base files: read, write, statistics, bloom filters."""
