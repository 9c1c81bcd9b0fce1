"""The constants that the decoding kernels and their caller share: offsets in a program, and the kinds of operations.

A program is a table with one row per operation, in the order in which an operation's values lie in a record.  A row has
:data:`SIZE` bytes; these are the offsets of its 64-bit numbers.
"""

from __future__ import annotations

KIND = 0
NULL = 8  # the byte that means null: 0 or 2; -1 if there is no union with null
NEXT = 16  # the number of the operation behind the value and all that is in it
FRAME = 24  # the frame whose count is the row
ARGUMENT = 32  # of the kind, see below
VALUES = 40  # the address of the values, or of the offsets of texts and lists; of a skipped list 0
VALID = 48  # the address of a byte for each row, 1 unless it is null; 0 if there are none
HAS_NULLS = 56  # 1 once a null was read
BYTES = 64  # the address of a text column's bytes
ROOM = 72  # the number of bytes for which there is memory
USED = 80  # the number of bytes that are used
LEFT = 88  # items of a list that are still to be read
SIZE = 128

# The kinds of operations, and the meaning of their argument.
RECORD = 0  # a record whose validity is kept; its fields follow
BOOLEAN = 1  # a byte for each row
INT = 2  # the upper limit of a time of day; 0 for none
LONG = 3  # as INT
FOUR = 4  # a float
EIGHT = 5  # a double
TEXT = 6  # 1 for strings, 0 for bytes
VIEW = 7  # as TEXT; for Arrow's views
FIXED = 8  # the number of bytes
DECIMAL = 9  # the number of bytes; 0 if it stands in front of them
ENUM = 10  # the number of symbols
LIST = 11  # the frame of the items, whose operations follow, with END behind them
END = 12  # the number of the list's operation
SKIP_RUN = 13  # skipped values, one of the three kinds below each, are the operations up to NEXT; no argument
SKIP_VARINT = 14
SKIP_TEXT = 15
SKIP_FIXED = 16  # the number of bytes

# A frame is the rows of the records, or of the items of a list.  A row of this table has two numbers.
COUNT = 0  # rows so far
CAPACITY = 8  # rows for which there is memory
FRAME_SIZE = 16

PADDING = 64
"""Bytes that can be read behind the end of every record."""

SPARE = 32
"""Bytes that may be overwritten behind the last text of a column."""

DONE = 0
BAD = -1
NEAR_END = -3
"""Results of kernels: ``NEAR_END`` where fewer bytes than ``PADDING`` follow a record, and anything above 0 is one more
than the operation that needs more memory."""
