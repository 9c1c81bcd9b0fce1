"""Translate filters, text such as ``"p = 'x' and v > 0"`` or tuples, to expressions; the clauses of a merge."""

from __future__ import annotations

from hudiformat.conditions.clauses import Clause, Delete, Insert, Update
from hudiformat.conditions.taken import Filter, as_filter, columns_of, fits, matching
from hudiformat.conditions.translation import as_expression, columns_named, implied

__all__ = [
    "Clause",
    "Delete",
    "Filter",
    "Insert",
    "Update",
    "as_expression",
    "as_filter",
    "columns_named",
    "columns_of",
    "fits",
    "implied",
    "matching",
]
