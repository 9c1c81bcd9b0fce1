"""Record positions: a set of 64-bit row numbers in a header value.

Base64 of a roaring bitmap in its portable form, run-optimised.  Source: LogReaderUtils.encodePositions.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from hudiformat.errors import CorruptBlockError

Positions = npt.NDArray[np.uint64]


def encode_positions(positions: Iterable[int]) -> str:
    """The header value for *positions*, which are row numbers in the base file; the same set gives the same text."""
    bitmap = BitMap64(positions)
    bitmap.run_optimize()
    return base64.b64encode(bitmap.serialize()).decode("ascii")


def decode_positions(text: str) -> Positions:
    """The positions that a header value holds, in ascending order.

    Raises:
        CorruptBlockError: it is no bitmap.
    """
    try:
        data = base64.b64decode(text, validate=True)
        if not data:
            raise ValueError("no bytes")  # noqa: TRY301 - pyroaring looks at the first
        bitmap = BitMap64.deserialize(data)
    except (ValueError, binascii.Error) as error:
        raise CorruptBlockError(f"record positions that are no roaring bitmap: {error}") from error
    return np.fromiter(bitmap, np.uint64, len(bitmap))
