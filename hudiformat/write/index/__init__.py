"""Indexes: record keys -> file groups."""
