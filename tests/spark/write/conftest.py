"""Tests of what tasks write: their data frames are small, and the driver would write them by itself."""

from __future__ import annotations

from tests.by_tasks import by_tasks

__all__ = ["by_tasks"]
