"""What a query shows in partition columns."""

from __future__ import annotations
