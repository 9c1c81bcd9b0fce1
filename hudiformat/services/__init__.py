"""What keeps a table in shape: compactions, clustering, cleaning, archiving, rollback, savepoint and restore."""

from hudiformat.services.cleaning import clean, plan_clean
from hudiformat.services.clustering import cluster, schedule_clustering
from hudiformat.services.clustering_plan import SORT_COLUMNS
from hudiformat.services.compaction import compact, schedule_compaction
from hudiformat.services.deciding import Service
from hudiformat.services.expiring import expire_partitions, expired_partitions
from hudiformat.services.indexing import create_index, drop_index
from hudiformat.services.inline import before_write, serve, write_and_serve
from hudiformat.services.log_compaction import log_compact
from hudiformat.services.maintenance import (
    MaintenanceReport,
    ServiceReport,
    TableSize,
    maintain,
    services_named,
)
from hudiformat.services.rolling_back import roll_back
from hudiformat.services.savepoints import delete_savepoint, restore, savepoint
from hudiformat.services.verification import TableFinding, TableFindingKind, verify_table
from hudiformat.services.versions import change_version

__all__ = [
    "SORT_COLUMNS",
    "MaintenanceReport",
    "Service",
    "ServiceReport",
    "TableFinding",
    "TableFindingKind",
    "TableSize",
    "before_write",
    "change_version",
    "clean",
    "cluster",
    "compact",
    "create_index",
    "delete_savepoint",
    "drop_index",
    "expire_partitions",
    "expired_partitions",
    "log_compact",
    "maintain",
    "plan_clean",
    "restore",
    "roll_back",
    "savepoint",
    "schedule_clustering",
    "schedule_compaction",
    "serve",
    "services_named",
    "verify_table",
    "write_and_serve",
]
