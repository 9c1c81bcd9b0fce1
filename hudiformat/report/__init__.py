"""A page about a table: facts, advice, pictures."""
