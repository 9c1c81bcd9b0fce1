"""The command ``hudiformat``: a module for each command, and ``app`` that puts them together.

Commands print while they read, keep one block in memory at a time, and return their exit code: 0 fine, 1 findings,
2 unreadable.  What cannot be done they raise, and ``app`` says it in one line.
"""

from hudiformat.cli.app import run

__all__ = ["run"]
