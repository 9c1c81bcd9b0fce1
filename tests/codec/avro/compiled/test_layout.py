"""The numbers of the tables."""

from __future__ import annotations

from hudiformat.codec.avro.compiled import layout


def test_numbers_of_a_row_have_eight_bytes_of_their_own() -> None:
    row = [layout.KIND, layout.NULL, layout.NEXT, layout.FRAME, layout.ARGUMENT, layout.VALUES, layout.VALID]
    offsets = [*row, layout.HAS_NULLS, layout.BYTES, layout.ROOM, layout.USED, layout.LEFT]
    assert offsets == list(range(0, 8 * len(offsets), 8))
    assert max(offsets) < layout.SIZE
