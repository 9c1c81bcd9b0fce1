"""Repair a table: plan the steps, and carry them out."""
