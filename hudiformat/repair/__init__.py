"""Repairing a table: a plan of what is wrong with it, shown first, and carried out on request."""

from hudiformat.repair.planning import DEAD_AFTER, repair_context, repair_table
from hudiformat.repair.steps import Repair, RepairKind, RepairStep, StepState
from hudiformat.repair.taking_away import REPAIRS

__all__ = [
    "DEAD_AFTER",
    "REPAIRS",
    "Repair",
    "RepairKind",
    "RepairStep",
    "StepState",
    "repair_context",
    "repair_table",
]
