"""Write rows to a table: rows -> record keys -> file groups -> data files -> one commit."""
