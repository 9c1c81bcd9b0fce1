"""Record key -> file group."""

from hudiformat.index.buckets import numbers_by_path
from hudiformat.index.existing import GROUP, PATH, ExistingRows
from hudiformat.index.global_index import route
from hudiformat.index.hash_ring import REPLACE, HashRing, Node, format_nodes, parse_nodes
from hudiformat.index.known_keys import KEPT, Kept
from hudiformat.index.resizing import ResizeLimits, planned_resizes
from hudiformat.index.ring_files import first_ring, mark_committed, ring_of, save_ring
from hudiformat.index.rows import (
    NEW,
    NOT_IN_BASE_FILE,
    Booleans,
    Integers,
    KeyedRows,
    LocatedRows,
    SortedRows,
    by_group,
    in_one_piece,
    rows_by_code,
    rows_by_value,
    sorted_by_group,
    taken,
)
from hudiformat.index.tagging import PartitionIndex, Tagger

__all__ = [
    "GROUP",
    "KEPT",
    "NEW",
    "NOT_IN_BASE_FILE",
    "PATH",
    "REPLACE",
    "Booleans",
    "ExistingRows",
    "HashRing",
    "Integers",
    "Kept",
    "KeyedRows",
    "LocatedRows",
    "Node",
    "PartitionIndex",
    "ResizeLimits",
    "SortedRows",
    "Tagger",
    "by_group",
    "first_ring",
    "format_nodes",
    "in_one_piece",
    "mark_committed",
    "numbers_by_path",
    "parse_nodes",
    "planned_resizes",
    "ring_of",
    "route",
    "rows_by_code",
    "rows_by_value",
    "save_ring",
    "sorted_by_group",
    "taken",
]
