"""Convert Avro schemas to Arrow schemas, and Avro records to record batches, and back.  Pure: no files, no clock."""

from __future__ import annotations

from hudiformat.avro.casts import keeps_order
from hudiformat.avro.decode import Records, decode_records, find_records, find_runs
from hudiformat.avro.delete_list import decode_delete_list, encode_delete_list
from hudiformat.avro.encode import encode_datums, encode_parts, encode_records
from hudiformat.avro.java_text import java_float
from hudiformat.avro.renaming import relabelled, renamed_schema, same_names, stored_schema
from hudiformat.avro.schema import META_COLUMNS, arrow_to_avro, avro_to_arrow, resolve, with_views
from hudiformat.avro.types import (
    Column,
    Kind,
    Leaf,
    ListType,
    MapType,
    RecordType,
    avro_of,
    avro_types,
    decimal_of,
    inner_columns,
    leaf_of,
    numbered,
    walk,
    with_inner_columns,
)
from hudiformat.avro.values import ValueSchema, decode_value, parse_value_schema

__all__ = [
    "META_COLUMNS",
    "Column",
    "Kind",
    "Leaf",
    "ListType",
    "MapType",
    "RecordType",
    "Records",
    "ValueSchema",
    "arrow_to_avro",
    "avro_of",
    "avro_to_arrow",
    "avro_types",
    "decimal_of",
    "decode_delete_list",
    "decode_records",
    "decode_value",
    "encode_datums",
    "encode_delete_list",
    "encode_parts",
    "encode_records",
    "find_records",
    "find_runs",
    "inner_columns",
    "java_float",
    "keeps_order",
    "leaf_of",
    "numbered",
    "parse_value_schema",
    "relabelled",
    "renamed_schema",
    "resolve",
    "same_names",
    "stored_schema",
    "walk",
    "with_inner_columns",
    "with_views",
]
