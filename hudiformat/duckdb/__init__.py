"""DuckDB: queries in SQL over tables by their paths, and statements that change them.

The module is ``hudiformat.duckdb``; the package ``duckdb`` is imported when it is needed.
"""

from __future__ import annotations

from hudiformat.duckdb.queries import query
from hudiformat.duckdb.statements import execute

__all__ = ["execute", "query"]
