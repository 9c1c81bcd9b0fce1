"""Avro schemas and records <-> Arrow, in columns.  Pure."""
