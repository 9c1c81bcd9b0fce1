"""Streams into plain files: the file sink on Structured Streaming."""
