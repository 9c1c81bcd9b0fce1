"""The text of a floating-point number in Java: ``1.0``, ``1.0E7``, ``1.0E-4``, ``NaN``.

It has the fewest digits that only this number has, and at least two.  Before Java 19, some numbers had more digits than
that: 2^54 to 2^86 for a double, 2^25 to 2^86 for a float, and those below the smallest normal number.  Their text is
refused, because it depends on the Java that runs Hudi.

Source: Double.toString, Float.toString; JDK-4511638.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError

_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7
_UNCERTAIN_TO = 2.0**86


def format_floats(column: pa.Array, name: str) -> pa.Array:
    """Return the values of a float or double column as a string array; null stays null.

    Raises:
        DataError: a value whose text depends on the release of Java.
    """
    _refuse_uncertain(column, name)
    size = pc.abs(column)
    is_plain = pc.and_(
        pc.greater_equal(size, pa.scalar(_PLAIN_FROM, column.type)), pc.less(size, pa.scalar(_PLAIN_TO, column.type))
    )
    text = column.cast(pa.string())
    plain = pc.if_else(pc.match_substring(text, "."), text, pc.binary_join_element_wise(text, ".0", ""))
    others = pc.fill_null(pc.invert(is_plain), False)
    written = [_format(value) for value in column.filter(others).to_numpy(zero_copy_only=False)]
    return pc.replace_with_mask(plain, others, pa.array(written, pa.string()))


def _refuse_uncertain(column: pa.Array, name: str) -> None:
    is_double = pa.types.is_float64(column.type)
    smallest = np.finfo(np.float64 if is_double else np.float32).tiny
    values = np.abs(column.drop_null().to_numpy(zero_copy_only=False))
    uncertain = (values >= 2.0 ** (54 if is_double else 25)) & (values < _UNCERTAIN_TO)
    uncertain |= (values > 0) & (values < smallest)
    if uncertain.any():
        first = values[uncertain.argmax()]
        raise DataError(
            f"record key {name}: {int(uncertain.sum())} values such as {first!s} have a text that depends on the "
            "release of Java that runs Hudi, so a row could be there twice; make a column with the text that you want, "
            "and use that as key",
            column=name,
        )


def _format(value: np.floating) -> str:
    """Return the text of a number that is not written as a plain decimal, of zero, or of what is no number."""
    if np.isnan(value):
        return "NaN"
    sign = "-" if np.signbit(value) else ""
    if np.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    digits, _, exponent = np.format_float_scientific(abs(value), unique=True, trim="0").partition("e")
    return f"{sign}{digits}E{int(exponent)}"
