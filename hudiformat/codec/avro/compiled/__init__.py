"""Kernels that encode and decode Avro records, and what prepares their tables."""
