"""Cast values to another type, as Hudi's readers and writers do when the type of a column has changed.

Numbers and dates become texts as Java writes them; a float becomes a double by way of its text, so that 1.1 stays 1.1.

Source: HoodieAvroUtils.rewritePrimaryType, HoodieArrayWritableSchemaUtils, SchemaChangeUtils, Hudi 1.2.0;
spec/schema-evolution.md.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.codec.avro.java_text import java_floats

_TIME_UNITS = ("s", "ms", "us", "ns")  # from coarse to fine
_TEXT = (pat.is_string, pat.is_large_string, pat.is_string_view)
_BINARY = (pat.is_binary, pat.is_large_binary, pat.is_binary_view, pat.is_fixed_size_binary)
_MAX_DIGITS = 38


def can_cast(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether :func:`cast` can cast values of a type to another; single values may still not fit."""
    if _is_text(given) and (pat.is_date32(kind) or pat.is_decimal(kind)):
        return True
    if _is_number(given) and (_is_text(kind) or pat.is_decimal(kind)):
        return True
    if pat.is_date32(given) and _is_text(kind):
        return True
    if pat.is_decimal(given) and _is_text(kind):
        return True
    return _is_wider(given, kind)


def is_mislabelled(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether a file's type is a label that Hudi wrote by mistake for a column of type *kind* of the table.

    Versions before 1.1 wrote milliseconds under the label of microseconds, and local timestamps as bare longs.  The
    number counts in the table's unit.

    Source: AvroSchemaRepair, SchemaRepair of hudi-parquet, Hudi 1.2.0.
    """
    if not pat.is_timestamp(kind):
        return False
    if kind.tz is None:
        return pat.is_int64(stored)
    return pat.is_timestamp(stored) and stored.tz is not None and (stored.unit, kind.unit) == ("us", "ms")


def can_cast_back(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether values of type *stored* can be what :func:`cast` makes of values of type *kind*."""
    return can_cast(kind, stored) and not can_cast(stored, kind)


def cast_back(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the values of type *kind* that :func:`cast` has made *array* of.

    A compaction that was planned before a column was widened, and ran afterwards, may have written the wide type; a
    query of a moment between reads the column as it was.

    Raises:
        pyarrow.ArrowInvalid: a value does not tell the one it was made of.
    """
    given = array.type
    if pat.is_floating(given) and pat.is_integer(kind):
        whole = 1 << (53 if pat.is_float64(given) else 24)  # beyond, several integers become one number
        bounds = pc.min_max(array).as_py()
        if bounds["min"] is not None and not -whole < bounds["min"] <= bounds["max"] < whole:
            raise pa.ArrowInvalid(f"numbers from {bounds['min']} to {bounds['max']} have been rounded")
    back = array.cast(kind, safe=not pat.is_floating(kind))
    if not cast(back, given).equals(array):
        raise pa.ArrowInvalid(f"values that no {kind} becomes")
    return back


def keeps_order(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether values that are cast compare as before, so that bounds stay bounds.

    Numbers do not compare as their texts do: 10 is above 9, and "10" is below "9".
    """
    is_text = any(test(given) for test in (*_TEXT, *_BINARY))
    return is_text == any(test(kind) for test in (*_TEXT, *_BINARY))


def cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the values of *array* as *kind*, a type for which :func:`can_cast` is true.

    Raises:
        pyarrow.ArrowInvalid: a value does not fit: a text that is no number, a number with too many digits.
    """
    given = array.type
    if pat.is_integer(given) and pat.is_floating(kind):
        return array.cast(kind, safe=False)  # large ones are rounded
    if pat.is_integer(given) and pat.is_decimal(kind):
        digits = max(kind.precision, min(20 + kind.scale, _MAX_DIGITS))  # pyarrow wants room for every integer
        return array.cast(pa.decimal128(digits, kind.scale)).cast(kind)
    if pat.is_floating(given) and _is_text(kind):
        return java_floats(array).cast(kind)
    by_text = pat.is_decimal(kind) or (pat.is_float32(given) and pat.is_float64(kind))
    if pat.is_floating(given) and by_text:
        return array.cast(pa.string()).cast(kind)
    if pat.is_decimal(given) and _is_text(kind):
        return _decimal_texts(array).cast(kind)
    return array.cast(kind)


def _decimal_texts(array: pa.Array) -> pa.Array:
    """Return decimals as texts without an exponent; Arrow writes one for small numbers."""
    texts = array.cast(pa.string())
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    different = texts.dictionary_encode()
    plain = [None if text is None else format(Decimal(text), "f") for text in different.dictionary.to_pylist()]
    return pa.array(plain, pa.string()).take(different.indices)


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in _TEXT)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pat.is_integer(kind) or pat.is_floating(kind))


def _is_wider(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether every value of one type has a counterpart in the other."""
    if pat.is_integer(given):
        bits = given.bit_width + pat.is_unsigned_integer(given)
        whole = pat.is_signed_integer(kind) and kind.bit_width >= bits
        return bool(whole) or (bits <= 64 and (pat.is_float32(kind) or pat.is_float64(kind)))  # noqa: PLR2004 - bits of Java's long
    if pat.is_floating(given) and pat.is_floating(kind):
        return int(given.bit_width) <= int(kind.bit_width)
    if any(test(given) for test in (*_TEXT, *_BINARY)):
        text = _is_text(kind) and not pat.is_fixed_size_binary(given)
        return text or any(test(kind) for test in _BINARY[:3])
    if pat.is_decimal(given) and pat.is_decimal(kind):
        whole = kind.precision - kind.scale >= given.precision - given.scale
        return bool(whole and kind.scale >= given.scale)
    return _is_finer(given, kind)


def _is_finer(given: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether both are dates, times of day or timestamps, and the unit of the second is at least as fine."""
    if pat.is_timestamp(given) and pat.is_timestamp(kind):
        if (given.tz is None) != (kind.tz is None):
            return False
    elif not (pat.is_time(given) and pat.is_time(kind)):
        return bool(pat.is_date(given) and pat.is_date(kind))
    return _TIME_UNITS.index(given.unit) <= _TIME_UNITS.index(kind.unit)
