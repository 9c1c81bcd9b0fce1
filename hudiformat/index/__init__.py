"""Record key -> file group."""

from hudiformat.index.existing import ExistingRows
from hudiformat.index.global_index import route
from hudiformat.index.rows import (
    NEW,
    NOT_IN_BASE_FILE,
    Booleans,
    Integers,
    KeyedRows,
    LocatedRows,
    in_one_piece,
    rows_by_code,
    rows_by_value,
    taken,
)
from hudiformat.index.tagging import PartitionIndex, Tagger

__all__ = [
    "NEW",
    "NOT_IN_BASE_FILE",
    "Booleans",
    "ExistingRows",
    "Integers",
    "KeyedRows",
    "LocatedRows",
    "PartitionIndex",
    "Tagger",
    "in_one_piece",
    "route",
    "rows_by_code",
    "rows_by_value",
    "taken",
]
