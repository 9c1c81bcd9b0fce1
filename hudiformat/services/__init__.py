"""What keeps a table in shape: compactions, clustering, cleaning, archiving, rollback, savepoint and restore."""

from hudiformat.services.claims import is_running
from hudiformat.services.cleaning import clean, plan_clean
from hudiformat.services.clustering import cluster, schedule_clustering
from hudiformat.services.clustering_plan import SORT_COLUMNS, plan_clustering, resizes_buckets
from hudiformat.services.compaction import compact, merge_into_base_file, plan_compaction, schedule_compaction
from hudiformat.services.counting import archivable, archive_table, since_clustering, since_compaction
from hudiformat.services.execution import Part
from hudiformat.services.indexing import (
    build_metadata_table,
    create_index,
    drop_index,
    indexes_with_columns,
    rebuild_indexes,
)
from hudiformat.services.inline import before_write, serve, write_and_serve
from hudiformat.services.leftovers import OLD, REPAIR_FOLDER, is_old, temporary_files
from hudiformat.services.log_compaction import log_compact
from hudiformat.services.lost_plans import mend_lost_plans
from hudiformat.services.metadata_services import may_serve_metadata_table, serve_metadata_table
from hudiformat.services.rolling_back import roll_back
from hudiformat.services.savepoints import delete_savepoint, restore, savepoint
from hudiformat.services.versions import change_version

__all__ = [
    "OLD",
    "REPAIR_FOLDER",
    "SORT_COLUMNS",
    "Part",
    "archivable",
    "archive_table",
    "before_write",
    "build_metadata_table",
    "change_version",
    "clean",
    "cluster",
    "compact",
    "create_index",
    "delete_savepoint",
    "drop_index",
    "indexes_with_columns",
    "is_old",
    "is_running",
    "log_compact",
    "may_serve_metadata_table",
    "mend_lost_plans",
    "merge_into_base_file",
    "plan_clean",
    "plan_clustering",
    "plan_compaction",
    "rebuild_indexes",
    "resizes_buckets",
    "restore",
    "roll_back",
    "savepoint",
    "schedule_clustering",
    "schedule_compaction",
    "serve",
    "serve_metadata_table",
    "since_clustering",
    "since_compaction",
    "temporary_files",
    "write_and_serve",
]
