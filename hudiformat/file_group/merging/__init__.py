"""Log blocks over a base file -> rows.  Pure."""
