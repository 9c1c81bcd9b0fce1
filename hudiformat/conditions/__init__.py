"""Filters as people write them, ``"p = 'x' and v > 0"`` -> expressions of Arrow."""

from __future__ import annotations

from hudiformat.conditions.translation import as_expression, columns_named, implied

__all__ = ["as_expression", "columns_named", "implied"]
