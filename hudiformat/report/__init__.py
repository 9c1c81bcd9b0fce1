"""A report about a table: facts, advice, and a page of HTML that draws them."""
