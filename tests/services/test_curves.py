"""Curves visit each cell once; on the Hilbert curve the next cell is always a neighbour."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hudiformat.services.ordering import hilbert, z_order

SIZES = [(1, 6), (2, 5), (3, 3), (4, 2), (6, 1)]


def grid(dimensions: int, bits: int) -> np.ndarray:
    """All cells; the coordinates of one dimension in each row."""
    cells: np.ndarray = np.array(list(product(range(1 << bits), repeat=dimensions)), np.uint64).T
    return cells


def test_the_z_order_curve_takes_the_bits_in_turn() -> None:
    (number,) = z_order([np.array([0b101], np.uint64), np.array([0b011], np.uint64)], 3)
    assert number == 0b100111


@pytest.mark.parametrize(("dimensions", "bits"), SIZES)
def test_each_cell_has_a_number_of_its_own(dimensions: int, bits: int) -> None:
    cells = grid(dimensions, bits)
    for curve in (z_order, hilbert):
        assert sorted(curve(list(cells), bits).tolist()) == list(range(1 << dimensions * bits))


@pytest.mark.parametrize(("dimensions", "bits"), SIZES)
def test_the_hilbert_curve_goes_from_neighbour_to_neighbour(dimensions: int, bits: int) -> None:
    cells = grid(dimensions, bits)
    way = cells[:, np.argsort(hilbert(list(cells), bits))].astype(np.int64)
    assert (np.abs(np.diff(way, axis=1)).sum(axis=0) == 1).all()


def test_coordinates_are_not_changed() -> None:
    cells = [np.arange(8, dtype=np.uint64), np.arange(8, dtype=np.uint64)[::-1].copy()]
    before = [one.copy() for one in cells]
    hilbert(cells, 3)
    assert all((one == other).all() for one, other in zip(cells, before, strict=True))
