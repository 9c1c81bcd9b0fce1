"""Numbers as Java writes them."""

from __future__ import annotations

import math
from decimal import Decimal

_PLAIN_FROM, _PLAIN_BELOW = -3, 7  # powers of ten


def java_float(value: float | None, *, shortest: str | None = None) -> str | None:
    """The text of a double; *shortest* is the shortest one that gives it back, where that is not Python's.

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
