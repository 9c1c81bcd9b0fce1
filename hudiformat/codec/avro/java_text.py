"""Format floating-point numbers as Java writes them: ``1.0``, ``2.0E10``, ``1.0E-5``, ``NaN``, ``Infinity``.

Source: java.lang.Double.toString, java.lang.Float.toString.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PLAIN_FROM, _PLAIN_BELOW = -3, 7  # powers of ten


def java_float(value: float | None, *, shortest: str | None = None) -> str | None:
    """Return the text of a double; None for None.

    *shortest* is the shortest text that gives the number back, if that is not Python's, as for a float.

    Source: java.lang.Double.toString.
    """
    if value is None:
        return None
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if not value:
        return f"{sign}0.0"
    _, digits, exponent = Decimal(shortest or repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    magnitude = len(text) + int(exponent) - 1
    if not _PLAIN_FROM <= magnitude < _PLAIN_BELOW:
        return f"{sign}{text[0]}.{text[1:] or '0'}E{magnitude}"
    whole = text[: magnitude + 1].ljust(magnitude + 1, "0") if magnitude >= 0 else "0"
    part = text[magnitude + 1 :] if magnitude >= 0 else "0" * (-magnitude - 1) + text
    return f"{sign}{whole}.{part or '0'}"


def java_floats(array: pa.Array) -> pa.Array:
    """Return the texts of an array of floats or doubles.

    From 0.001 up to ten million Arrow's texts are Java's, except for the ``.0`` of whole numbers.  All other numbers
    are formatted one by one, each distinct value once.
    """
    wide = array.cast(pa.float64())
    values = np.asarray(pc.fill_null(wide, 1.0))
    size = np.abs(values)
    is_plain = (size >= 10.0**_PLAIN_FROM) & (size < 10.0**_PLAIN_BELOW)
    texts = array.cast(pa.string())
    whole = pc.and_(pc.invert(pc.match_substring(texts, ".")), pa.array(is_plain))
    texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if is_plain.all():
        return texts
    others = array.filter(pa.array(~is_plain)).dictionary_encode()
    shortest = others.dictionary.cast(pa.string()).to_pylist()
    made = [
        java_float(value, shortest=text if math.isfinite(value) else None)
        for value, text in zip(others.dictionary.to_pylist(), shortest, strict=True)
    ]
    return pc.replace_with_mask(texts, pa.array(~is_plain), pa.array(made, pa.string()).take(others.indices))
