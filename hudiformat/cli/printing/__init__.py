"""What commands print: tables, JSON, values, rows, commits, findings, progress."""
