"""Indexes of a write: find the file group of each record key."""
