"""Commands that read rows: of a table, or by a query in SQL."""
