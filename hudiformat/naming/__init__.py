"""Names: of files, file groups, instants, partitions and records.

Text and columns in, text and columns out: no file, clock or randomness.  A parsed name is formatted back to the same
text; text that does not parse raises a NameFormatError.
"""

from hudiformat.naming.bucket_hash import bucket_numbers, hash_key_values, record_key_buckets, string_hashes
from hudiformat.naming.checks import (
    checked_data_file,
    checked_file_id,
    checked_instant,
    checked_partition,
    checked_path_in_table,
    checks_arguments,
    one_or_more,
)
from hudiformat.naming.file_names import (
    BaseFileName,
    LogFileName,
    WriteToken,
    base_name,
    bucket_file_id,
    fixed_bucket_file_id,
    join_path,
    new_bucket_uuid,
    new_file_id,
    new_group_uuid,
    parse_bucket,
    parse_data_file,
    refuse_registered,
)
from hudiformat.naming.instants import format_instant, is_instant, next_instant, parse_instant
from hudiformat.naming.keys import (
    DEFAULT_PARTITION,
    escape_file_name,
    format_partition_path,
    parse_partition_path,
    partition_paths,
    record_keys,
    shown_row,
    unescape_path_name,
)
from hudiformat.naming.ring_hash import RING_END, ring_places

__all__ = [
    "DEFAULT_PARTITION",
    "RING_END",
    "BaseFileName",
    "LogFileName",
    "WriteToken",
    "base_name",
    "bucket_file_id",
    "bucket_numbers",
    "checked_data_file",
    "checked_file_id",
    "checked_instant",
    "checked_partition",
    "checked_path_in_table",
    "checks_arguments",
    "escape_file_name",
    "fixed_bucket_file_id",
    "format_instant",
    "format_partition_path",
    "hash_key_values",
    "is_instant",
    "join_path",
    "new_bucket_uuid",
    "new_file_id",
    "new_group_uuid",
    "next_instant",
    "one_or_more",
    "parse_bucket",
    "parse_data_file",
    "parse_instant",
    "parse_partition_path",
    "partition_paths",
    "record_key_buckets",
    "record_keys",
    "refuse_registered",
    "ring_places",
    "shown_row",
    "string_hashes",
    "unescape_path_name",
]
