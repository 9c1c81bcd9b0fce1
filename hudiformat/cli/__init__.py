"""The command ``hudiformat``: one module per command, and ``app``, which joins them.

A command prints while it reads, holds one block in memory at a time, and returns its exit code: 0 for success, 1 for
findings, 2 for input that cannot be read.  Errors are raised, and ``app`` prints each of them in one line.
"""

from hudiformat.cli.app import run

__all__ = ["run"]
