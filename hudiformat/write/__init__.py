"""Rows to file groups: assignment, and the handles that write files."""

from hudiformat.avro.incoming import suited
from hudiformat.write.evolve import evolve_table
from hudiformat.write.expiring import expire_partitions, expired_partitions
from hudiformat.write.handles.append import AppendHandle
from hudiformat.write.handles.base_file import OpenBaseFile
from hudiformat.write.handles.clustered import ClusteredFiles
from hudiformat.write.handles.copied import CopiedFiles, can_copy
from hudiformat.write.overwrite import delete_partitions, matching_partitions, overwrite, overwrite_by, replaced_groups
from hudiformat.write.placement import FIRST_NEW, groups_of_new
from hudiformat.write.planning import plan_inserts
from hudiformat.write.rows import combine_parts, delete_ordering
from hudiformat.write.write import (
    CheckedColumns,
    PreparedRows,
    WriteTask,
    check_rows,
    combined,
    incoming,
    local_task,
    write_prepared,
    write_rows,
)

__all__ = [
    "FIRST_NEW",
    "AppendHandle",
    "CheckedColumns",
    "ClusteredFiles",
    "CopiedFiles",
    "OpenBaseFile",
    "PreparedRows",
    "WriteTask",
    "can_copy",
    "check_rows",
    "combine_parts",
    "combined",
    "delete_ordering",
    "delete_partitions",
    "evolve_table",
    "expire_partitions",
    "expired_partitions",
    "groups_of_new",
    "incoming",
    "local_task",
    "matching_partitions",
    "overwrite",
    "overwrite_by",
    "plan_inserts",
    "replaced_groups",
    "suited",
    "write_prepared",
    "write_rows",
]
