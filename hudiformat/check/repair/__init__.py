"""Repair: a plan of steps, and their execution."""
