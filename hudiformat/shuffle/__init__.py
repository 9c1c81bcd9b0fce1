"""Data frames of Spark -> the tasks that write them: types, tags, look-ups, shuffles."""

from __future__ import annotations

from hudiformat.shuffle.batches import cut_by_rows, planned_once, tasks_at_once
from hudiformat.shuffle.by_driver import kept_keys
from hudiformat.shuffle.by_tasks import write_found, write_placed, write_shuffled
from hudiformat.shuffle.describing import phase
from hudiformat.shuffle.global_lookup import LOCATIONS, location, routed, rows_everywhere, write_everywhere
from hudiformat.shuffle.live_rows import STORED, as_stored, live_rows, one_per_key
from hudiformat.shuffle.made_keys import with_made_keys
from hudiformat.shuffle.raised import decode_error
from hudiformat.shuffle.schema import arrow_schema, as_table_has, fit_shown, has_time_of_day, spark_schema
from hudiformat.shuffle.slices import newest_slices, slices_of
from hudiformat.shuffle.tagging import (
    GROUP,
    KEY,
    NEW,
    OUT,
    PATH,
    cached,
    check_has_paths,
    key_columns,
    paths_of,
    quoted,
    with_tags,
)
from hudiformat.shuffle.tasks import QUERY_ID, decode_stats, encode_stats, write_token
from hudiformat.shuffle.workers import Settling, in_task, settle

__all__ = [
    "GROUP",
    "KEY",
    "LOCATIONS",
    "NEW",
    "OUT",
    "PATH",
    "QUERY_ID",
    "STORED",
    "Settling",
    "arrow_schema",
    "as_stored",
    "as_table_has",
    "cached",
    "check_has_paths",
    "cut_by_rows",
    "decode_error",
    "decode_stats",
    "encode_stats",
    "fit_shown",
    "has_time_of_day",
    "in_task",
    "kept_keys",
    "key_columns",
    "live_rows",
    "location",
    "newest_slices",
    "one_per_key",
    "paths_of",
    "phase",
    "planned_once",
    "quoted",
    "routed",
    "rows_everywhere",
    "settle",
    "slices_of",
    "spark_schema",
    "tasks_at_once",
    "with_made_keys",
    "with_tags",
    "write_everywhere",
    "write_found",
    "write_placed",
    "write_shuffled",
    "write_token",
]
