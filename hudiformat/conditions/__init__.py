"""Filters as people write them, ``"p = 'x' and v > 0"`` or tuples -> expressions of Arrow."""

from __future__ import annotations

from hudiformat.conditions.taken import Filter, as_filter
from hudiformat.conditions.translation import as_expression, columns_named, implied

__all__ = ["Filter", "as_expression", "as_filter", "columns_named", "implied"]
