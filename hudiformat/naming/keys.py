"""Make record keys and partition paths from columns.

A partition path is the folder, relative to the table, for a row's partition values.

Keys and paths contain the text of a Java object.  Types are refused whose text differs between Hudi's own write paths:
a timestamp is a number of microseconds in an upsert, and a date with a time in a bulk insert, so one table would have
two keys for one row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError, NameFormatError, SchemaError
from hudiformat.naming.java_floats import format_floats
from hudiformat.wire import is_below_root

_YEAR_ONE = date.min
_YEAR_9999 = date.max


_SHOWN_COLUMNS, _SHOWN_LETTERS = 8, 300
"""The number of columns, and of letters, of a row that an error shows."""

NULL_PLACEHOLDER = "__null__"
EMPTY_PLACEHOLDER = "__empty__"


def record_keys(columns: Sequence[pa.Array], fields: Sequence[str], *, complex_form: bool) -> pa.Array:
    """Return the record key of each row, a string array without nulls.

    In the simple form the key is the text of the only field; in the complex form it is ``a:1,b:2``, with ``__null__``
    and ``__empty__`` for values that are null or empty.  Tables of version 9 with the COMPLEX key generator have the
    complex form even for one field (``k:1``); Hudi up to 1.0.2 wrote the plain value there.

    Hudi does not escape the values.  Values that would make a key of several fields ambiguous are refused, so that rows
    with different values never have the same key: values with ``,b:`` in them, where ``b`` is a field after the first,
    and the placeholders themselves.

    Raises:
        DataError: all key values of a row are null or empty, or a value would make the key ambiguous; the message
            counts these rows.
        SchemaError: a column of a type that has no fixed text.

    Source: KeyGenerator.constructRecordKey, KeyGenUtils.getRecordKey and ComplexAvroKeyGenerator, Hudi 1.2.0.
    """
    texts = [format_key_values(column, field) for column, field in zip(columns, fields, strict=True)]
    _refuse_missing_keys(texts, fields)
    if not complex_form:
        return texts[0]
    if len(fields) > 1:
        _refuse_ambiguous(texts, fields)
    pairs = [
        pc.binary_join_element_wise(pa.scalar(f"{field}:"), _with_placeholders(text), "")
        for field, text in zip(fields, texts, strict=True)
    ]
    return pc.binary_join_element_wise(*pairs, ",") if len(pairs) > 1 else pairs[0]


def _with_placeholders(text: pa.Array) -> pa.Array:
    present = pc.fill_null(text, NULL_PLACEHOLDER)
    return pc.if_else(pc.equal(present, ""), EMPTY_PLACEHOLDER, present)


def format_row(rows: pa.RecordBatch | pa.Table, number: int) -> str:
    """Return the beginning of the row with this *number*, for a message."""
    try:
        return str(rows.select(rows.schema.names[:_SHOWN_COLUMNS]).slice(number, 1).to_pylist()[0])[:_SHOWN_LETTERS]
    except (OverflowError, ValueError):
        return f"row {number}, with a date or time that Python's own types cannot hold"


def _is_missing(texts: Sequence[pa.Array]) -> pa.Array:
    missing = pc.equal(pc.fill_null(texts[0], ""), "")
    for text in texts[1:]:
        missing = pc.and_(missing, pc.equal(pc.fill_null(text, ""), ""))
    return missing


def _refuse_missing_keys(texts: Sequence[pa.Array], fields: Sequence[str]) -> None:
    missing = _is_missing(texts)
    count = pc.sum(missing).as_py()
    if count:
        names, rows = ", ".join(fields), len(texts[0])
        raise DataError(
            f"record key {names}: null or empty in {count} of {rows} rows",
            column=names,
            missing=count,
            rows=rows,
            first=pc.index(missing, value=True).as_py(),
        )


def _refuse_ambiguous(texts: Sequence[pa.Array], fields: Sequence[str]) -> None:
    later = "|".join(map(re.escape, fields[1:]))
    pattern = f"^{NULL_PLACEHOLDER}$|^{EMPTY_PLACEHOLDER}$|,(?:{later}):"
    for text, field in zip(texts, fields, strict=True):
        count = pc.sum(pc.match_substring_regex(text, pattern)).as_py()
        if count:
            raise DataError(
                f"record key {', '.join(fields)}: {count} values of {field} would make the key of a row the same as "
                f"another row's: they contain a comma, the name of a key field and a colon, or are {NULL_PLACEHOLDER} "
                f"or {EMPTY_PLACEHOLDER}; Hudi does not escape them, so change the values, or use one key field",
                column=field,
            )


DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_ENCODES = "hoodie.datasource.write.partitionpath.urlencode=true"
"""The property of a table that escapes values in paths; it cannot be changed later."""

# Hive's list: the ASCII control characters, and characters with a meaning in paths or shells.  No other is escaped.
_ESCAPED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
_ESCAPE = re.compile("%([0-9a-fA-F]{2})")


def format_partition_path(
    values: Sequence[str | None], fields: Sequence[str], *, hive_style: bool, url_encode: bool
) -> str:
    """Return the folder of one partition, ``2024/emea`` or, in Hive's style, ``year=2024/region=emea``.

    A null or empty value becomes ``__HIVE_DEFAULT_PARTITION__``.  A ``/`` in a value that is not URL-encoded separates
    folders, as in Hudi.  Without fields the path is ``""``, the table's own folder.

    Raises:
        DataError: the path would leave the table or lie in ``.hoodie``.

    Source: KeyGenUtils.getRecordPartitionPath, PartitionPathEncodeUtils.escapePathName, Hudi 1.2.0.
    """
    segments = []
    for value, field in zip(values, fields, strict=True):
        text = DEFAULT_PARTITION if not value else escape_path_name(value) if url_encode else value
        segments.append(f"{field}={text}" if hive_style else text)
    path = "/".join(segments)
    _refuse_unsafe(path, fields, url_encode=url_encode)
    return path


def parse_partition_path(path: str, fields: Sequence[str], *, hive_style: bool, url_encode: bool) -> list[str | None]:
    """Return the values in the path of a partition's folder, None for the default name.

    With one field and no URL encoding the whole path is its value, slashes included.

    Raises:
        NameFormatError: the path has not as many folders as there are fields, or, in Hive's style, other names.
    """
    if not fields:
        segments = [path] if path else []
    else:
        segments = [path] if len(fields) == 1 and not url_encode else path.split("/")
    if len(segments) != len(fields):
        raise NameFormatError(
            f"expected a partition path of {len(fields)} parts for {', '.join(fields) or 'no fields'}, found {path!r}",
            name=path,
        )
    values: list[str | None] = []
    for segment, field in zip(segments, fields, strict=True):
        if hive_style and not segment.startswith(f"{field}="):
            raise NameFormatError(f"expected {field}=<value> in partition path {path!r}, found {segment!r}", name=path)
        text = segment[len(field) + 1 :] if hive_style else segment
        values.append(None if text == DEFAULT_PARTITION else unescape_path_name(text) if url_encode else text)
    return values


def partition_paths(
    columns: Sequence[pa.Array], fields: Sequence[str], *, hive_style: bool, url_encode: bool
) -> pa.Array:
    """Return the partition path of each row, a string array; each distinct path is formatted once.

    There has to be at least one field.

    Raises:
        SchemaError: a column of a type that has no fixed text.
        DataError: a path would leave the table or lie in ``.hoodie``, or a value is the placeholder of null.

    Source: as for :func:`format_partition_path`.
    """
    texts = [format_values(column, field) for column, field in zip(columns, fields, strict=True)]
    return paths_of_texts(texts, fields, hive_style=hive_style, url_encode=url_encode)


def paths_of_texts(texts: Sequence[pa.Array], fields: Sequence[str], *, hive_style: bool, url_encode: bool) -> pa.Array:
    """Return the partition path of each row from the texts of its values; each distinct path is formatted once.

    Raises:
        DataError: as for :func:`partition_paths`.
    """
    distinct, codes = _distinct_rows(texts)
    paths = []
    for row in distinct:
        _refuse_placeholder(row, fields)
        paths.append(format_partition_path(row, fields, hive_style=hive_style, url_encode=url_encode))
    return pa.array(paths, pa.string()).take(codes)


def _distinct_rows(texts: Sequence[pa.Array]) -> tuple[list[tuple[str | None, ...]], pa.Array]:
    """Return the distinct combinations of values in the order of their first rows, and the index of each row's.

    For the columns ["a", "b", "a"] and ["x", "x", "y"]:

        first column     codes [0, 1, 0]
        second column    codes * 2 + [0, 0, 1] = [0, 2, 1], numbered anew in the order of their first rows: [0, 1, 2]
        result           combinations [("a", "x"), ("b", "x"), ("a", "y")], codes [0, 1, 2]
    """
    first, *others = (text.dictionary_encode(null_encoding="encode") for text in texts)
    if not others:
        return [(value,) for value in first.dictionary.to_pylist()], first.indices
    codes = np.asarray(first.indices).astype(np.int64)
    for other in others:
        # Codes stay below the number of rows, so that their product with the number of another column's values fits.
        both = pa.array(codes * len(other.dictionary) + np.asarray(other.indices)).dictionary_encode()
        codes = np.asarray(both.indices).astype(np.int64)
    first_rows = pa.array(np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1)))
    return list(zip(*(text.take(first_rows).to_pylist() for text in texts), strict=True)), pa.array(codes)


def escape_path_name(text: str) -> str:
    """Return *text* with the characters that Hive escapes as ``%XX``.

    Source: PartitionPathEncodeUtils.escapePathName, Hudi 1.2.0.
    """
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def escape_file_name(text: str) -> str:
    """Return *text* escaped as by :func:`escape_path_name`, and ``-`` and ``_`` too, for a part of a file's name.

    Source: PartitionPathEncodeUtils.escapeFileName, Hudi 1.2.0.
    """
    return escape_path_name(text).replace("-", "%2D").replace("_", "%5F")


def unescape_path_name(text: str) -> str:
    """Return *text* with each ``%XX`` replaced by the character of that number; any other ``%`` stays.

    Source: PartitionPathEncodeUtils.unescapePathName, Hudi 1.2.0.
    """
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def _refuse_unsafe(path: str, fields: Sequence[str], *, url_encode: bool) -> None:
    if fields and (path.partition("/")[0] in ("", ".hoodie") or not is_below_root(path)):
        names = ", ".join(fields)
        raise DataError(
            f"partition {names}: the values give the path {path!r}, which is no folder of the table's data; "
            f"{_way_out(url_encode=url_encode)}",
            column=names,
        )


def _way_out(*, url_encode: bool) -> str:
    return "change the values" if url_encode else f"change the values, or make the table with {_ENCODES}"


def _refuse_placeholder(values: Sequence[str | None], fields: Sequence[str]) -> None:
    for value, field in zip(values, fields, strict=True):
        if value == DEFAULT_PARTITION:
            raise DataError(
                f"partition {field}: expected no text {DEFAULT_PARTITION}, which is the folder of null, found one: it "
                "would be read as null; change the value, or write null",
                column=field,
            )


def refuse_unreadable_path(path: str, fields: Sequence[str], *, hive_style: bool, url_encode: bool) -> None:
    """Refuse the path of a new partition if Hudi cannot open it, or reads other values from it than gave it.

    Hadoop takes ``12:30`` for a URI, so Hudi opens no file of a table that has such a folder at its root.  Queries take
    what follows a ``=`` for the value, and decode ``%XX``, whatever the properties of the table say.

    Raises:
        DataError: for these reasons.

    Source: org.apache.hadoop.fs.Path; HoodieSparkUtils.parsePartitionColumnValues, Hudi 1.2.0.
    """
    names, folders = ", ".join(fields), path.split("/")
    found = None
    if ":" in folders[0]:
        found = "whose first folder has a colon, so that Hudi could not open the table"
    elif 1 < len(fields) != len(folders):
        found = f"whose {len(folders)} folders are not one for each field, so that the values could not be told from it"
    elif len(folders) == len(fields):
        shown = [value_of_folder(folder) for folder in folders]
        if format_partition_path(shown, fields, hive_style=hive_style, url_encode=url_encode) != path:
            found = f"from which Hudi reads {shown[0]!r}" if len(shown) == 1 else f"from which Hudi reads {shown}"
    if found is not None:
        raise DataError(
            f"partition {names}: the values give the path {path!r}, {found}; {_way_out(url_encode=url_encode)}",
            column=names,
        )


def value_of_folder(folder: str) -> str | None:
    """Return the value that Hudi reads from a folder, in Hive's style and URL-encoded or not; None for the default."""
    text = unescape_path_name(folder.partition("=")[2] if "=" in folder else folder)
    return None if text == DEFAULT_PARTITION else text


