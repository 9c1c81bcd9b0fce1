"""The command ``hudiformat``: one module per command, and ``app``, which joins them.

A command prints while it reads, has one block in memory at a time, and returns its exit code: 0 fine, 1 findings,
2 unreadable.  Errors are raised, and ``app`` prints them in one line.
"""

from hudiformat.cli.app import run

__all__ = ["run"]
