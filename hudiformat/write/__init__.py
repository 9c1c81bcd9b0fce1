"""The way of a write: rows -> keys -> file groups -> files -> one commit."""
