"""Looking after a table: what is wrong with it; which services are due, running them, and what came of it."""

from hudiformat.maintenance.deciding import Decision, Service, decide
from hudiformat.maintenance.finding import TableFinding, TableFindingKind
from hudiformat.maintenance.key_check import DuplicateKeys, duplicate_keys
from hudiformat.maintenance.report import MaintenanceReport, ServiceReport, TableSize
from hudiformat.maintenance.running import maintain, services_named
from hudiformat.maintenance.timeline_check import findings_of_properties
from hudiformat.maintenance.verification import stored_schema, verify_state, verify_table

__all__ = [
    "Decision",
    "DuplicateKeys",
    "MaintenanceReport",
    "Service",
    "ServiceReport",
    "TableFinding",
    "TableFindingKind",
    "TableSize",
    "decide",
    "duplicate_keys",
    "findings_of_properties",
    "maintain",
    "services_named",
    "stored_schema",
    "verify_state",
    "verify_table",
]
