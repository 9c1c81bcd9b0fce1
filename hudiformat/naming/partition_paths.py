"""Partition paths: the folder, relative to the table, that a row's partition values name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from hudiformat.errors import DataError, NameFormatError
from hudiformat.naming.value_text import value_text

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"

# Hive's list: the ASCII control characters and what has a meaning in paths or shells.  No other character is escaped.
_ESCAPED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
_ESCAPE = re.compile("%([0-9a-fA-F]{2})")


def format_partition_path(
    values: Sequence[str | None], fields: Sequence[str], *, hive_style: bool, url_encode: bool
) -> str:
    """The folder of one partition, ``2024/emea`` or, in Hive's style, ``year=2024/region=emea``.

    A value that is null or empty is called ``__HIVE_DEFAULT_PARTITION__``.  A ``/`` in a value that is not URL-encoded
    makes folders of its own, as in Hudi.  No fields give ``""``, the table's own folder.

    Raises:
        DataError: a path that would leave the table or end up in ``.hoodie``.

    Source: KeyGenUtils.getRecordPartitionPath, PartitionPathEncodeUtils.escapePathName, Hudi 1.2.0.
    """
    segments = []
    for value, field in zip(values, fields, strict=True):
        text = DEFAULT_PARTITION if not value else escape_path_name(value) if url_encode else value
        segments.append(f"{field}={text}" if hive_style else text)
    path = "/".join(segments)
    _refuse_unsafe(path, fields)
    return path


def parse_partition_path(path: str, fields: Sequence[str], *, hive_style: bool, url_encode: bool) -> list[str | None]:
    """The values that a partition's folder stands for, null for the default name.

    With one field and no URL encoding the whole path is its value, slashes included.

    Raises:
        NameFormatError: not as many folders as fields, or not the fields' names in Hive's style.
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
    """The partition path of each row, a string array; each distinct path is made once.  At least one field.

    Raises:
        SchemaError: a column of a type that has no fixed text.
        DataError: a path that would leave the table or end up in ``.hoodie``.

    Source: as for :func:`format_partition_path`.
    """
    texts = [value_text(column, field) for column, field in zip(columns, fields, strict=True)]
    first_rows, codes = _distinct_rows(texts)
    distinct = zip(*(text.take(first_rows).to_pylist() for text in texts), strict=True)
    paths = [format_partition_path(row, fields, hive_style=hive_style, url_encode=url_encode) for row in distinct]
    return pa.array(paths, pa.string()).take(codes)


def _distinct_rows(texts: Sequence[pa.Array]) -> tuple[pa.Array, pa.Array]:
    """A row for each distinct combination of values, and for each row the combination that it has."""
    codes = np.zeros(len(texts[0]), np.int64)
    first_rows = np.empty(0, np.int64)
    for text in texts:
        encoded = text.dictionary_encode(null_encoding="encode")
        # Codes stay below the number of rows, so that their product with another column's fits.
        combined = codes * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy()
        _, first_rows, codes = np.unique(combined, return_index=True, return_inverse=True)
    return pa.array(first_rows), pa.array(codes)


def escape_path_name(text: str) -> str:
    """*text* with the characters that Hive escapes as ``%XX``.

    Source: PartitionPathEncodeUtils.escapePathName, Hudi 1.2.0.
    """
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def unescape_path_name(text: str) -> str:
    """*text* with each ``%XX`` as the character of that number; other ``%`` stay.

    Source: PartitionPathEncodeUtils.unescapePathName, Hudi 1.2.0.
    """
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def _refuse_unsafe(path: str, fields: Sequence[str]) -> None:
    folders = path.split("/")
    if fields and (folders[0] == ".hoodie" or not all(folders) or "." in folders or ".." in folders):
        names = ", ".join(fields)
        raise DataError(
            f"partition {names}: the values give the path {path!r}, which is no folder of the table's data;"
            " URL-encode partition paths, or change the values",
            column=names,
        )
