"""The blocks of a slice -> rows, over its base file.

Pure and columnar: keys and ordering values in arrays, rows gathered once at the end.  Rules: spec/merging.md.
"""

from hudiformat.merge.blocks import counting_blocks
from hudiformat.merge.candidates import Candidates, MergeRule, read_candidates
from hudiformat.merge.slice import merge_slice

__all__ = ["Candidates", "MergeRule", "counting_blocks", "merge_slice", "read_candidates"]