def format_key_values(column: pa.Array, name: str) -> pa.Array:
    """Return the values of a column of the record key as a string array; null stays null.

    Besides the types of :func:`format_values`, decimals and floating-point numbers are supported.

    Raises:
        SchemaError: another type.
        DataError: as for :func:`format_values`; or a number whose text differs between releases of Java.

    Source: HoodieAvroUtils.getNestedFieldValAsString, BuiltinKeyGenerator, Hudi 0.15.0 and 1.2.0.
    """
    if pa.types.is_dictionary(column.type):
        return format_key_values(column.cast(column.type.value_type), name)
    if pa.types.is_decimal(column.type):
        return column.cast(pa.string())  # in Arrow as in BigDecimal.toString
    if pa.types.is_float32(column.type) or pa.types.is_float64(column.type):
        return format_floats(column, name)
    return format_values(column, name, "string, int, long, boolean, date, decimal, float or double")


def format_values(column: pa.Array, name: str, expected: str = "string, int, long, boolean or date") -> pa.Array:
    """Return the values of a column as a string array; null stays null.

    Strings, signed integers, booleans and dates are supported, also dictionary-encoded.

    Raises:
        SchemaError: another type.
        DataError: a date outside the years 1 to 9999, which Java writes with a sign.

    Source: HoodieAvroUtils.getNestedFieldValAsString, BuiltinKeyGenerator, Hudi 1.2.0.
    """
    if pa.types.is_dictionary(column.type):
        return format_values(column.cast(column.type.value_type), name)
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_date(column.type):
        return _date_text(column.cast(pa.date32()), name)
    if not _has_fixed_text(column.type):
        raise SchemaError(
            f"column {name} of type {column.type} cannot be part of a record key or partition path: expected "
            f"{expected}; Hudi's writers do not agree on one text of other types: make a column with the text that you "
            "want, and use that",
            column=name,
        )
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _has_fixed_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_signed_integer(kind)
        or pa.types.is_boolean(kind)
    )


def _date_text(column: pa.Array, name: str) -> pa.Array:
    days = column.cast(pa.int32())
    low, high = (value.as_py() for value in pc.min_max(days).values())
    epoch = date(1970, 1, 1).toordinal()
    if low is not None and not _YEAR_ONE.toordinal() - epoch <= low <= high <= _YEAR_9999.toordinal() - epoch:
        raise DataError(f"column {name}: dates outside the years 1 to 9999 have no text in Hudi", column=name)
    return column.cast(pa.string())
