r"""The keys of a secondary index: the text of a column's value, and the record key.  Pure.

A key is ``<value>$<record key>``.  In both parts ``\``, ``$`` and the null character are escaped by ``\``; a null
character alone is the value null.

Source: SecondaryIndexKeyUtils, Hudi 1.2.0; spec/metadata-table.md.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

SECONDARY_INDEX = "secondary_index_"
"""What the names of these partitions begin with."""

_ESCAPED = ("\\", "$", "\0")  # in this order: the first is what the others are escaped by
_NULL = "\0"
_PREFIX = r"(?s)^(?P<prefix>(?:[^\\$]|\\.)*\$)"
_RECORD_KEY = r"(?s)^(?:[^\\$]|\\.)*\$(?P<key>.*)$"
_ESCAPE = r"(?s)\\(.)"


def has_secondary_keys(kind: pa.DataType) -> bool:
    """Whether a secondary index can be kept up of a column of type *kind*.

    Hudi indexes others too, with texts that depend on who writes: numbers with a point as the release of Java shows
    them (up to 18 not in the shortest form), milliseconds as microseconds in Spark and as they are in Java.

    Source: HoodieIndexUtils.isSecondaryIndexSupportedType.
    """
    return (
        pa.types.is_string(kind)
        or kind in (pa.int32(), pa.int64(), pa.date32())
        or (pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz is not None)
    )


def value_texts(values: pa.Array) -> pa.Array:
    """The texts of values as an index has them: dates as days since 1970, timestamps as microseconds."""
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    return values.cast(pa.string())


def secondary_keys(values: pa.Array, record_keys: pa.Array) -> pa.Array:
    """The key of each row with a value and a record key."""
    return pc.binary_join_element_wise(_prefixes(value_texts(values)), escaped(record_keys), "")


def prefixes_of_values(values: pa.Array) -> pa.Array:
    """What the keys of all rows with each value begin with."""
    return _prefixes(value_texts(values))


def prefixes_of(keys: pa.Array) -> pa.Array:
    """The first part of each key, ``$`` included."""
    return pc.struct_field(pc.extract_regex(keys, _PREFIX), "prefix")


def record_keys_of(keys: pa.Array) -> pa.Array:
    """The record key of each key."""
    return pc.replace_substring_regex(pc.struct_field(pc.extract_regex(keys, _RECORD_KEY), "key"), _ESCAPE, r"\1")


def escaped(texts: pa.Array) -> pa.Array:
    """*texts* with a backslash before each character that has a meaning in a key."""
    for one in _ESCAPED:
        texts = pc.replace_substring(texts, one, f"\\{one}")
    return texts


def _prefixes(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pc.fill_null(escaped(texts), _NULL), "$", "")
