"""PySpark: functions that read and write data frames, and the data source ``hudiformat``.

This package plans tasks, shuffles rows to them and commits; the other packages implement the format.  The functions
work on PySpark 3.5 and 4, the data source on PySpark 4.
"""

from __future__ import annotations

try:
    from pyspark.sql import SparkSession
except ModuleNotFoundError as error:
    message = "hudiformat.spark needs PySpark: pip install 'hudiformat[spark]'"
    raise ModuleNotFoundError(message, name=error.name) from error

from hudiformat.arguments import check_arguments
from hudiformat.conditions.clauses import Delete, Insert, Update
from hudiformat.spark.files.catalog import CatalogMetastore
from hudiformat.spark.files.sink import file_sink
from hudiformat.spark.read.queries import cdc, count, head, history, incremental, read_optimized, snapshot, stats
from hudiformat.spark.read.read import read
from hudiformat.spark.services import (
    advise,
    change_version,
    clean,
    cluster,
    compact,
    create_index,
    delete_savepoint,
    drop_index,
    log_compact,
    maintain,
    repair,
    report,
    restore,
    rollback,
    savepoint,
    schedule_clustering,
    schedule_compaction,
    sync_catalog,
    unschedule_compaction,
    verify,
)
from hudiformat.spark.write.changing import delete_where, update
from hudiformat.spark.write.functions import (
    bulk_insert,
    delete,
    delete_partitions,
    evolve,
    insert,
    insert_overwrite,
    insert_overwrite_table,
    upsert,
    write_batch,
)
from hudiformat.spark.write.merging import merge
from hudiformat.spark.write.modes import create_table, write

__all__ = [
    "CatalogMetastore",
    "Delete",
    "Insert",
    "Update",
    "advise",
    "bulk_insert",
    "cdc",
    "change_version",
    "clean",
    "cluster",
    "compact",
    "count",
    "create_index",
    "create_table",
    "delete",
    "delete_partitions",
    "delete_savepoint",
    "delete_where",
    "drop_index",
    "evolve",
    "file_sink",
    "head",
    "history",
    "incremental",
    "insert",
    "insert_overwrite",
    "insert_overwrite_table",
    "log_compact",
    "maintain",
    "merge",
    "read",
    "read_optimized",
    "register",
    "repair",
    "report",
    "restore",
    "rollback",
    "savepoint",
    "schedule_clustering",
    "schedule_compaction",
    "snapshot",
    "stats",
    "sync_catalog",
    "unschedule_compaction",
    "update",
    "upsert",
    "verify",
    "write",
    "write_batch",
]


@check_arguments
def register(spark: SparkSession) -> None:
    """Register the data sources ``hudiformat`` (tables) and ``hudiformat-files`` (plain files of streams) in *spark*.

    Raises:
        UnsupportedFeatureError: PySpark is older than 4.

    Source: pyspark.sql.datasource.DataSource.
    """
    try:
        # PySpark 3.5 has no data source API.
        from hudiformat.spark.files.source import HudiFilesSource  # noqa: PLC0415 - PySpark is optional
        from hudiformat.spark.source.source import HudiDataSource  # noqa: PLC0415 - PySpark is optional
    except ImportError as error:
        import pyspark  # noqa: PLC0415 - PySpark is optional

        from hudiformat.errors import UnsupportedFeatureError  # noqa: PLC0415 - PySpark is optional

        raise UnsupportedFeatureError(
            f"expected PySpark 4 for the data source, found {pyspark.__version__}; use "
            "hudiformat.spark.insert, upsert, bulk_insert and delete to write, and "
            "hudiformat.spark.read to read",
            feature="data source on PySpark 3",
        ) from error
    spark.dataSource.register(HudiDataSource)
    spark.dataSource.register(HudiFilesSource)
