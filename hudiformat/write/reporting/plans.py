"""Log why file groups take new rows of a write."""

from __future__ import annotations

import logging

from hudiformat.sizing.spark import PartitionPlan

LOG = logging.getLogger("hudiformat")


def log_plan(root: str, instant: str, plan: PartitionPlan) -> None:
    """Log at DEBUG why each file group of a partition takes new rows of a write or none; else nothing is computed."""
    if LOG.isEnabledFor(logging.DEBUG):
        path, reasons = plan.partition_path or ".", "; ".join(map(str, plan.explain()))
        LOG.debug("%s %s %s: %d new rows: %s", root, instant, path, plan.inserts, reasons)
