"""Avro schema <-> Arrow schema, and Avro records <-> RecordBatch, column by column.  Pure: no files, no clock."""

from __future__ import annotations

from hudiformat.avro.decode import Records, decode_records, find_records, find_runs
from hudiformat.avro.delete_list import decode_delete_list, encode_delete_list
from hudiformat.avro.encode import encode_datums, encode_records
from hudiformat.avro.schema import arrow_to_avro, avro_to_arrow, resolve
from hudiformat.avro.values import ValueSchema, decode_value, parse_value_schema

__all__ = [
    "Records",
    "ValueSchema",
    "arrow_to_avro",
    "avro_to_arrow",
    "decode_delete_list",
    "decode_records",
    "decode_value",
    "encode_datums",
    "encode_delete_list",
    "encode_records",
    "find_records",
    "find_runs",
    "parse_value_schema",
    "resolve",
]
