"""The rules: each looks at the facts of a table, and gives an advice or none."""
