"""The columns of a table: its schema, how writes change it, and what partition columns show.  Pure."""
