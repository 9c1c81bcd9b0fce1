"""Maintenance in its own process: which services of a table are due, running them, and what came of it."""

from hudiformat.maintenance.deciding import Decision, Service, decide
from hudiformat.maintenance.report import MaintenanceReport, ServiceReport, TableSize
from hudiformat.maintenance.running import maintain, services_named

__all__ = [
    "Decision",
    "MaintenanceReport",
    "Service",
    "ServiceReport",
    "TableSize",
    "decide",
    "maintain",
    "services_named",
]
