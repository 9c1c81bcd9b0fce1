"""Number the cells of a grid of several dimensions along a curve: neighbours on the curve are neighbours in the grid.

Pure.  Source of the Hilbert curve: J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.uint64]
"""The coordinates of cells in one dimension."""


def z_order(dimensions: Sequence[Cells], bits: int) -> Cells:
    """Return the number of each cell on the z-order curve: the bits of its coordinates in turn, the highest bits first.

    Coordinates have *bits* bits; all dimensions together have at most 64.  For example, the cell (2, 3), in bits (10,
    11), has the number 13, in bits 1 1 0 1: the high bits of both coordinates, then the low ones.
    """
    number = np.zeros(len(dimensions[0]), np.uint64)
    for bit in range(bits - 1, -1, -1):
        for cells in dimensions:
            number = (number << np.uint64(1)) | ((cells >> np.uint64(bit)) & np.uint64(1))
    return number


def hilbert(dimensions: Sequence[Cells], bits: int) -> Cells:
    """Return the number of each cell on the Hilbert curve, on which consecutive cells are always neighbours."""
    axes = [cells.copy() for cells in dimensions]
    for bit in range(bits - 1, 0, -1):
        chosen, below = np.uint64(1 << bit), np.uint64((1 << bit) - 1)
        for at, axis in enumerate(axes):
            is_set = (axis & chosen) != 0
            swapped = np.where(is_set, np.uint64(0), (axes[0] ^ axis) & below)
            axes[0] ^= np.where(is_set, below, swapped)
            if at:
                axes[at] ^= swapped
    for at in range(1, len(axes)):
        axes[at] ^= axes[at - 1]
    turned = np.zeros(len(axes[0]), np.uint64)
    for bit in range(bits - 1, 0, -1):
        is_set = (axes[-1] & np.uint64(1 << bit)) != 0
        turned ^= np.where(is_set, np.uint64((1 << bit) - 1), np.uint64(0))
    return z_order([axis ^ turned for axis in axes], bits)
