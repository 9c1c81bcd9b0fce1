"""Orders of a shop: files arrive, a table has the newest state of each order, and a summary follows it."""
