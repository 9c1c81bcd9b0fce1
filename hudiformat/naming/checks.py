"""Checks of names that stand in the metadata of a table, which may be forged.

The functions ``checked_*`` return the text that they are given, or raise a NameFormatError.
"""

from __future__ import annotations

import re

from hudiformat.errors import NameFormatError
from hudiformat.naming.file_names import base_name, parse_data_file
from hudiformat.naming.instants import is_instant
from hudiformat.wire import is_below_root

_SHOWN = 200
_FILE_ID = re.compile(r"[^._/\0]+")
_OF_OTHERS = re.compile(r"[^./\0][^/\0]*\.(parquet|orc)")
"""The name of a registered file, in the folder: plans of Hudi's have it, and it is the id of the file group."""
_META_FOLDER = ".hoodie"


def check_instant(text: str) -> str:
    """Return *text* if it is an instant.

    Raises:
        NameFormatError: it is not.
    """
    if not is_instant(text):
        raise _name_error("an instant", text)
    return text


def check_path_in_table(text: str) -> str:
    """Return *text* if it is the path of something in the table, relative to it.

    Raises:
        NameFormatError: it is absolute, contains ``..`` or is no path.
    """
    if not is_below_root(text):
        raise _name_error("a path within the table", text)
    return text


def check_partition_path(text: str) -> str:
    """Return *text* if it can be the path of a partition: the empty path, or a folder of the table that holds data.

    Raises:
        NameFormatError: it leads out of the table, or into ``.hoodie``.
    """
    if not is_below_root(text) or text.partition("/")[0] == _META_FOLDER:
        raise _name_error("the path of a partition", text)
    return text


def check_data_file(text: str) -> str:
    """Return *text* if it is the name of a data file, Hudi's or registered, or a path or URI that ends in such a name.

    Raises:
        NameFormatError: the last part is no such name.
    """
    name = base_name(text)
    if (parse_data_file(name) is None and not _OF_OTHERS.fullmatch(name)) or not is_below_root(name):
        raise _name_error("the name or path of a data file", text)
    return text


def check_file_id(text: str) -> str:
    """Return *text* if it can be the id of a file group in the name of a file.

    Raises:
        NameFormatError: it contains ``.``, ``_``, ``/`` or a NUL, or is empty, and no name of a registered file.
    """
    if not (_FILE_ID.fullmatch(text) or _OF_OTHERS.fullmatch(text)) or not is_below_root(text):
        raise _name_error("a file id", text)
    return text


def _name_error(expected: str, found: str) -> NameFormatError:
    beginning = f"{found[:_SHOWN]!r}"
    return NameFormatError(f"expected {expected}, found {beginning}", name=beginning)
