"""Hash record keys to buckets: Java's ``List<String>.hashCode()``, a column at a time.

Java hashes the UTF-16 code units of a string, so a character beyond the basic plane counts as two.  Sums wrap at 32
bits; numpy's unsigned integers do so without a warning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import OptionError

Numbers = npt.NDArray[np.integer[Any]]

_MAX_INT = 0x7FFFFFFF
_FACTOR = np.uint32(31)
_LONG = 256  # code units: for longer strings a table of weights is faster than a step for each unit
_ROWS_AT_ONCE = 1 << 12  # the code units of this many keys stay in the processor's cache: twice as fast as 1 << 16
_CONTINUATION = 0x80  # UTF-8: the first byte that no ASCII character has, and the mark of a continuation byte
_FOUR_BYTE_LEAD = 0xF0
_COMMA = ord(",")
_PLACEHOLDERS = {"__null__": None, "__empty__": ""}


def bucket_numbers(columns: Sequence[pa.Array], buckets: int) -> npt.NDArray[np.int32]:
    """Return the bucket of each row, from string columns that hold the values of the hash fields, in their order.

    Raises:
        OptionError: *buckets* is not positive.

    Source: BucketIdentifier.getBucketId(List, int), Hudi 1.2.0.
    """
    if buckets <= 0:
        raise OptionError(
            f"expected a positive number of buckets, found {buckets}", option="hoodie.bucket.index.num.buckets"
        )
    positive = list_hashes(columns) & np.uint32(_MAX_INT)
    numbers: npt.NDArray[np.int32] = (positive % np.uint32(buckets)).astype(np.int32)
    return numbers


def record_key_buckets(record_keys: pa.Array, hash_fields: Sequence[str], buckets: int) -> npt.NDArray[np.int32]:
    """Return the bucket of each record key, from the key's text alone, as Hudi's index computes it.

    A key that contains both ``,`` and ``:`` is split into ``field:value`` pairs, even if it was a single value.

    Raises:
        OptionError: *buckets* is not positive.

    Source: BucketIdentifier.getBucketId(String, List, int), Hudi 1.2.0.
    """
    numbers = bucket_numbers([record_keys], buckets)
    rows = composite_keys(record_keys)
    if len(rows):
        of_columns = partial(bucket_numbers, buckets=buckets)
        numbers[rows] = hash_composite_keys(record_keys.take(pa.array(rows)), hash_fields, of_columns)
    return numbers


def composite_keys(record_keys: pa.Array) -> npt.NDArray[np.int64]:
    """Return the indices of the keys that contain both ``,`` and ``:``."""
    if not (
        _utf8(record_keys.cast(pa.large_string()))[0] == _COMMA
    ).any():  # takes a fraction of the time of two searches
        return np.empty(0, np.int64)
    composite = pc.and_(pc.match_substring(record_keys, ","), pc.match_substring(record_keys, ":"))
    return np.flatnonzero(composite.to_numpy(zero_copy_only=False))


def list_hashes(columns: Sequence[pa.Array]) -> npt.NDArray[np.uint32]:
    """Return the 32 bits of ``List.hashCode()`` of each row's strings; a null counts 0, as an empty string does.

    Source: java.util.AbstractList.hashCode.
    """
    hashes = np.ones(len(columns[0]), np.uint32)
    for column in columns:
        hashes = hashes * _FACTOR + string_hashes(column)
    return hashes


def string_hashes(column: pa.Array) -> npt.NDArray[np.uint32]:
    """Return the 32 bits of ``String.hashCode()`` of each value of a string array; 0 for null.

    Source: java.lang.String.hashCode.
    """
    text = pc.fill_null(column.cast(pa.large_string()), "")
    parts = [_hash_slice(text.slice(start, _ROWS_AT_ONCE)) for start in range(0, len(text), _ROWS_AT_ONCE)]
    return np.concatenate(parts) if parts else np.empty(0, np.uint32)


def _hash_slice(text: pa.Array) -> npt.NDArray[np.uint32]:
    """Return the hashes of a few thousand strings.

    The hash of "ab" is 97 * 31 + 98.  For the strings "ab", "" and "c":

        units        [97, 98, 99]
        ends         [2, 2, 3]      starts [0, 0, 2]      lengths [2, 0, 1]
        following    [1, 0, 0]      the units behind each unit in its string
        products     [97 * 31, 98, 99], which are summed from each start: 3105, 0 (an empty string) and 99
    """
    units, ends = _code_units(text)
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    lengths = ends - starts
    hashes = np.zeros(len(ends), np.uint32)
    if (lengths == lengths[0]).all() and lengths[0] <= _LONG:
        for column in units.reshape(len(ends), -1).T:
            hashes *= _FACTOR
            hashes += column
        return hashes
    filled = np.flatnonzero(lengths)  # reduceat has no empty segments
    if len(filled) == 0:
        return hashes
    # A unit's weight is 31 to the number of units that follow it in its string.
    powers = np.full(int(lengths.max()), _FACTOR)
    powers[0] = 1
    powers = np.cumprod(powers, dtype=np.uint32)
    following = np.repeat(ends, lengths) - np.arange(1, len(units) + 1)
    hashes[filled] = np.add.reduceat(units.astype(np.uint32) * powers[following], starts[filled])
    return hashes


def _code_units(text: pa.Array) -> tuple[npt.NDArray[np.unsignedinteger], npt.NDArray[np.int64]]:
    """Return the UTF-16 code units of all values, one after the other, and where each value ends in them."""
    utf8, ends = _utf8(text)
    if not (utf8 & _CONTINUATION).any():
        return utf8, ends
    utf16 = utf8.tobytes().decode("utf-8").encode("utf-16-le")
    # The first byte of a character counts its units: two if the character has four bytes.  Continuation bytes count 0.
    counts = np.where((utf8 & 0xC0) == _CONTINUATION, 0, np.where(utf8 >= _FOUR_BYTE_LEAD, 2, 1))
    units_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return np.frombuffer(utf16, "<u2"), units_before[ends]


def _utf8(text: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of all values of a large string array, one after the other, and where each value ends."""
    _, offsets_buffer, data = text.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[text.offset : text.offset + len(text) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    utf8 = np.frombuffer(data, np.uint8, last - first, first) if last > first else np.empty(0, np.uint8)
    return utf8, offsets[1:] - first


def hash_composite_keys(
    keys: pa.Array, hash_fields: Sequence[str], of_columns: Callable[[Sequence[pa.Array]], Numbers]
) -> Numbers:
    """Return the result of *of_columns* for the values of the hash fields in keys with both separators.

    Keys of the usual form are hashed a column at a time, all others one by one.
    """
    names = [pair.split(":", 1)[0] for pair in keys[0].as_py().split(",") if ":" in pair]
    # No separator within a value: such a key can be split in one way only.
    pattern = "^" + ",".join(f"{re.escape(name)}:(?P<f{index}>[^,:]*)" for index, name in enumerate(names)) + r"\z"
    fields = pc.extract_regex(keys, pattern=pattern)
    wanted = [index for index, name in enumerate(names) if _is_wanted(name, hash_fields)]
    columns = [_without_placeholders(pc.struct_field(fields, [index])) for index in wanted]
    numbers = of_columns(columns or [keys])
    for row in np.flatnonzero(~fields.is_valid().to_numpy(zero_copy_only=False)):
        values = hash_key_values(keys[int(row)].as_py(), hash_fields)
        numbers[row] = of_columns([pa.array([value], pa.string()) for value in values])[0]
    return numbers


def _without_placeholders(values: pa.Array) -> pa.Array:
    for placeholder, meaning in _PLACEHOLDERS.items():
        values = pc.if_else(pc.equal(values, placeholder), pa.scalar(meaning, pa.string()), values)
    return values


def hash_key_values(record_key: str, hash_fields: Sequence[str]) -> list[str | None]:
    """Return the values within a record key that a bucket index with *hash_fields* hashes, in the order of the key.

    A value may contain both separators: it ends at the last ``,`` before the next ``:`` that has a ``,`` before it.  A
    key without pairs, or with none of the fields, is hashed as a whole.  If the last value contains a ``:`` and is no
    hash field, Hudi never returns; here that value ends the key.

    Source: KeyGenUtils.extractRecordKeysByFields, Hudi 1.2.0.
    """
    if "," not in record_key or ":" not in record_key:
        return [record_key]
    values: list[str | None] = []
    start = 0
    while start < len(record_key):
        colon = record_key.index(":", start)  # always found, because a value ends only before another pair
        end = _value_end(record_key, colon)
        if _is_wanted(record_key[start:colon], hash_fields):
            value = record_key[colon + 1 : end]
            values.append(_PLACEHOLDERS.get(value, value))
        start = end + 1
    return values or [record_key]


def _is_wanted(field: str, hash_fields: Sequence[str]) -> bool:
    return field in hash_fields or list(hash_fields) in ([], [""])


def _value_end(record_key: str, colon: int) -> int:
    """Return where the value that begins after *colon* ends: at a comma, or at the end of the key."""
    following = record_key.find(":", colon + 1)
    while following >= 0:
        comma = record_key.rfind(",", colon + 1, following)
        if comma >= 0:
            return comma
        following = record_key.find(":", following + 1)
    return len(record_key)
