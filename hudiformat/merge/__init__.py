"""Merging a file slice: the log blocks of the slice and the rows of its base file -> the rows of the slice.

Pure and columnar: keys and ordering values are arrays, and rows are gathered once at the end.  Rules: spec/merging.md.
"""

from hudiformat.merge.candidates import (
    Candidates,
    candidates_of,
    counting_blocks,
    delete_schema,
    deletes_of,
    read_candidates,
    read_records,
)
from hudiformat.merge.keys import KeyIndex, RowSource, all_differ, combine, combined_rows, key_hashes
from hudiformat.merge.rule import MergeRule, PartialUpdate, RecordMerger, comparable, without_ordering
from hudiformat.merge.slice import Survivors, merge_slice, survivors

__all__ = [
    "Candidates",
    "KeyIndex",
    "MergeRule",
    "PartialUpdate",
    "RecordMerger",
    "RowSource",
    "Survivors",
    "all_differ",
    "candidates_of",
    "combine",
    "combined_rows",
    "comparable",
    "counting_blocks",
    "delete_schema",
    "deletes_of",
    "key_hashes",
    "merge_slice",
    "read_candidates",
    "read_records",
    "survivors",
    "without_ordering",
]
