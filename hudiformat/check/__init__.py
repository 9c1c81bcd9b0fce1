"""What is wrong with a table: verify and repair."""
