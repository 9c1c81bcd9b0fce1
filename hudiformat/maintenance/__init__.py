"""Looking after a table: what is wrong with it; which services are due, running them, and what came of it."""

from hudiformat.maintenance.deciding import Decision, Service, decide
from hudiformat.maintenance.report import MaintenanceReport, ServiceReport, TableSize
from hudiformat.maintenance.running import maintain, services_named
from hudiformat.maintenance.verification import TableFinding, TableFindingKind, verify_table

__all__ = [
    "Decision",
    "MaintenanceReport",
    "Service",
    "ServiceReport",
    "TableFinding",
    "TableFindingKind",
    "TableSize",
    "decide",
    "maintain",
    "services_named",
    "verify_table",
]
